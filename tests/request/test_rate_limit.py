"""The rate-limit headers of an answer."""

from __future__ import annotations

import pytest

from nodrop.rate_limit import rate_limits


def test_the_headers_of_both_generations_are_read() -> None:
    old = {
        "ratelimitbysize-limit": "2000000",
        "ratelimitbysize-remaining": "1999894",
        "ratelimitbysize-reset": "17",
        "ratelimitbysize-query-cost": "106",
        "x-ratelimitbysize-remaining-month": "9954681575",
    }
    new = {
        "x-ratelimit-limit-req-10-second": "60",
        "x-ratelimit-remaining-req-minute": "0",
        "x-ratelimit-remaining-tokens-month": "49999899545",
        "x-ratelimit-tokens-query-cost": " 101 ",
        "x-ratelimit-limit-audio-seconds-minute": "2000.5",
        "x-ratelimit-reset": "later",
    }
    others = {
        "content-type": "text/event-stream",
        "retry-after": "3",
        "x-ratelimiter": "1",
        "x-max-retry-attempts": "1",
    }
    found = rate_limits({**old, **new, **others})
    assert found.keys() == old.keys() | new.keys()
    assert found["ratelimitbysize-reset"] == 17
    assert found["x-ratelimit-remaining-req-minute"] == 0
    assert found["x-ratelimit-tokens-query-cost"] == 101
    assert found["x-ratelimit-limit-audio-seconds-minute"] == 2000.5
    assert found["x-ratelimit-reset"] == "later"


@pytest.mark.parametrize(
    ("text", "value"),
    [("7", 7), ("-1", -1), ("0.5", 0.5), ("", ""), ("1e5", "1e5"), ("inf", "inf"), ("٣", "٣"), ("1_0", "1_0")],
)
def test_only_plain_numbers_are_numbers(text: str, value: int | float | str) -> None:
    [found] = rate_limits({"x-ratelimit-a": text}).values()
    assert (found, type(found)) == (value, type(value))


def test_a_number_of_any_length_is_kept() -> None:
    assert rate_limits({"x-ratelimit-a": "9" * 5000}) == {"x-ratelimit-a": "9" * 5000}
