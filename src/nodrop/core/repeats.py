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
    """Of one stream. Ask ``text`` first; for what it does not know tell ``mapped`` what became of it.

    ``thinking`` tells which kind of text the last one was. State: the last event's bytes around its strings that vary,
    what the whole way made of it until that is judged, and then the place of the text among the strings.
    """

    __slots__ = ("_chunk", "_delta", "_frame", "_place", "_strings", "thinking")

    def __init__(self) -> None:
        self.thinking = False
        self._frame: list[bytes] = []
        self._strings: list[bytes] = []
        self._chunk: CompletionChunk | None = None
        self._delta: Event | None = None
        self._place: int | None = None

    def text(self, data: bytes) -> str | None:
        """The text of an event that repeats the last one; ``None`` for any other, which is the last one from now on."""
        pieces = _VARIES.split(data) if len(data) <= _MAX_BYTES else []
        strings = pieces[2::3]
        del pieces[2::3]
        if pieces == self._frame:
            if self._chunk is not None:
                self._place = self._judged(self._chunk)
                self._chunk = None
            if self._place is not None:
                text = _decoded(strings[self._place])
                if text is not None and (len(strings) == 1 or self._are_padding(strings)):
                    return text
        self._frame, self._strings = pieces, strings
        self._chunk = self._place = None
        return None

    def mapped(self, chunk: CompletionChunk, delta: Event | None) -> None:
        """The last event, and the one event that it became; ``None`` when it became none, or more."""
        self._chunk, self._delta = chunk, delta

    def _judged(self, chunk: CompletionChunk) -> int | None:
        """The place of the text in the last event, if text was all that it brought. Asked when it comes again."""
        delta = self._delta
        if not isinstance(delta, (TextDelta, ThinkingDelta)) or not _brings_only_text(chunk):
            return None
        self.thinking = isinstance(delta, ThinkingDelta)
        keys = self._frame[1::2]
        texts = (place for place, key in enumerate(keys) if not key.startswith(b'"p"'))
        return next((place for place in texts if _decoded(self._strings[place]) == delta.delta), None)

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
    """Whether nothing else is in it, not even a field that nobody knows. A known field that is null is absent."""
    others = model.model_fields_set - names
    return not others or (not model.model_extra and all(getattr(model, name) is None for name in others))
