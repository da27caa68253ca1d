"""Lone surrogates: halves of a character that JSON can escape and UTF-8 cannot hold.

A server that cuts its text between two halves sends a high one at the end of a delta and its low one at the start of
the next: the high one waits. What finds no partner becomes U+FFFD.
"""

from __future__ import annotations

import re
from typing import Any, Final

REPLACEMENT: Final = "\ufffd"
_PAIR: Final = re.compile("([\ud800-\udbff])([\udc00-\udfff])")
_LONE: Final = re.compile("[\ud800-\udfff]")


def _joined(pair: re.Match[str]) -> str:
    high, low = pair.groups()
    return chr(0x10000 + ((ord(high) - 0xD800) << 10) + (ord(low) - 0xDC00))


def has_surrogates(text: str) -> bool:
    return _LONE.search(text) is not None


def without_surrogates(value: Any) -> Any:
    """``value`` (any JSON) with every lone surrogate as U+FFFD; the same object when it holds none."""
    if isinstance(value, str):
        return _LONE.sub(REPLACEMENT, _PAIR.sub(_joined, value)) if has_surrogates(value) else value
    if isinstance(value, list):
        return [without_surrogates(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return value


class SurrogateJoiner:
    """Joins the halves that two deltas of one block hold. State: the high half that waits."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting = ""

    def join(self, text: str) -> str:
        """``text`` with the waiting half before it, whole characters only; a high half at its end waits."""
        text = self._waiting + text
        self._waiting = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            self._waiting = text[-1]
            text = text[:-1]
        cleaned: str = without_surrogates(text)
        return cleaned

    def flush(self) -> str:
        """The end of the block: what still waits has no partner."""
        left = REPLACEMENT if self._waiting else ""
        self._waiting = ""
        return left
