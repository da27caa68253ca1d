"""The form of a rate card file: TOML in, models out, or an error that names the file, the key and what is expected.

Strict on purpose: a key that is misspelt, or a rate given per token, would otherwise be a wrong price that nobody sees.
"""

from __future__ import annotations

import tomllib
from datetime import date, datetime
from typing import NoReturn, TypeGuard

from nodrop.errors import ConfigurationError
from nodrop.rate_card import THINKING_LEVELS, UNIT, Modality, Model, Rates, Tier

_TOP_KEYS = ("unit", "models")
_MODEL_KEYS = (
    "aliases", "name", "rates", "context_window", "max_output_tokens", "input", "reasoning", "source", "date", "note",
)  # fmt: skip
_TOO_MUCH = 1_000_000
_RATE_KEYS = ("input", "output", "cache_read", "cache_write")


def read_models(data: bytes, *, where: str) -> tuple[Model, ...]:
    """The models of one file; ``where`` is the file's name in errors."""
    try:
        document = tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{where}: not a TOML file: {error}") from error
    top = _Table(where, "", document)
    top.only(_TOP_KEYS)
    if document.get("unit") != UNIT:
        top.fail("unit", f'expected unit = "{UNIT}", so that nobody has to guess what a rate is for')
    models = top.table("models")
    _reject_claims_of_one_id(models)
    return tuple(_model(model_id, models.table(model_id)) for model_id in models.values)


def _reject_claims_of_one_id(models: _Table) -> None:
    # RateCard checks this again for models that come from elsewhere; here the file and the key can be named.
    owners = {model_id: model_id for model_id in models.values}
    for model_id in models.values:
        table = models.table(model_id)
        for alias in table.strings("aliases"):
            if alias in owners:
                table.fail("aliases", f"{alias!r} is claimed by {owners[alias]!r} already; expected each id once")
            owners[alias] = model_id


def _model(model_id: str, table: _Table) -> Model:
    table.only(_MODEL_KEYS)
    return Model(
        id=model_id,
        aliases=table.strings("aliases"),
        name=table.string("name") or model_id,
        rates=_rates(table),
        context_window=table.count("context_window"),
        max_output_tokens=table.count("max_output_tokens"),
        input=_modalities(table),
        reasoning=_reasoning(table),
        source=table.string("source", required=True),
        date=table.date("date"),
        note=table.string("note"),
    )


def _rates(table: _Table) -> Rates | None:
    if "rates" not in table.values:
        return None
    rates = table.table("rates")
    rates.only((*_RATE_KEYS, "tiers"))
    tiers = tuple(_tier(tier) for tier in rates.tables("tiers"))
    if len({tier.above for tier in tiers}) != len(tiers):
        rates.fail("tiers", "expected a different `above` in each tier")
    return Rates(
        input=rates.rate("input"),
        output=rates.rate("output"),
        cache_read=rates.rate("cache_read") if "cache_read" in rates.values else None,
        cache_write=rates.rate("cache_write") if "cache_write" in rates.values else None,
        tiers=tiers,
    )


def _tier(table: _Table) -> Tier:
    table.only(("above", *_RATE_KEYS))
    above = table.count("above")
    if above is None:
        table.fail("above", "expected the number of prompt tokens above which the tier holds")
    return Tier(
        above=above,
        input=table.rate("input"),
        output=table.rate("output"),
        cache_read=table.rate("cache_read") if "cache_read" in table.values else None,
        cache_write=table.rate("cache_write") if "cache_write" in table.values else None,
    )


def _modalities(table: _Table) -> tuple[Modality, ...]:
    # Required: a guess either drops images that the model could see or sends ones that it refuses.
    modalities = table.values.get("input")
    if modalities == ["text"]:
        return ("text",)
    if modalities != ["text", "image"]:
        table.fail("input", 'expected ["text"] or ["text", "image"]')
    return ("text", "image")


def _reasoning(table: _Table) -> tuple[tuple[str, str], ...]:
    if "reasoning" not in table.values:
        return ()
    levels = table.table("reasoning")
    levels.only(THINKING_LEVELS)
    return tuple((level, levels.string(level, required=True)) for level in THINKING_LEVELS if level in levels.values)


def _is_table(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict)  # tomllib gives no keys but texts


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


class _Table:
    """One table of the file, with its place, so that every complaint can name it."""

    def __init__(self, where: str, path: str, values: dict[str, object]) -> None:
        self.where = where
        self.path = path
        self.values = values

    def fail(self, key: str, message: str) -> NoReturn:
        raise ConfigurationError(f"{self.where}: {self._key(key)}: {message}")

    def _key(self, key: str) -> str:
        bare = key.replace("-", "").replace("_", "").isalnum() and key.isascii()
        name = key if bare else f'"{key}"'
        return f"{self.path}.{name}" if self.path else name

    def only(self, known: tuple[str, ...]) -> None:
        for key in self.values:
            if key not in known:
                self.fail(key, f"unknown key; expected one of {', '.join(known)}")

    def table(self, key: str) -> _Table:
        value = self.values.get(key)
        if not _is_table(value) or not value:
            self.fail(key, "expected a table that is not empty")
        return _Table(self.where, self._key(key), value)

    def tables(self, key: str) -> list[_Table]:
        value = self.values.get(key, [])
        if not _is_list(value):
            self.fail(key, "expected a list of tables")
        tables: list[_Table] = []
        for index, item in enumerate(value):
            if not _is_table(item):
                self.fail(key, "expected a list of tables")
            tables.append(_Table(self.where, f"{self._key(key)}[{index}]", item))
        return tables

    def string(self, key: str, *, required: bool = False) -> str:
        value = self.values.get(key, "")
        if not isinstance(value, str) or (required and not value):
            self.fail(key, "expected a text that is not empty" if required else "expected a text")
        return value

    def strings(self, key: str) -> tuple[str, ...]:
        value = self.values.get(key, [])
        texts = [item for item in value if isinstance(item, str) and item] if _is_list(value) else None
        if texts is None or texts != value:
            self.fail(key, "expected a list of texts that are not empty")
        return tuple(texts)

    def count(self, key: str) -> int | None:
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
            self.fail(key, "expected a whole number of tokens above zero")
        return value

    def rate(self, key: str) -> float:
        value = self.values.get(key)
        # The upper bound also keeps out nan, inf and an integer too big for a float.
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value < _TOO_MUCH:
            self.fail(key, f"expected a number that is not negative, in {UNIT}")
        return float(value)

    def date(self, key: str) -> date:
        value = self.values.get(key)
        if not isinstance(value, date) or isinstance(value, datetime):
            self.fail(key, "expected the day of the rates as a TOML date, such as 2026-11-30 without quotes")
        return value
