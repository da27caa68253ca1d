"""What the body of one attempt is poured into: bytes in, items out (events of a message, or wire chunks).

``feed``, ``close`` and ``whole`` never raise for what the server sent: they set ``error``. After a good end
``finished`` is true. Either ends the reading: what comes after it is not looked at.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Final, Generic, TypeVar, cast

from nodrop.core.server_errors import error_in_frame
from nodrop.core.sse import ServerSentEvent, SSEDecoder
from nodrop.core.surrogates import without_surrogates
from nodrop.core.wire_json import Walked, parse, read_whole, walk
from nodrop.errors import (
    NodropError,
    ServerReportedError,
    StreamProtocolError,
    StreamTruncatedError,
)
from nodrop.wire import ChatCompletionResponse

DONE_MARKER: Final = b"[DONE]"
Item = TypeVar("Item")


class Sink(ABC, Generic[Item]):
    """The part that messages and wire chunks share: framing, the end of the input, and what is an error."""

    _every_type: ClassVar[bool] = False
    """Whether the types that a chat rejects pass."""

    def __init__(self, *, max_event_bytes: int) -> None:
        self.error: NodropError | None = None
        self.finished = False
        self.events = 0
        """Server-sent events so far. Comments are none: they do not end a silence."""
        self._sse = SSEDecoder(max_event_bytes=max_event_bytes)
        self._cut_tail: bytes | None = None

    # ---- bytes ----

    def feed(self, block: bytes) -> list[Item]:
        """The items that ``block`` completes, those before an error included."""
        out: list[Item] = []
        plain = self._sse.plain(block)
        if plain is None:
            self._take(self._sse.feed(block), out)
        elif not self.finished and self.error is None:
            try:  # as _take does; this is the way of nearly every event, and a context manager for each costs more
                for data in plain:
                    self.events += 1
                    if not self._read(data, out):
                        self._unread(ServerSentEvent(data), out)
                        if self.finished:
                            break
            except NodropError as error:
                self.error = error.with_traceback(None)
        return out

    def close(self) -> list[Item]:
        """The end of the input: a last event if its data is whole, then the end of the answer or the error."""
        out: list[Item] = []
        self._take(self._sse.close(), out)
        if not self.finished and self.error is None:
            with self._guarded():
                self._end_of_input(out)
        return out

    def cut(self) -> list[Item]:
        """The transport failed, or nobody reads on: a last event counts if its data is whole; nothing ends."""
        out: list[Item] = []
        self._take(self._sse.close(), out)
        return out

    def whole(self, body: bytes) -> list[Item]:
        """A body that is plain JSON: a whole completion."""
        out: list[Item] = []
        with self._guarded():
            self._whole_body(body, out)
        return out

    def cut_whole(self, body: bytes) -> None:
        """A body that is plain JSON broke off. Chats keep what it holds, if no further attempt is made."""

    def _take(self, events: Iterable[ServerSentEvent], out: list[Item]) -> None:
        if self.finished or self.error is not None:
            return
        with self._guarded():
            for event in events:
                self._event(event, out)
                if self.finished:
                    return

    @contextmanager
    def _guarded(self) -> Generator[None]:
        try:
            yield
        except NodropError as error:
            self.error = error.with_traceback(None)  # its frames would keep the payload alive

    def _event(self, event: ServerSentEvent, out: list[Item]) -> None:
        self.events += 1
        if event.event == "error" or not self._read(event.data, out):
            self._unread(event, out)

    def _unread(self, event: ServerSentEvent, out: list[Item]) -> None:
        """An event that the fast path refused, or must not read."""
        data = event.data.strip()
        if data == DONE_MARKER:
            self._end(out, done_marker=True)
        elif data:  # an event with empty data carries nothing
            self._odd(event, out)

    def _odd(self, event: ServerSentEvent, out: list[Item]) -> None:
        if event.cut and not _is_json(event.data):
            self._cut_tail = event.data
            return
        if event.event == "error":
            raise _error_of(event.data)
        self._walked(walk(event.data, every_type=self._every_type), event.data, out)

    def _end_of_input(self, out: list[Item]) -> None:
        if self._cut_tail is not None and not DONE_MARKER.startswith(self._cut_tail.strip()):
            raise StreamTruncatedError("the stream ended inside an event; what arrived before it is in .partial")
        if not self.events and self._sse.ignored_lines:
            raise StreamProtocolError(
                f"the server sent no event stream: {self._sse.ignored_lines} line(s) that are no server-sent event"
            )
        if not self.events:
            raise StreamTruncatedError("the stream ended before its first event: there is no answer in it")
        self._end(out, done_marker=False)

    def _whole_body(self, body: bytes, out: list[Item]) -> None:
        response = read_whole(body)
        if response is not None:
            self._response(response, out)
        elif not body.strip():
            raise StreamTruncatedError("the server sent an empty body in place of a completion")
        elif body.lstrip().startswith(b"{") and not _is_json(body):
            self.cut_whole(body)
            raise StreamTruncatedError(f"the body ended inside its JSON, after {len(body)} bytes")
        else:
            self._walked(walk(body, body=True, every_type=self._every_type), body, out)
        self._end(out, done_marker=True)

    # ---- what each kind of sink does ----

    def head(self, request_id: str | None, headers: Mapping[str, str]) -> None:
        """The response head, before any of the body. ``headers`` are lower-cased."""

    @property
    @abstractmethod
    def delivered(self) -> bool:
        """Whether content was given out: then the request must not be sent again."""

    @abstractmethod
    def _read(self, data: bytes, out: list[Item]) -> bool:
        """The fast path for the data of an event: whether it could be read so."""

    @abstractmethod
    def _response(self, response: ChatCompletionResponse, out: list[Item]) -> None: ...
    @abstractmethod
    def _walked(self, walked: Walked, data: bytes, out: list[Item]) -> None: ...
    @abstractmethod
    def _end(self, out: list[Item], *, done_marker: bool) -> None: ...
    @abstractmethod
    def done(self) -> list[Item]:
        """The terminal items of a good end."""

    @abstractmethod
    def failed(self, error: NodropError) -> list[Item]:
        """The terminal items of a bad one; ``error`` gets its ``partial``."""


def _error_of(data: bytes) -> NodropError:
    """The error of an event that is named ``error``, whatever its data is."""
    try:
        value: object = without_surrogates(parse(data)[0])
    except StreamProtocolError as error:
        words = str(error)
    else:
        frame: dict[str, Any] = {"error": value}
        if isinstance(value, dict) and "error" in value:
            frame = cast("dict[str, Any]", value)
        said = error_in_frame(frame, data)
        if said is not None:
            return said
        words = "an error event without an error"
    return ServerReportedError(f"the server reported a failure inside the stream: {words}")


def _is_json(data: bytes) -> bool:
    try:
        parse(data)
    except StreamProtocolError:
        return False
    return True
