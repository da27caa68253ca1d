"""What a model costs and takes: a dated catalogue, read from ``rate_card.toml``.

Every amount from here is **a catalogue estimate, never a billed total**: the rates are those that were published on
the entry's date, and discounts, batch prices and audio billed by the hour are not in them. A model without a rate has
no cost (``None``), which is not zero; a rate that is documented as zero is zero.

Own rates: ``RateCard.default().with_rates(...)`` for one model, ``.with_model(...)`` for a new one (a fine-tuned id,
say), ``.merged(RateCard.load(path))`` for a file. Cards are immutable; each of these gives a new one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from nodrop.errors import ConfigurationError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import date

Modality = Literal["text", "image"]

UNIT: Final = "USD per million tokens"
ESTIMATE_NOTICE: Final = "a catalogue estimate, never a billed total"
"""The words to put beside any amount that is shown."""

THINKING_LEVELS: Final = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
"""pi 1.4.0's thinking levels, from none to most; the keys of a model's reasoning levels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """The rates of a request whose whole prompt (input + cache read + cache write) is longer than ``above`` tokens."""

    above: int
    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """USD per million tokens.

    ``cache_read`` and ``cache_write`` are the rates of prompt tokens read from, and written to, the prompt cache.
    ``None`` there means that no special rate is known: such tokens then cost as much as other input, so that an
    estimate errs upwards. A tier replaces all four rates for the whole request (pi 1.4.0's rule).
    """

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None
    tiers: tuple[Tier, ...] = ()

    def for_prompt(self, tokens: int) -> Rates | Tier:
        """The rates for a prompt of ``tokens``: the highest tier strictly below it, else the base rates."""
        reached = [tier for tier in self.tiers if tokens > tier.above]
        return max(reached, key=lambda tier: tier.above) if reached else self


class CostEstimate(NamedTuple):
    """USD; a catalogue estimate, never a billed total. ``total`` is the sum of the other four."""

    input: float
    output: float
    cache_read: float
    cache_write: float
    total: float


def cost(
    rates: Rates | None,
    *,
    input: int,  # noqa: A002  (the word of the content model and of pi)
    output: int,
    cache_read: int,
    cache_write: int,
) -> CostEstimate | None:
    """The estimated cost of one answer in USD, by the rule of pi 1.4.0; ``None`` without rates.

    ``input`` counts the prompt tokens that were neither read from nor written to the cache; the whole prompt is the
    sum of ``input``, ``cache_read`` and ``cache_write``. ``output`` includes reasoning tokens.
    """
    if rates is None:
        return None
    rate = rates.for_prompt(input + cache_read + cache_write)
    amounts = (
        _amount(rate.input, input),
        _amount(rate.output, output),
        _amount(rate.input if rate.cache_read is None else rate.cache_read, cache_read),
        _amount(rate.input if rate.cache_write is None else rate.cache_write, cache_write),
    )
    return CostEstimate(*amounts, total=sum(amounts))


def _amount(rate: float, tokens: int) -> float:
    # In pi's order of operations, so that both give the same double.
    return rate / 1_000_000 * tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One model, under its dated id where it has one; ``aliases`` are other ids that the API takes for it.

    ``context_window`` and ``max_output_tokens`` are in tokens, ``None`` where no source gives them. ``input`` lists
    what may be in a prompt. ``reasoning`` pairs pi's thinking levels with the ``reasoning_effort`` to send, levels
    that are missing are not supported. ``source`` and ``date`` say where and for which day the rates were read;
    ``note`` says which source was taken where several disagree, and why.
    """

    id: str
    aliases: tuple[str, ...] = ()
    name: str = ""
    rates: Rates | None = None
    context_window: int | None = None
    max_output_tokens: int | None = None
    input: tuple[Modality, ...]
    reasoning: tuple[tuple[str, str], ...] = ()
    source: str
    date: date
    note: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Every id that means this model, its own first."""
        return (self.id, *self.aliases)

    @property
    def takes_images(self) -> bool:
        return "image" in self.input

    @property
    def reasoning_levels(self) -> dict[str, str]:
        """pi's thinking level → the ``reasoning_effort`` to send. Empty: the model's reasoning cannot be steered."""
        return dict(self.reasoning)


class RateCard:
    """An immutable set of models, found by id or alias.

    Raises ``ConfigurationError`` when two models claim one id.
    """

    __slots__ = ("_by_name", "_models")

    def __init__(self, models: Iterable[Model] = ()) -> None:
        self._models: Final = tuple(models)
        by_name: dict[str, Model] = {}
        for model in self._models:
            for name in model.names:
                if name in by_name:
                    raise ConfigurationError(
                        f"the model id {name!r} is claimed twice, by {by_name[name].id!r} and by {model.id!r}"
                    )
                by_name[name] = model
        self._by_name: Final[Mapping[str, Model]] = MappingProxyType(by_name)

    @classmethod
    def default(cls) -> RateCard:
        """The catalogue that comes with the package. Read at the first call, then kept."""
        return _default()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> RateCard:
        """A card from a TOML file in the form of ``rate_card.toml``.

        Raises ``ConfigurationError`` naming the file, the key and what is expected there.
        """
        from nodrop._rate_card_file import read_models  # here, since tomllib costs more than this module

        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError as error:
            raise ConfigurationError(f"{path}: the rate card cannot be read: {error.strerror}") from error
        return cls(read_models(data, where=str(path)))

    @property
    def models(self) -> tuple[Model, ...]:
        return self._models

    def find(self, model_id: str) -> Model | None:
        """The model of exactly this id or alias, else ``None``.

        Nothing is guessed from an id: a fine-tuned model (``ft:...``) or a new dated one is unknown until somebody
        adds it, for a wrong rate is worse than none.
        """
        return self._by_name.get(model_id)

    def with_model(self, model: Model) -> RateCard:
        """A card in which ``model`` is added, or replaces the one with its id.

        It takes its names over from other models' aliases. Raises ``ConfigurationError`` when one of its aliases is
        another model's own id, since that model would vanish.
        """
        for alias in model.aliases:
            owner = self._by_name.get(alias)
            if owner is not None and owner.id == alias and alias != model.id:
                raise ConfigurationError(
                    f"{alias!r} is the id of a model in the rate card; it cannot be an alias of {model.id!r} as well"
                )
        claimed = frozenset(model.names)
        others = [
            replace(other, aliases=tuple(alias for alias in other.aliases if alias not in claimed))
            for other in self._models
            if other.id != model.id
        ]
        return RateCard((*others, model))

    def with_rates(self, model_id: str, rates: Rates | None, *, source: str, date: date) -> RateCard:
        """A card with other rates for a model that it has (by id or alias; they hold for all its ids).

        Raises ``ConfigurationError`` for an unknown id; ``with_model`` adds one.
        """
        model = self.find(model_id)
        if model is None:
            raise ConfigurationError(f"the rate card has no model {model_id!r}; add it with with_model()")
        return self.with_model(replace(model, rates=rates, source=source, date=date, note=""))

    def merged(self, other: RateCard) -> RateCard:
        """A card in which every model of ``other`` is added or replaces the one here."""
        card = self
        for model in other:
            card = card.with_model(model)
        return card

    def __contains__(self, model_id: object) -> bool:
        return model_id in self._by_name

    def __iter__(self) -> Iterator[Model]:
        return iter(self._models)

    def __len__(self) -> int:
        return len(self._models)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RateCard) and frozenset(self._models) == frozenset(other._models)

    def __hash__(self) -> int:
        return hash(frozenset(self._models))

    def __repr__(self) -> str:
        return f"<RateCard of {len(self._models)} models>"

    def __reduce__(self) -> tuple[type[RateCard], tuple[tuple[Model, ...]]]:
        return RateCard, (self._models,)


@cache
def _default() -> RateCard:
    from importlib.resources import files

    from nodrop._rate_card_file import read_models

    return RateCard(read_models(files("nodrop").joinpath("rate_card.toml").read_bytes(), where="nodrop/rate_card.toml"))
