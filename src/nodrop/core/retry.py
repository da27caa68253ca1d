"""Whether a failed attempt is made again, and after what wait: one pure function.

Only before the first content: what was handed out cannot be taken back. Retried are timeouts (never the total one),
408, 429, 5xx and network errors, also inside a 200 stream that was cut or ended by such an error before any content.
Never: what the server refused, content errors, overflow, a quota or billing that ran out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from nodrop.errors import (
    ConnectionFailed,
    NodropError,
    RateLimitError,
    RequestTimedOut,
    ServerError,
    StatusError,
    StreamTruncatedError,
)

_FIRST_WAIT: Final = 0.5
_LONGEST_BACKOFF: Final = 8.0
_JITTER: Final = 0.25
_RETRIED: Final = (ConnectionFailed, RequestTimedOut, RateLimitError, ServerError, StreamTruncatedError)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """``max_retries`` further attempts; a server that asks for more than ``max_delay`` seconds ends it at once."""

    max_retries: int = 2
    max_delay: float = 60.0


class Retry(NamedTuple):
    """Try again after ``wait`` seconds."""

    wait: float


class GiveUp(NamedTuple):
    """Do not try again. ``why`` is for the error's text, where the error itself does not say it."""

    why: str = ""


def after_failure(
    error: NodropError, *, attempt: int, delivered: bool, policy: RetryPolicy, jitter: float
) -> Retry | GiveUp:
    """What to do after the ``attempt``-th attempt (from 1) failed with ``error``.

    ``jitter`` is a random number from 0 to 1. It lengthens a wait and never shortens one that the server asked for.
    """
    if delivered or not isinstance(error, _RETRIED) or not error.is_retryable or attempt > policy.max_retries:
        return GiveUp()
    asked = error.retry_after if isinstance(error, StatusError) else None
    if asked is None:
        wait = min(_FIRST_WAIT * 2.0 ** (attempt - 1), _LONGEST_BACKOFF)
    elif asked > policy.max_delay:
        return GiveUp(f"the server asks to wait {asked:g} s, more than max_retry_delay ({policy.max_delay:g} s)")
    else:
        wait = asked
    return Retry(wait * (1.0 + _JITTER * jitter))
