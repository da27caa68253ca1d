"""The rate card against its sources: pi's catalogue, and genai-prices as an oracle."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest
from genai_prices import Usage, calc_price

from nodrop.rate_card import RateCard, Rates, cost

CARD = RateCard.default()

# pi-ai 1.4.0's catalogue: id -> (context, longest output, takes images, input, output, cache read, levels).
PI = {
    "codestral-2508": (256000, 8192, False, 0.3, 0.9, 0.03, {}),
    "codestral-latest": (256000, 4096, False, 0.3, 0.9, 0.03, {}),
    "devstral-2512": (262144, 262144, False, 0.4, 2, 0.04, {}),
    "devstral-latest": (262144, 262144, False, 0.4, 2, 0.04, {}),
    "devstral-medium-2507": (128000, 128000, False, 0.4, 2, 0.04, {}),
    "devstral-medium-latest": (262144, 262144, False, 0.4, 2, 0.04, {}),
    "devstral-small-2505": (128000, 128000, False, 0.1, 0.3, 0.01, {}),
    "devstral-small-2507": (128000, 128000, False, 0.1, 0.3, 0.01, {}),
    "glm-5-2": (1048576, 131072, False, 1.4, 4.4, 0.14, {"off": "none", "high": "high", "max": "max"}),
    "labs-devstral-small-2512": (256000, 256000, True, 0, 0, 0, {}),
    "labs-leanstral-1-5-1": (262144, 128000, True, 0, 0, 0, {"off": "none", "high": "high"}),
    "magistral-medium-latest": (262144, 16384, True, 2, 5, 0.2, {"off": "none", "high": "high"}),
    "ministral-14b-2512": (262144, 262144, True, 0.2, 0.2, 0.02, {}),
    "ministral-3b-2512": (131072, 262144, True, 0.1, 0.1, 0.01, {}),
    "ministral-3b-latest": (131072, 128000, True, 0.1, 0.1, 0.01, {}),
    "ministral-8b-2512": (262144, 262144, True, 0.15, 0.15, 0.015, {}),
    "ministral-8b-latest": (262144, 128000, True, 0.15, 0.15, 0.015, {}),
    "mistral-large-2411": (131072, 16384, False, 2, 6, 0.2, {}),
    "mistral-large-2512": (262144, 262144, True, 0.5, 1.5, 0.05, {}),
    "mistral-large-4": (1048576, 262144, True, 0.68, 2.09, 0.07, {"off": "none", "high": "high"}),
    "mistral-large-latest": (262144, 262144, True, 0.5, 1.5, 0.05, {}),
    "mistral-medium-2505": (131072, 131072, True, 0.4, 2, 0.04, {}),
    "mistral-medium-2508": (262144, 262144, True, 0.4, 2, 0.04, {}),
    "mistral-medium-2604": (262144, 262144, True, 1.5, 7.5, 0.15, {"off": "none", "high": "high"}),
    "mistral-medium-3.5": (262144, 262144, True, 1.5, 7.5, 0, {"off": "none", "high": "high"}),
    "mistral-medium-latest": (262144, 262144, True, 1.5, 7.5, 0.15, {"off": "none", "high": "high"}),
    "mistral-nemo": (128000, 128000, False, 0.15, 0.15, 0.015, {}),
    "mistral-small-2506": (128000, 16384, True, 0.1, 0.3, 0.01, {}),
    "mistral-small-2603": (262144, 256000, True, 0.15, 0.6, 0.015, {"off": "none", "high": "high"}),
    "mistral-small-latest": (262144, 256000, True, 0.15, 0.6, 0.015, {"off": "none", "high": "high"}),
    "open-mistral-nemo": (128000, 128000, False, 0.15, 0.15, 0.015, {}),
    "pixtral-12b": (128000, 128000, True, 0.15, 0.15, 0.015, {}),
    "pixtral-large-latest": (128000, 128000, True, 2, 6, 0.2, {}),
    "voxtral-small-2507": (32768, 32000, False, 0.1, 0.4, 0.01, {}),
    "voxtral-small-latest": (32768, 32000, False, 0.1, 0.4, 0.01, {}),
    "zai-glm-5-2": (1048576, 131072, False, 1.4, 4.4, 0.14, {"off": "none", "high": "high", "max": "max"}),
    "zai-glm-5-3": (1048576, 131072, False, 1.4, 4.4, 0.14, {"low": "low", "high": "high", "max": "max"}),
}

# Where the card deliberately differs from pi, and the note in the data that says why.
DIFFERS_FROM_PI = {
    "codestral-latest": "longest output of 4096",
    "ministral-3b-2512": "more than the context",
    "ministral-3b-latest": "more than the context",  # pi's 128000 for the alias; the dated id's is taken
    "ministral-8b-latest": "",  # the dated id's longest output is taken, as the header of the file says
    "mistral-large-4": "three dated rates",
    "mistral-medium-2508": "pi says 262144",
    "mistral-medium-3.5": "a cache rate of 0",
}


@pytest.mark.parametrize("model_id", PI)
def test_the_card_agrees_with_pi_except_where_it_says_why(model_id: str) -> None:
    model = CARD.find(model_id)
    assert model is not None
    assert model.rates is not None
    ours = (
        model.context_window,
        model.max_output_tokens,
        model.takes_images,
        model.rates.input,
        model.rates.output,
        model.rates.cache_read,
        model.reasoning_levels,
    )
    assert (ours != PI[model_id]) == (model_id in DIFFERS_FROM_PI)
    assert DIFFERS_FROM_PI.get(model_id, "") in model.note


# Every id whose price differs in genai-prices, or that it lacks. A new disagreement fails, and so does one that is
# gone. The reasons stand here and in the notes of the data.
UNKNOWN, OTHER_MODEL, NO_CACHE_RATE = "unknown to genai-prices", "priced as another model", "no cache rate there"
GENAI_DIFFERS = {
    "mistral-large-latest": OTHER_MODEL,  # the large of 2024
    "mistral-medium": OTHER_MODEL,  # Medium 3.1; the API lists it as Medium 3.5
    "magistral-small-latest": OTHER_MODEL,  # the retired Magistral Small; the API lists it as Small 4
    "labs-devstral-small-2512": OTHER_MODEL,  # the paid Devstral Small; pi says that labs models are free
    # genai-prices has no cache rate for the older models and charges the full input rate; pi and litellm have one.
    "mistral-large-2411": NO_CACHE_RATE,
    "mistral-small-2506": NO_CACHE_RATE,
    "magistral-medium-latest": NO_CACHE_RATE,
    "codestral-latest": NO_CACHE_RATE,
    "devstral-small-latest": NO_CACHE_RATE,
    "devstral-small-2507": NO_CACHE_RATE,
    "devstral-small-2505": NO_CACHE_RATE,
    "pixtral-large-latest": NO_CACHE_RATE,
    "pixtral-large-2411": NO_CACHE_RATE,
    "pixtral-12b": NO_CACHE_RATE,
    "pixtral-12b-latest": NO_CACHE_RATE,
    "open-mistral-nemo": NO_CACHE_RATE,
    "mistral-nemo": NO_CACHE_RATE,
    "mistral-tiny": NO_CACHE_RATE,
    "mistral-large-3": UNKNOWN,
    "mistral-vibe-cli-latest": UNKNOWN,
    "mistral-vibe-cli-with-tools": UNKNOWN,
    "mistral-vibe-cli-fast": UNKNOWN,
    "mistral-small": UNKNOWN,
    "ministral-14b-latest": UNKNOWN,
    "ministral-3b-latest": UNKNOWN,
    "mistral-code-latest": UNKNOWN,
    "mistral-code-fim-latest": UNKNOWN,
    "mistral-code-agent-latest": UNKNOWN,
    "devstral-latest": UNKNOWN,
    "devstral-medium-latest": UNKNOWN,
    "devstral-medium-2507": UNKNOWN,
    "labs-leanstral-1-5-1": UNKNOWN,
    "labs-leanstral-1-5": UNKNOWN,
    "pixtral-12b-2409": UNKNOWN,
    "zai-glm-5-2": UNKNOWN,
    "glm-5-2": UNKNOWN,
    "zai-glm-5": UNKNOWN,
    "zai-glm-latest": UNKNOWN,
}

PROMPT, CACHED, OUT = 1_000_000, 400_000, 200_000


def ours(rates: Rates | None, cached: int) -> float:
    estimate = cost(rates, input=PROMPT - cached, output=OUT, cache_read=cached, cache_write=0)
    assert estimate is not None
    return estimate.total


def theirs(model_id: str, cached: int) -> float:
    usage = Usage(input_tokens=PROMPT, cache_read_tokens=cached or None, output_tokens=OUT)
    when = datetime(2026, 11, 30, tzinfo=UTC)
    price = calc_price(usage, model_ref=model_id, provider_id="mistral", genai_request_timestamp=when)
    return float(price.total_price)


def same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-9)


@pytest.mark.parametrize("model_id", [name for model in CARD for name in model.names])
def test_genai_prices_gives_the_same_cost(model_id: str) -> None:
    model = CARD.find(model_id)
    assert model is not None
    difference = GENAI_DIFFERS.get(model_id)
    if difference == UNKNOWN:
        with pytest.raises(LookupError):
            theirs(model_id, 0)
        return
    assert same(theirs(model_id, 0), ours(model.rates, 0)) == (difference != OTHER_MODEL)
    assert same(theirs(model_id, CACHED), ours(model.rates, CACHED)) == (difference is None)
    if difference == NO_CACHE_RATE:
        assert theirs(model_id, CACHED) == theirs(model_id, 0)


def test_the_list_of_differences_has_nothing_left_over() -> None:
    assert set(GENAI_DIFFERS) <= {name for model in CARD for name in model.names}
