"""The wait that a server asks for, from its response headers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime


def requested_wait(headers: Mapping[str, str], *, now: float) -> float | None:
    """Seconds that the server asks to wait, from lower-cased headers; ``None`` when it does not say.

    ``retry-after-ms`` first, then ``retry-after`` (seconds, fractions, or an HTTP date, which ``now`` in Unix seconds
    is taken from), then ``ratelimitbysize-reset`` (seconds). A value that cannot be read says nothing.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    asked = headers.get("retry-after")
    seconds = _number(asked)
    if seconds is None and asked is not None:
        seconds = _until(asked, now)
    return seconds if seconds is not None else _number(headers.get("ratelimitbysize-reset"))


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _until(date: str, now: float) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    # parsedate_to_datetime reads an HTTP date (always GMT) with its zone; one without a zone is no HTTP date.
    return max(0.0, moment.timestamp() - now) if moment.tzinfo is not None else None
