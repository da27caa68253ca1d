"""JSON that broke off, closed where it broke: so that what had arrived of a whole completion is kept.

The text is cut back to the last place where it was whole, and its open brackets are closed. Only a string of content
is closed where it broke: the beginning of an id, a name or a number would be another one. A list of ids that is cut
is left out, and so the models refuse the reference that it is of.
"""

from __future__ import annotations

import codecs
import re
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(rb'[{}\[\],:]|"[^"\\]*+(?:\\.[^"\\]*+)*+("?)', re.DOTALL)
_SOUND: Final = re.compile(rb'"[^"\\]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\]*+)*+')  # without a broken escape
_CONTENT: Final = frozenset({b'"content"', b'"text"', b'"arguments"'})
_CLOSER: Final = {b"{": b"}", b"[": b"]"}


class _Open(NamedTuple):
    """A bracket that is open: what closes it, where its inside begins, and how far the text was whole before it."""

    closer: bytes
    inside: int
    whole_before: int


def closed(data: bytes) -> bytes | None:
    """``data``, which begins like a JSON object and breaks off, as whole JSON; ``None`` when it is no such thing."""
    data = _without_cut_character(data)
    brackets: list[_Open] = []
    whole = 0  # how far the text could have ended here, but for its open brackets
    is_key, key = False, b""
    for token in _TOKEN.finditer(data):
        text = token[0]
        if text in _CLOSER:
            brackets.append(_Open(_CLOSER[text], token.end(), whole))
            whole, is_key = token.end(), text == b"{"
        elif text in (b"}", b"]"):
            if not brackets or brackets.pop().closer != text:
                return None
            whole = token.end()
        elif text == b",":
            whole, is_key = token.start(), bool(brackets) and brackets[-1].closer == b"}"
        elif text == b":":
            is_key = False
        elif token[1]:  # a whole string
            whole, key = (whole, text) if is_key else (token.end(), key)
        elif key in _CONTENT and not is_key:
            sound = _SOUND.match(data, token.start())
            return None if sound is None else _ended(data[: sound.end()] + b'"', brackets)
    if brackets and brackets[-1].closer == b"]" and data[brackets[-1].inside :].lstrip()[:1] not in b"{[":
        whole = brackets.pop().whole_before
    return _ended(data[:whole], brackets) if brackets else None


def _ended(data: bytes, brackets: list[_Open]) -> bytes:
    return data + b"".join(bracket.closer for bracket in reversed(brackets))


def _without_cut_character(data: bytes) -> bytes:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(data)
    cut, _ = decoder.getstate()
    return data[: len(data) - len(cut)]
