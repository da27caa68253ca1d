"""Content in canonical form: whatever the split it came in, the same answer is the same list of chunks.

Neighbouring text is one ``text`` chunk (a string counts as text), neighbouring thinking one ``thinking`` chunk, and so
are its parts. Everything else stands as it came, and so does text with a field that nobody knows: joining would lose
the field. Empty text and empty thinking carry nothing and leave no chunk.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, TypeVar, cast

from nodrop.wire import ContentChunk, TextChunk, ThinkChunk, ThinkingPart

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_Json = TypeVar("_Json")


class ChunkList:
    """Takes content as it comes; ``chunks`` is the canonical list of what came so far."""

    def __init__(self) -> None:
        self._done: list[ContentChunk] = []
        self._text: list[str] = []
        self._thinking: ThinkChunk | None = None

    def __len__(self) -> int:
        return len(self._done) + bool(self._text) + (self._thinking is not None)

    def add(self, content: str | Iterable[ContentChunk] | None) -> None:
        """Adds the content of one delta or message."""
        if isinstance(content, str):
            self._add_text(content)
        else:
            for chunk in content or ():
                self._add(chunk)

    @property
    def chunks(self) -> list[ContentChunk]:
        """The chunks so far. Half a character at the end is U+FFFD in it, also where the next delta may complete it."""
        return [*self._done, *self._open()]

    @property
    def ends_in_half_a_character(self) -> bool:
        """Whether the last character of ``chunks`` may still become another one."""
        return bool(self._text) and "\ud800" <= self._text[-1][-1] <= "\udbff"

    def _open(self) -> list[ContentChunk]:
        """What the next content may still join: one text or one thinking chunk, or nothing."""
        if self._text:
            return [TextChunk(type="text", text=whole_characters("".join(self._text)))]
        return [] if self._thinking is None else [_with_joined_parts(self._thinking)]

    def _add(self, chunk: ContentChunk) -> None:
        if isinstance(chunk, TextChunk) and not chunk.model_extra:
            self._add_text(chunk.text)
        elif isinstance(chunk, ThinkChunk) and not chunk.model_extra:
            self._add_thinking(chunk)
        else:
            self._close()
            self._done.append(clean(chunk))

    def _add_text(self, text: str) -> None:
        if not text:
            return
        if not self._text:
            self._close()
        self._text.append(text)

    def _add_thinking(self, chunk: ThinkChunk) -> None:
        parts = [part for part in chunk.thinking if not (isinstance(part, TextChunk) and _is_empty(part))]
        if not parts and not chunk.signature:
            if self._thinking is not None and chunk.closed is not None:
                self._thinking.closed = chunk.closed
            return
        open_one = self._thinking
        if open_one is None or (chunk.signature and open_one.signature and chunk.signature != open_one.signature):
            self._close()
            self._thinking = ThinkChunk(type="thinking", thinking=parts)
        else:
            open_one.thinking.extend(parts)
        current = cast(ThinkChunk, self._thinking)
        if chunk.signature:
            current.signature = chunk.signature
        if chunk.closed is not None:
            current.closed = chunk.closed

    def _close(self) -> None:
        self._done += self._open()
        self._text = []
        self._thinking = None


def _with_joined_parts(chunk: ThinkChunk) -> ThinkChunk:
    parts: list[ThinkingPart] = []
    texts: list[str] = []
    for part in chunk.thinking:
        if isinstance(part, TextChunk) and not part.model_extra:
            texts.append(part.text)
            continue
        _flush(texts, parts)
        parts.append(clean(part))
    _flush(texts, parts)
    return chunk.model_copy(update={"thinking": parts})


def _flush(texts: list[str], parts: list[ThinkingPart]) -> None:
    if texts:
        parts.append(TextChunk(type="text", text=whole_characters("".join(texts))))
        texts.clear()


def _is_empty(part: TextChunk) -> bool:
    return not part.text and not part.model_extra


def whole_characters(text: str) -> str:
    """``text`` with halves of a character that two deltas held joined; a half that stays alone is U+FFFD."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def clean(value: _Json) -> _Json:
    """A wire model, or plain JSON, with :func:`whole_characters` in every string of it."""
    if isinstance(value, str):
        return cast(_Json, whole_characters(value))
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return cast(_Json, {whole_characters(key): clean(member) for key, member in members.items()})
    if isinstance(value, list):
        return cast(_Json, [clean(item) for item in cast("list[Any]", value)])
    if isinstance(value, TextChunk):
        return cast(_Json, value.model_copy(update={"text": whole_characters(value.text)}))
    if isinstance(value, ThinkChunk):
        return cast(_Json, value.model_copy(update={"thinking": [clean(part) for part in value.thinking]}))
    return value
