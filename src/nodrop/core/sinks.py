"""What the body of one attempt is poured into: bytes in, items out (events of a message, or wire chunks).

``feed``, ``close`` and ``whole`` never raise for what the server sent: they set ``error``. After a good end
``finished`` is true. Either ends the reading: what comes after it is not looked at.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Final, Generic, Literal, TypeVar, cast

from nodrop.content import AssistantMessage
from nodrop.core.assembler import Assembler, UnknownFields
from nodrop.core.cut_json import closed
from nodrop.core.repeats import Repeats
from nodrop.core.server_errors import error_beside_choices, error_in_frame
from nodrop.core.sse import ServerSentEvent, SSEDecoder
from nodrop.core.surrogates import without_surrogates
from nodrop.core.wire_json import Walked, parse, read_chunk, read_whole, walk
from nodrop.errors import (
    AbortedError,
    ContentRejectedError,
    NodropError,
    ServerReportedError,
    StreamProtocolError,
    StreamTruncatedError,
)
from nodrop.events import Done, Event, Failed
from nodrop.rate_card import RateCard
from nodrop.rate_limit import rate_limits
from nodrop.wire import ChatCompletionResponse, CompletionChunk

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
        self._cut_body: bytes | None = None

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
        """The transport failed inside a body that is plain JSON: ``failed`` keeps what it holds, if it is the end."""
        self._cut_body = body

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


class MessageSink(Sink[Event]):
    """Builds a message, with the facts of the response head on it."""

    def __init__(
        self,
        *,
        model: str,
        rates: RateCard,
        now: Callable[[], int],
        unknown_fields: UnknownFields,
        max_event_bytes: int,
    ) -> None:
        super().__init__(max_event_bytes=max_event_bytes)
        self._facts: dict[str, Any] = {}
        self._assembler = Assembler(model=model, rates=rates, now=now, unknown_fields=unknown_fields)
        self._blocks = self._assembler.blocks
        self._repeats = Repeats()
        self._stop_reason: Literal["stop", "length", "toolUse"] | None = None
        self._final: AssistantMessage | None = None

    @property
    def delivered(self) -> bool:
        return bool(self._blocks)

    def head(self, request_id: str | None, headers: Mapping[str, str]) -> None:
        self._facts = {"request_id": request_id, "rate_limit": rate_limits(headers)}

    @property
    def message(self) -> AssistantMessage:
        """The message: a snapshot while it streams (``stop_reason`` is ``pending``), then the final one."""
        return self._final or self._assembler.message("pending", **self._facts)

    def note(self, kind: str, **details: Any) -> None:
        """Adds a diagnostic to the message."""
        self._assembler.note(kind, **details)

    def done(self) -> list[Event]:
        if self._stop_reason is None:
            raise LookupError("done() before the end of the answer")
        self._final = self._assembler.message(self._stop_reason, **self._facts)
        return [Done(self._stop_reason, self._final)]

    def failed(self, error: NodropError) -> list[Event]:
        reason: Literal["error", "aborted"] = "aborted" if isinstance(error, AbortedError) else "error"
        held_back: list[Event] = []
        if self._cut_body is not None:
            self._keep_cut(self._cut_body, held_back)
        self._blocks.settle(held_back)
        self._final = self._assembler.message(reason, error_message=str(error), **self._facts)
        error.partial = self._final
        return [*held_back, Failed(reason, self._final, error)]

    def _keep_cut(self, body: bytes, out: list[Event]) -> None:
        """The content of a body that broke off. Only now: an attempt that is made again must not have shown any."""
        whole = closed(body)
        if whole is None:
            return
        try:
            walked = walk(whole, body=True)
            if isinstance(walked.chunk, ChatCompletionResponse):
                self._assembler.whole(walked.chunk, out)
        except NodropError:
            return  # what is odd in it did not end the answer: the cut did

    def _read(self, data: bytes, out: list[Event]) -> bool:
        text = self._repeats.text(data)
        if text is not None:
            (self._blocks.thought if self._repeats.thinking else self._blocks.text)(text, out)
            return True
        chunk = read_chunk(data)
        if chunk is None:
            return False
        before = len(out)
        self._assembler.chunk(chunk, out)
        self._repeats.mapped(chunk, out[-1] if len(out) == before + 1 else None)
        return True

    def _response(self, response: ChatCompletionResponse, out: list[Event]) -> None:
        self._assembler.whole(response, out)

    def _walked(self, walked: Walked, data: bytes, out: list[Event]) -> None:
        for oddity in walked.oddities:
            self.note(oddity)
        if walked.lone_surrogates:
            self._blocks.lone_surrogates = True
        if isinstance(walked.chunk, CompletionChunk):
            self._assembler.chunk(walked.chunk, out)
        elif walked.chunk is not None:
            self._assembler.whole(walked.chunk, out)
        if walked.error is not None:
            raise walked.error

    def _end(self, out: list[Event], *, done_marker: bool) -> None:
        if self._sse.ignored_lines:
            self.note("ignored_lines", count=self._sse.ignored_lines)
        self._stop_reason = self._assembler.finish(out, done_marker=done_marker)
        self.finished = True


class WireSink(Sink[CompletionChunk | ChatCompletionResponse]):
    """Hands out the generated models as they come. What they refuse is an error with the JSON on ``.raw``.

    ``request_id`` is the server's name for the request, ``oddities`` what was odd about the text and no error.
    """

    _every_type = True

    def __init__(self, *, max_event_bytes: int) -> None:
        super().__init__(max_event_bytes=max_event_bytes)
        self.request_id: str | None = None
        self.oddities: list[str] = []
        self._delivered = False
        self._finish_seen = False

    @property
    def delivered(self) -> bool:
        return self._delivered

    def head(self, request_id: str | None, headers: Mapping[str, str]) -> None:
        self.request_id = request_id

    def done(self) -> list[CompletionChunk | ChatCompletionResponse]:
        return []

    def failed(self, error: NodropError) -> list[CompletionChunk | ChatCompletionResponse]:
        return []

    def _read(self, data: bytes, out: list[CompletionChunk | ChatCompletionResponse]) -> bool:
        chunk = read_chunk(data)
        if chunk is None:
            return False
        self._chunk(chunk, out)
        return True

    def _chunk(self, chunk: CompletionChunk, out: list[CompletionChunk | ChatCompletionResponse]) -> None:
        failure = error_beside_choices(chunk)
        if failure is not None:
            raise failure
        self._finish_seen = self._finish_seen or any(choice.finish_reason for choice in chunk.choices or ())
        self._delivered = True
        out.append(chunk)

    def _response(self, response: ChatCompletionResponse, out: list[CompletionChunk | ChatCompletionResponse]) -> None:
        self._finish_seen = self._delivered = True
        out.append(response)

    def _walked(self, walked: Walked, data: bytes, out: list[CompletionChunk | ChatCompletionResponse]) -> None:
        self.oddities += [oddity for oddity in walked.oddities if oddity not in self.oddities]
        if walked.error is None and isinstance(walked.chunk, CompletionChunk):
            self._chunk(walked.chunk, out)
        elif walked.error is None and isinstance(walked.chunk, ChatCompletionResponse):
            self._response(walked.chunk, out)
        else:
            error = walked.error or StreamProtocolError("the models refuse an event and nothing says why")
            if isinstance(error, ContentRejectedError):
                error.raw = data
            raise error

    def _end(self, out: list[CompletionChunk | ChatCompletionResponse], *, done_marker: bool) -> None:
        if not self._finish_seen:
            raise StreamTruncatedError("the stream ended without a finish reason: the answer is cut off")
        if self._sse.ignored_lines:
            self.oddities.append("ignored_lines")
        if not done_marker:
            self.oddities.append("no_done_marker")
        self.finished = True


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
