"""Contract 8: the usage shapes that were seen, and the estimated cost."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from nodrop.rate_card import Model, RateCard, Rates
from nodrop.testing.wire import chunk, completion, finish, text, usage
from tests.core.driving import Outcome, run, run_whole

CARD = RateCard(
    [
        Model(
            id="asked-1",
            rates=Rates(input=1.0, output=2.0, cache_read=0.5),
            input=("text",),
            source="-",
            date=date(2026, 1, 1),
        ),
        Model(
            id="named-1",
            aliases=("named",),
            rates=Rates(input=10.0, output=20.0),
            input=("text",),
            source="-",
            date=date(2026, 1, 1),
        ),
        Model(id="rateless-1", input=("text",), source="-", date=date(2026, 1, 1)),
        Model(id="free-1", rates=Rates(input=0.0, output=0.0), input=("text",), source="-", date=date(2026, 1, 1)),
    ]
)


def reported(counters: Any, **options: Any) -> Outcome:
    return run(text("a"), finish(usage=counters), **options)


# Shape → (input, output, cache_read, reasoning, total).
SHAPES: dict[str, tuple[dict[str, Any], tuple[int, int, int, int | None, int]]] = {
    "1 plain": ({"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17}, (12, 5, 0, None, 17)),
    "2 num_cached_tokens": (usage(12, 5, num_cached_tokens=9), (3, 5, 9, None, 17)),
    "3 plural details": (usage(900, 6, cached_tokens=832), (68, 6, 832, None, 906)),
    "4 service tier": (usage(900, 6, cached_tokens=768, service_tier="standard"), (132, 6, 768, None, 906)),
    "5 audio, outside of the prompt and inside of the total": (
        {
            "prompt_tokens": 10,
            "completion_tokens": 5,
            "total_tokens": 115,
            "prompt_audio_seconds": 8,
            "prompt_tokens_details": {"audio_tokens": 100, "cached_tokens": 0},
            "service_tier": "standard",
        },
        (110, 5, 0, None, 115),
    ),
    "6 filled with null": (
        usage(
            4,
            0,
            completion_tokens_details=None,
            prompt_audio_seconds=None,
            prompt_token_details=None,
            prompt_tokens_details=None,
            request_count=None,
            service_tier=None,
            num_cached_tokens=None,
        ),
        (4, 0, 0, None, 4),
    ),
    "7 singular details": (
        usage(100, 5, prompt_token_details={"cached_tokens": 64}, prompt_audio_seconds={}),
        (36, 5, 64, None, 105),
    ),
    "8 reasoning": (usage(10, 50, completion_tokens_details={"reasoning_tokens": 40}), (10, 50, 0, 40, 60)),
    "8 reasoning of zero": (usage(10, 5, completion_tokens_details={"reasoning_tokens": 0}), (10, 5, 0, 0, 15)),
    "9 some counters absent": ({"completion_tokens": 5}, (0, 5, 0, None, 5)),
    "10 messages in the details": (
        usage(10, 5, prompt_tokens_details={"cached_tokens": 4, "messages": [{"role": "user", "total_tokens": 10}]}),
        (6, 5, 4, None, 15),
    ),
    "no total: the sum": ({"prompt_tokens": 12, "completion_tokens": 5, "num_cached_tokens": 4}, (8, 5, 4, None, 17)),
    "a total of its own": (usage(12, 5, total_tokens=99), (12, 5, 0, None, 99)),
    "plural before singular before num": (
        usage(
            100,
            0,
            prompt_tokens_details={"cached_tokens": 1},
            prompt_token_details={"cached_tokens": 2},
            num_cached_tokens=3,
        ),
        (99, 0, 1, None, 100),
    ),
    "a plural of zero is the first that is present": (
        usage(100, 0, prompt_tokens_details={"cached_tokens": 0}, num_cached_tokens=3),
        (100, 0, 0, None, 100),
    ),
    "null is not present": (
        usage(100, 0, prompt_tokens_details={"cached_tokens": None}, prompt_token_details={}, num_cached_tokens=3),
        (97, 0, 3, None, 100),
    ),
    "more cached than prompted": (usage(10, 5, cached_tokens=64), (0, 5, 10, None, 15)),
    "fewer than none cached": (usage(10, 5, cached_tokens=-64), (10, 5, 0, None, 15)),
    "zeros are measured": (usage(0, 0), (0, 0, 0, None, 0)),
}


@pytest.mark.parametrize(("counters", "expected"), SHAPES.values(), ids=SHAPES.keys())
def test_shapes(counters: dict[str, Any], expected: tuple[int, int, int, int | None, int]) -> None:
    for outcome in (reported(counters), run_whole(completion("a", usage=counters))):
        found = outcome.message.usage
        assert (found.input, found.output, found.cache_read, found.reasoning, found.total_tokens) == expected
        assert found.cache_write == 0
        assert found.reported
        assert found.raw == counters
        assert outcome.error is None


@pytest.mark.parametrize(
    "nothing",
    [None, {}, {"prompt_tokens": None, "completion_tokens": None, "total_tokens": None}, {"service_tier": "standard"}],
)
def test_no_report_is_not_a_measured_zero(nothing: Any) -> None:
    for outcome in (reported(nothing), run(text("a"), finish()), run_whole(completion("a", usage=nothing))):
        found = outcome.message.usage
        assert not found.reported
        assert (found.input, found.output, found.total_tokens) == (0, 0, 0)
        assert found.cost is None
        assert outcome.error is None


def test_the_last_report_wins_on_whatever_chunk_and_an_empty_one_does_not_undo_it() -> None:
    outcome = run(
        text("a", usage=usage(1, 1)),
        text("b", usage={}),
        finish(usage=usage(2, 2)),
        chunk(choices=[], usage=usage(3, 4, num_cached_tokens=1)),
        {"id": "", "model": "", "usage": None},
    )
    found = outcome.message.usage
    assert (found.input, found.output, found.cache_read) == (2, 4, 1)
    assert found.raw == usage(3, 4, num_cached_tokens=1)


def test_the_usage_known_so_far_stays_with_a_failure() -> None:
    outcome = run(text("a", usage=usage(3, 4)), done=False)
    assert outcome.error is not None
    assert outcome.message.usage.output == 4


# ---- cost ----


def test_cost_of_the_model_asked_for() -> None:
    found = reported(usage(1000, 100, cached_tokens=400), model="asked-1", rates=CARD).message.usage.cost
    assert found is None  # the response names another model, which has no rate
    outcome = run(
        text("a", model=""), finish(model="", usage=usage(1000, 100, cached_tokens=400)), model="asked-1", rates=CARD
    )
    cost = outcome.message.usage.cost
    assert cost is not None
    assert cost.input == pytest.approx(600 * 1.0 / 1e6)
    assert cost.cache_read == pytest.approx(400 * 0.5 / 1e6)
    assert cost.output == pytest.approx(100 * 2.0 / 1e6)
    assert cost.total == pytest.approx(cost.input + cost.cache_read + cost.output)
    assert cost.cache_write == 0


@pytest.mark.parametrize("name", ["named-1", "named"])
def test_cost_of_the_model_that_the_response_names(name: str) -> None:
    outcome = run(text("a", model=name), finish(model=name, usage=usage(1000, 0)), model="asked-1", rates=CARD)
    cost = outcome.message.usage.cost
    assert cost is not None
    assert cost.total == pytest.approx(0.01)
    assert (outcome.message.model, outcome.message.response_model) == ("asked-1", name)


@pytest.mark.parametrize("name", ["rateless-1", "never-heard-of"])
def test_a_model_without_a_rate_has_no_cost(name: str) -> None:
    outcome = run(text("a", model=name), finish(model=name, usage=usage(1000, 9)), model="asked-1", rates=CARD)
    assert outcome.message.usage.cost is None
    assert outcome.message.usage.reported
    assert "cost" not in outcome.message.model_dump(by_alias=True)["usage"]


def test_a_rate_of_zero_is_a_cost_of_zero() -> None:
    cost = run(text("a", model="free-1"), finish(model="free-1", usage=usage(1000, 9)), rates=CARD).message.usage.cost
    assert cost is not None
    assert cost.total == 0


def test_the_default_card_is_used_when_none_is_given() -> None:
    model = next(model for model in RateCard.default() if model.rates and model.rates.input)
    outcome = run(text("a", model=model.id), finish(model=model.id, usage=usage(1000, 9)))
    cost = outcome.message.usage.cost
    assert cost is not None
    assert cost.total > 0
