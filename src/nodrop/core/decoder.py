"""The sans-IO decoder for callers with a transport of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

from nodrop.content import AssistantMessage, now_ms
from nodrop.core.assembler import UnknownFields
from nodrop.core.message_sink import MessageSink
from nodrop.core.sse import MAX_EVENT_BYTES
from nodrop.errors import AbortedError, ConfigurationError, NodropError
from nodrop.events import Event, Start
from nodrop.rate_card import RateCard


class Decoder:
    """The body of a 2xx answer → events and the message; no network, no clock but ``now``.

    ::

        decoder = nodrop.Decoder(model="mistral-small-latest")
        for block in body:
            for event in decoder.feed(block): ...
        for event in decoder.close(): ...
        decoder.message

    ``feed`` and ``close`` never raise for what the server sent: the last event is :class:`nodrop.Failed` then, and
    ``error`` is its exception. Nothing comes after the terminal event. ``model`` is the id that was asked for;
    ``rates`` the rate card for the cost estimate; ``unknown_fields`` keeps or rejects fields that nobody knows; one
    event may have ``max_event_bytes`` at most; ``now`` gives Unix milliseconds.
    """

    def __init__(
        self,
        *,
        model: str = "",
        rates: RateCard | None = None,
        unknown_fields: UnknownFields = "keep",
        max_event_bytes: int = MAX_EVENT_BYTES,
        now: Callable[[], int] = now_ms,
    ) -> None:
        if unknown_fields not in get_args(UnknownFields):
            raise ConfigurationError("unknown_fields is 'keep' or 'reject'")
        self._sink = MessageSink(
            model=model,
            rates=RateCard.default() if rates is None else rates,
            now=now,
            unknown_fields=unknown_fields,
            max_event_bytes=max_event_bytes,
        )
        self._started = False
        self._ended = False
        self.error: NodropError | None = None

    @property
    def message(self) -> AssistantMessage:
        """The message so far; the final one after the terminal event."""
        return self._sink.message

    def feed(self, block: bytes) -> list[Event]:
        """The events that a piece of an SSE body completes. Raises :class:`TypeError` when it is no ``bytes``."""
        _check_bytes(block)
        return self._step(lambda: self._sink.feed(block))

    def close(self) -> list[Event]:
        """The end of an SSE body. Always ends with the terminal event, unless there was one already."""
        return self._step(self._sink.close)

    def whole(self, body: bytes) -> list[Event]:
        """All events of a body that is plain JSON, a whole completion. Raises :class:`TypeError` as ``feed`` does."""
        _check_bytes(body)
        return self._step(lambda: self._sink.whole(body))

    def fail(self, error: NodropError) -> list[Event]:
        """Ends the answer with an error of the caller's transport; what arrived is kept."""

        def step() -> list[Event]:
            events = self._sink.cut()
            if not self._sink.finished:
                self._sink.error = self._sink.error or error
            return events

        return self._step(step)

    def abort(self) -> list[Event]:
        """Ends the answer as aborted; what arrived is kept."""
        return self.fail(AbortedError())

    def _step(self, step: Callable[[], list[Event]]) -> list[Event]:
        if self._ended:
            return []
        events: list[Event] = [] if self._started else [Start()]
        self._started = True
        events += step()
        if self._sink.error is not None:
            self._ended = True
            self.error = self._sink.error
            events += self._sink.failed(self._sink.error)
        elif self._sink.finished:
            self._ended = True
            events += self._sink.done()
        return events


def _check_bytes(data: object) -> None:
    if not isinstance(data, bytes):
        raise TypeError(f"the decoder takes the bytes of the body, not {type(data).__name__}")
