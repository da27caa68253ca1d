"""The rate limits that the server tells in the headers of every answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

# Recorded: `ratelimitbysize-*` and `x-ratelimitbysize-*` up to May 2025, `x-ratelimit-*` since then.
_NAMES: Final = re.compile(r"(x-)?ratelimit(bysize)?-[a-z0-9-]+", re.ASCII)
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
_DECIMAL: Final = re.compile(r"[+-]?[0-9]{1,18}\.[0-9]{1,18}", re.ASCII)


def rate_limits(headers: Mapping[str, str]) -> dict[str, int | float | str]:
    """The rate-limit headers, by their own names; the names in ``headers`` are lower case.

    Numbers are numbers, anything else stays the text that it is. The units are in the names:
    ``x-ratelimit-remaining-tokens-minute`` counts tokens left in this minute, ``ratelimitbysize-reset`` is seconds.
    """
    return {name: _value(text.strip()) for name, text in headers.items() if _NAMES.fullmatch(name)}


def _value(text: str) -> int | float | str:
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text
