"""The one official switch that takes the waits between attempts out of tests."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final


class _Switch:
    on = True


_SWITCH: Final = _Switch()


@contextmanager
def no_retry_waits() -> Generator[None]:
    """Inside the block every client of this process tries again at once. For tests only.

    The waits that were asked for are still logged and still given to ``on_retry``.
    """
    before, _SWITCH.on = _SWITCH.on, False
    try:
        yield
    finally:
        _SWITCH.on = before


def actual_wait(seconds: float) -> float:
    """What a client really waits."""
    return seconds if _SWITCH.on else 0.0
