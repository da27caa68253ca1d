"""The rate card: its data, its arithmetic, and a caller's own rates."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError
from datetime import date

import pytest

from nodrop.errors import ConfigurationError
from nodrop.rate_card import THINKING_LEVELS, Model, RateCard, Rates, Tier, cost

CARD = RateCard.default()

# Ids that two sources or a recording know, and the model they must lead to.
ALIASES = {
    "mistral-large-latest": "mistral-large-2512",
    "mistral-large-3": "mistral-large-2512",
    "mistral-large-4-0": "mistral-large-4",
    "mistral-medium": "mistral-medium-2604",
    "mistral-medium-latest": "mistral-medium-2604",
    "mistral-medium-3.5": "mistral-medium-2604",
    "mistral-vibe-cli-latest": "mistral-medium-2604",
    "mistral-small-latest": "mistral-small-2603",
    "magistral-small-latest": "mistral-small-2603",
    "ministral-3b-latest": "ministral-3b-2512",
    "ministral-8b-latest": "ministral-8b-2512",
    "ministral-14b-latest": "ministral-14b-2512",
    "codestral-latest": "codestral-2508",
    "devstral-latest": "devstral-2512",
    "devstral-medium-latest": "devstral-2512",
    "voxtral-small-latest": "voxtral-small-2507",
    "mistral-nemo": "open-mistral-nemo",
    "pixtral-12b-latest": "pixtral-12b",
    "glm-5-2": "zai-glm-5-2",
    "labs-leanstral-1-5": "labs-leanstral-1-5-1",
}

# ---- the data ----


@pytest.mark.parametrize("model", CARD, ids=lambda model: model.id)
def test_every_entry_is_well_formed(model: Model) -> None:
    assert model.rates is not None
    assert model.context_window is not None
    assert model.max_output_tokens is not None
    assert 0 < model.max_output_tokens <= model.context_window
    assert model.name
    assert model.name != model.id
    assert model.source
    assert date(2026, 10, 1) <= model.date <= date(2026, 11, 30)
    assert model.rates.cache_write == 0
    # No model is cheaper to answer than to read, and the cache is never dearer than the plain prompt.
    assert 0 <= model.rates.input <= model.rates.output
    assert model.rates.cache_read is not None
    assert model.rates.cache_read <= model.rates.input
    assert set(model.reasoning_levels) <= set(THINKING_LEVELS)
    assert set(model.reasoning_levels.values()) <= {"none", "low", "medium", "high", "max"}


def test_a_zero_rate_is_a_documented_one() -> None:
    free = {model.id for model in CARD if model.rates is not None and model.rates.input == 0}
    assert free == {"labs-devstral-small-2512", "labs-leanstral-1-5-1"}


def test_ids_and_aliases_are_unique() -> None:
    names = [name for model in CARD for name in model.names]
    assert len(names) == len(set(names))
    assert all(CARD.find(name) is not None for name in names)


@pytest.mark.parametrize(("alias", "model_id"), ALIASES.items())
def test_an_alias_leads_to_its_model(alias: str, model_id: str) -> None:
    found = CARD.find(alias)
    assert found is not None
    assert found.id == model_id
    assert found is CARD.find(model_id)


@pytest.mark.parametrize(
    "model_id",
    ["", "mistral", "ft:mistral-small-latest:acme:20261001:1", "mistral-small-2999", "MISTRAL-SMALL-LATEST", "gpt-5"],
)
def test_an_unknown_id_is_never_guessed(model_id: str) -> None:
    assert CARD.find(model_id) is None
    assert model_id not in CARD


# ---- the arithmetic ----


def test_pis_own_example() -> None:
    # pi-facts 4.4: 1000 prompt tokens, 400 of them cached, 50 out on mistral-medium-latest.
    model = CARD.find("mistral-medium-latest")
    assert model is not None
    estimate = cost(model.rates, input=600, output=50, cache_read=400, cache_write=0)
    assert estimate is not None
    assert estimate.input == pytest.approx(0.0009, rel=1e-12)
    assert estimate.cache_read == pytest.approx(0.00006, rel=1e-12)
    assert estimate.output == pytest.approx(0.000375, rel=1e-12)
    assert estimate.cache_write == 0
    assert estimate.total == pytest.approx(0.001335, rel=1e-12)


def test_each_amount_has_its_own_rate() -> None:
    rates = Rates(input=1, output=10, cache_read=100, cache_write=1000)
    assert cost(rates, input=3_000_000, output=500_000, cache_read=10_000, cache_write=2_000) == (3, 5, 1, 2, 11)


def test_no_rate_is_no_cost_and_a_zero_rate_is_zero() -> None:
    assert cost(None, input=1, output=1, cache_read=1, cache_write=1) is None
    free = CARD.find("labs-leanstral-1-5")
    assert free is not None
    assert cost(free.rates, input=10**6, output=10**6, cache_read=10**6, cache_write=0) == (0, 0, 0, 0, 0)


def test_tokens_without_a_special_rate_cost_as_input() -> None:
    rates = Rates(input=2, output=4)
    assert cost(rates, input=0, output=0, cache_read=500_000, cache_write=250_000) == (0, 0, 1, 0.5, 1.5)


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [((1000, 0, 0), 1), ((1001, 0, 0), 2), ((0, 1001, 0), 2), ((500, 500, 1), 2), ((2000, 0, 0), 2), ((2001, 0, 0), 3)],
)
def test_the_highest_tier_strictly_below_the_whole_prompt_sets_every_rate(
    prompt: tuple[int, int, int], expected: float
) -> None:
    def flat(rate: float) -> dict[str, float]:
        return {"input": rate, "output": rate, "cache_read": rate, "cache_write": rate}

    rates = Rates(**flat(1), tiers=(Tier(above=2000, **flat(3)), Tier(above=1000, **flat(2))))
    uncached, read, written = prompt
    estimate = cost(rates, input=uncached, output=7, cache_read=read, cache_write=written)
    assert estimate is not None
    assert estimate.total == pytest.approx((sum(prompt) + 7) * expected / 1e6, rel=1e-12)
    assert estimate.output == pytest.approx(7 * expected / 1e6, rel=1e-12)


# ---- a caller's own rates ----

OWN = Rates(input=9, output=18)


def test_rates_can_be_replaced_for_all_ids_of_a_model() -> None:
    card = CARD.with_rates("mistral-medium-latest", OWN, source="our contract", date=date(2026, 11, 1))
    for name in ("mistral-medium-2604", "mistral-medium-latest", "mistral-medium"):
        model = card.find(name)
        assert model is not None
        assert model.rates == OWN
        assert model.source == "our contract"
        assert model.context_window == 262144
    assert CARD.find("mistral-medium-latest") != card.find("mistral-medium-latest")
    assert len(card) == len(CARD)


def test_rates_can_be_taken_away() -> None:
    card = CARD.with_rates("mistral-medium-latest", None, source="not known to us", date=date(2026, 11, 1))
    model = card.find("mistral-medium")
    assert model is not None
    assert cost(model.rates, input=1, output=1, cache_read=0, cache_write=0) is None


def test_rates_for_an_unknown_id_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"no model 'ft:mine'.*with_model"):
        CARD.with_rates("ft:mine", OWN, source="our contract", date=date(2026, 11, 1))


def test_a_model_can_be_added_and_an_alias_moved() -> None:
    mine = Model(
        id="ft:mistral-small:acme:1", aliases=("mistral-small-latest",), rates=OWN, input=("text",),
        source="our contract", date=date(2026, 11, 1),
    )  # fmt: skip
    card = CARD.with_model(mine)
    assert card.find("ft:mistral-small:acme:1") == mine
    assert card.find("mistral-small-latest") == mine
    former = card.find("mistral-small-2603")
    assert former is not None
    assert "mistral-small-latest" not in former.aliases
    assert "magistral-small-latest" in former.aliases
    assert len(card) == len(CARD) + 1


def test_an_alias_cannot_make_another_model_vanish() -> None:
    thief = Model(
        id="mine", aliases=("mistral-large-4",), rates=OWN, input=("text",), source="x", date=date(2026, 11, 1)
    )
    with pytest.raises(ConfigurationError, match=r"'mistral-large-4' is the id of a model.*'mine'"):
        CARD.with_model(thief)


def test_two_models_cannot_claim_one_id() -> None:
    one = Model(id="a", aliases=("c",), input=("text",), source="x", date=date(2026, 11, 1))
    two = Model(id="b", aliases=("c",), input=("text",), source="x", date=date(2026, 11, 1))
    with pytest.raises(ConfigurationError, match="'c' is claimed twice, by 'a' and by 'b'"):
        RateCard([one, two])


# ---- the objects ----


def test_cards_are_immutable_values() -> None:
    model = CARD.find("mistral-small-latest")
    assert model is not None
    with pytest.raises(FrozenInstanceError):
        model.id = "other"  # type: ignore[misc]
    for twin in (pickle.loads(pickle.dumps(CARD)), copy.deepcopy(CARD)):
        assert twin == CARD
        assert hash(twin) == hash(CARD)
    more = CARD.with_model(Model(id="x", input=("text",), source="x", date=date(2026, 1, 1)))
    assert more != CARD
    assert more.merged(CARD) == more
    assert repr(CARD) == f"<RateCard of {len(CARD.models)} models>"


def test_the_default_card_is_read_late_and_once() -> None:
    assert RateCard.default() is CARD
    code = "import sys, nodrop.rate_card; print([n for n in ('tomllib', 'nodrop._rate_card_file') if n in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
