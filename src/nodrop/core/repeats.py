"""Most events of a stream repeat the one before with another word in it, and are read so.

An event whose bytes are those of the last one, but for the text (and Mistral's padding ``p``), is the same JSON with
another string in it: what the models and the decisions made of the last one holds for it too. So only the string is
read. Exact, because

- the last event went the whole way, and text was all that it brought (:func:`_brings_only_text`): every key in it is
  one that is named there, and none stands twice. Any other event takes the whole way each time;
- among those keys, ``"text":"`` in the bytes is the key and nothing else, and the string after it was the text;
- the new strings are sound by themselves: no raw quotation mark or control character, and decoded strictly.

Whatever does not fit takes the whole way, and is what the next event is compared with.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from pydantic import BaseModel
from pydantic_core import from_json

from nodrop.events import Event, TextDelta, ThinkingDelta
from nodrop.wire import CompletionChunk, TextChunk, ThinkChunk

_VARIES: Final = re.compile(rb'("(?:content|text|p)"\s*:\s*")([^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+)')
_MAX_BYTES: Final = 4096  # above it the strings outweigh what is saved

# What may stand in an event that brings only text.
_CHUNK: Final = frozenset({"id", "object", "created", "model", "choices", "p"})
_CHOICE: Final = frozenset({"index", "delta", "finish_reason", "p"})
_DELTA: Final = frozenset({"role", "content"})
_THINKING: Final = frozenset({"type", "thinking"})
_TEXT: Final = frozenset({"type", "text"})


class Repeats:
    """Of one stream. Ask ``text`` first; an event that it does not know is mapped the whole way, then learnt.

    ``thinking`` tells which kind of text the last one was.
    """

    __slots__ = ("_frame", "_place", "_strings", "_tried", "thinking")

    def __init__(self) -> None:
        self.thinking = False
        self._frame: list[bytes] | None = None  # of the last event: its bytes without the strings that vary
        self._place = 0  # of the text among these strings
        self._tried: list[bytes] = []
        self._strings: list[bytes] = []

    def text(self, data: bytes) -> str | None:
        """The text of an event that repeats the last one; ``None`` for any other, which is the last one from now on."""
        if len(data) > _MAX_BYTES:
            self._frame = None
            self._tried = self._strings = []
            return None
        pieces = _VARIES.split(data)
        strings = pieces[2::3]
        del pieces[2::3]
        if pieces == self._frame:
            text = _decoded(strings[self._place])
            if text is not None and (len(strings) == 1 or self._are_padding(strings)):
                return text
        self._frame = None
        self._tried, self._strings = pieces, strings
        return None

    def learn(self, chunk: CompletionChunk, events: Sequence[Event]) -> None:
        """The event that ``text`` did not know, and what it became."""
        if len(events) != 1:
            return
        event = events[0]
        if not isinstance(event, TextDelta | ThinkingDelta) or not _brings_only_text(chunk):
            return
        for place, (key, string) in enumerate(zip(self._tried[1::2], self._strings, strict=True)):
            if not key.startswith(b'"p"') and _decoded(string) == event.delta:
                self._frame, self._place = self._tried, place
                self.thinking = isinstance(event, ThinkingDelta)

    def _are_padding(self, strings: list[bytes]) -> bool:
        """Whether all but the text are plain: what is not read must be sound all the same."""
        return all(place == self._place or not string or string.isalnum() for place, string in enumerate(strings))


def _decoded(string: bytes) -> str | None:
    """What stands between two quotation marks of JSON; ``None`` when it is no JSON string."""
    try:
        text: str = from_json(b'"%b"' % string) if b"\\" in string else string.decode()
    except ValueError:
        return None
    return text


def _brings_only_text(chunk: CompletionChunk) -> bool:
    """Whether one string of content is all that a chunk brings, beside facts that are the same each time."""
    if not _has_only(chunk, _CHUNK) or not chunk.choices or len(chunk.choices) != 1:
        return False
    choice = chunk.choices[0]
    content = choice.delta.content
    if not _has_only(choice, _CHOICE) or not _has_only(choice.delta, _DELTA):
        return False
    return not isinstance(content, list) or (len(content) == 1 and _is_one_string(content[0]))


def _is_one_string(item: BaseModel) -> bool:
    if isinstance(item, ThinkChunk) and _has_only(item, _THINKING) and len(item.thinking) == 1:
        item = item.thinking[0]
    return isinstance(item, TextChunk) and _has_only(item, _TEXT)


def _has_only(model: BaseModel, names: frozenset[str]) -> bool:
    """Whether nothing else is in it, not even a field that nobody knows. A field that is ``null`` is not."""
    return not model.model_extra and all(value is None or name in names for name, value in model)
