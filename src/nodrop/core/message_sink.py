"""The sink of a chat: bytes in, events out, and the message that they build."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from nodrop.content import AssistantMessage
from nodrop.core.assembler import Assembler, UnknownFields
from nodrop.core.cut_json import closed
from nodrop.core.repeats import Repeats
from nodrop.core.sink import Sink
from nodrop.core.wire_json import Walked, read_chunk, walk
from nodrop.errors import (
    AbortedError,
    NodropError,
)
from nodrop.events import Done, Event, Failed
from nodrop.rate_card import RateCard
from nodrop.rate_limit import rate_limits
from nodrop.wire import ChatCompletionResponse, CompletionChunk


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
        self._cut_body: bytes | None = None
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

    def cut_whole(self, body: bytes) -> None:
        self._cut_body = body

    def _keep_cut(self, body: bytes, out: list[Event]) -> None:
        """The content of a body that broke off. Only now: an attempt that is made again must not have shown any."""
        whole = closed(body)
        if whole is None:
            return
        try:
            self._walked(walk(whole, body=True), whole, out)
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
