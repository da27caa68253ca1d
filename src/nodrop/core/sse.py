"""Server-sent events from bytes, cut anywhere.

The rules are WHATWG's: lines end with LF, CR or CRLF and nothing else (U+2028 inside data is data), one leading byte
order mark is dropped, one space after the colon is dropped, data lines are joined with LF, comments are skipped.
Three additions, each because content would vanish without it:

- a last event that has no blank line after it is given out by :meth:`SSEDecoder.close`, marked ``cut``; whoever knows
  the payload's form decides whether it is whole;
- a line that is no field and starts with ``{`` is a gateway's unframed JSON: it is given out as an event, joined with
  the lines after it until its brackets are closed, or until a framed event begins (then it was broken);
- other lines that are no field are counted in ``ignored_lines``, so that a body which is no event stream can be told.

Data stays bytes: it is decoded once, by the JSON reader.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from nodrop.errors import StreamProtocolError

MAX_EVENT_BYTES: Final = 16 * 1024 * 1024

_BOM: Final = b"\xef\xbb\xbf"
_LINE_END: Final = re.compile(rb"\r\n|\n|\r")
_FIELD_NAMES: Final = (b"event", b"id", b"retry", b"dat")  # "data" alone is a whole line
_FIELDS_WITHOUT_CONTENT: Final = frozenset({b"id", b"retry"})
_JSON_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*"?')  # also one that the line ends in: so it never backtracks


class ServerSentEvent(NamedTuple):
    """One event. ``cut`` is true when the input ended before its blank line; ``unframed`` when it had no framing."""

    data: bytes
    event: str = ""
    cut: bool = False
    unframed: bool = False


class SSEDecoder:
    """Feed it bytes, get whole events; close it at the end of the input to get a last one.

    State: the unfinished line (as pieces, joined once when its end comes), the data lines and the name of the event
    under way, and the lines of unframed JSON under way. Raises :class:`StreamProtocolError` when one event is larger
    than ``max_event_bytes``.
    """

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self.ignored_lines = 0
        self._max = max_event_bytes
        self._head: bytes | None = b""  # the first bytes, until it is known whether they are a byte order mark
        self._line: list[bytes] = []
        self._line_size = 0
        self._after_cr = False
        self._data: list[bytes] = []
        self._size = 0
        self._event = ""
        self._unframed: list[bytes] = []
        self._depth = 0  # of open brackets in it
        self._between = True  # the next byte begins an event

    def plain(self, block: bytes) -> list[bytes] | None:
        """The data of a block that is nothing but whole events of one ``data: `` line each, which is Mistral's form.

        ``None`` for any other block, and inside an event: :meth:`feed` looks at every rule, line by line.
        """
        size = len(block)
        if not self._between or block[:6] != b"data: " or block[-2:] != b"\n\n" or size > self._max or b"\r" in block:
            return None
        self._head = None  # no byte order mark
        if block.find(b"\n") == size - 2:
            return [block[6:-2]]
        events = block[:-2].split(b"\n\n")
        if block.count(b"\n") != 2 * len(events) or not all(event.startswith(b"data: ") for event in events):
            return None
        return [event[6:] for event in events]

    def feed(self, block: bytes) -> Iterator[ServerSentEvent]:
        """The events that end in ``block``, one by one, so that those before an oversized one are given out."""
        self._between = False
        if self._head is not None:
            block = self._without_bom(block)
        if self._after_cr and block:
            self._after_cr = False
            if block[:1] == b"\n":  # the second half of a CRLF that was cut in two
                block = block[1:]
        if block:
            yield from self._whole_lines(block)
        self._between = not self.pending and not self._after_cr and not self._event

    def _whole_lines(self, block: bytes) -> Iterator[ServerSentEvent]:
        if block.endswith(b"\r"):
            self._after_cr = True
        *lines, rest = _LINE_END.split(block)
        for line in lines:
            if self._line:
                self._line.append(line)
                line = b"".join(self._line)  # noqa: PLW2901
                self._line.clear()
                self._line_size = 0
            event = self._take(line)
            if event is not None:
                yield event
        if rest:
            self._line.append(rest)
            self._line_size += len(rest)
            if self._line_size > self._max:
                raise self._too_large()

    def close(self) -> Iterator[ServerSentEvent]:
        """The end of the input: the last event, if one is unfinished."""
        self._head = None  # what waits there is a cut byte order mark
        if self._line:
            line = b"".join(self._line)
            self._line.clear()
            cut_name = not self._unframed and any(name.startswith(line) for name in _FIELD_NAMES)
            event = None if cut_name else self._take(line)
            if event is not None:
                yield event
        if self._unframed:
            yield self._unframed_event(cut=True)
        if self._data:
            yield self._dispatch(cut=True)

    @property
    def pending(self) -> bool:
        """Whether the input stopped inside an event."""
        return bool(self._line or self._data or self._unframed or self._head)

    def _without_bom(self, block: bytes) -> bytes:
        head = (self._head or b"") + block
        if len(head) < len(_BOM) and _BOM.startswith(head):
            self._head = head
            return b""
        self._head = None
        return head.removeprefix(_BOM)

    def _take(self, line: bytes) -> ServerSentEvent | None:
        if self._unframed:
            if not line.startswith((b"data:", b"event:")):
                return self._more_unframed(line)
            broken = self._unframed_event(cut=False)
            self._take(line)
            return broken
        if line.startswith(b"data:"):
            self._grow(self._data, line[6:] if line[5:6] == b" " else line[5:])
            return None
        if not line:
            if self._data:
                return self._dispatch(cut=False)
            self._event = ""
            return None
        if line.startswith(b"{"):
            return self._more_unframed(line)
        self._other_field(line)
        return None

    def _other_field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name == b"event":
            self._event = value.removeprefix(b" ").decode("utf-8", "replace")
        elif name == b"data":  # a data line without a colon is an empty one
            self._grow(self._data, b"")
        elif name and name not in _FIELDS_WITHOUT_CONTENT:  # an empty name is a comment
            self.ignored_lines += 1

    def _more_unframed(self, line: bytes) -> ServerSentEvent | None:
        self._grow(self._unframed, line)
        # JSON strings hold no raw line ends, so each line can be read by itself.
        bare = _JSON_STRING.sub(b"", line)
        self._depth += bare.count(b"{") + bare.count(b"[") - bare.count(b"}") - bare.count(b"]")
        return self._unframed_event(cut=False) if self._depth <= 0 else None

    def _unframed_event(self, *, cut: bool) -> ServerSentEvent:
        event = ServerSentEvent(b"\n".join(self._unframed), cut=cut, unframed=True)
        self._unframed.clear()
        self._size = self._depth = 0
        return event

    def _dispatch(self, *, cut: bool) -> ServerSentEvent:
        data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
        event = ServerSentEvent(data, self._event, cut)
        self._data.clear()
        self._size = 0
        self._event = ""
        return event

    def _grow(self, lines: list[bytes], line: bytes) -> None:
        self._size += len(line) + bool(lines)  # the line end between two lines counts: empty lines are bounded too
        if self._size > self._max:
            raise self._too_large()
        lines.append(line)

    def _too_large(self) -> StreamProtocolError:
        return StreamProtocolError(
            f"one event of the stream is larger than {self._max} bytes; raise max_event_bytes if that is expected"
        )
