"""One answer on its way to pi.

Rules:
- Every byte goes out under one lock: events by the pump, comments by the heart, which beats only after a silence.
- When the client goes away, the watcher aborts the request upstream at once; how long its end took is logged.
- A shutdown aborts too, but pi is still there: it gets an ``error`` that tells it to try again. So does a server that
  cancels the task.
- Whatever happens, the connection upstream is closed when this returns.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from typing import TYPE_CHECKING, Final

from nodrop.client.aio import AsyncStream
from nodrop.errors import AbortedError
from nodrop.events import Done, Event, Failed
from nodrop.pi.events import HEARTBEAT, error_event, frame, pi_event
from nodrop.pi.wording import SHUTTING_DOWN

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

LOG: Final = logging.getLogger("nodrop.pi")

_LAST_WORD_SECONDS: Final = 1.0
_HEAD: Final = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # nginx would hold the events back
]


class AnswerStream:
    """An ASGI response. ``effort`` is the ``reasoning_effort`` that was sent; ``heartbeat`` is in seconds."""

    def __init__(self, answer: AsyncStream, *, model: str, effort: str | None, heartbeat: float) -> None:
        self._answer = answer
        self._model = model
        self._effort = effort
        self._heartbeat = heartbeat
        self._writing = asyncio.Lock()
        self._began = self._sent = time.monotonic()
        self._gone: float | None = None
        self._stopping = False

    def shut_down(self) -> None:
        """Ends the answer with an ``error`` that pi takes for a passing one. Called in the event loop."""
        self._stopping = True
        self._answer.abort()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        helpers = [asyncio.create_task(self._watch(receive)), asyncio.create_task(self._beat(send))]
        try:
            await send({"type": "http.response.start", "status": 200, "headers": _HEAD})
            async with self._answer:
                async for event in self._answer:
                    await self._write(send, self._frame(event))
        except OSError:
            self._lost()  # how servers of ASGI 2.4 tell that the client is gone
        except asyncio.CancelledError:
            with contextlib.suppress(TimeoutError):  # a client that does not read must not hold the server up
                async with asyncio.timeout(_LAST_WORD_SECONDS):
                    await self._write(send, self._shutdown_frame())
            raise
        finally:
            for helper in helpers:
                helper.cancel()
            await asyncio.gather(*helpers, return_exceptions=True)
            if self._gone is not None:
                LOG.info("the client went away; upstream closed after %.1f ms", (time.monotonic() - self._gone) * 1000)
        if self._gone is None:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _frame(self, event: Event) -> bytes:
        if isinstance(event, Failed) and self._stopping and isinstance(event.exception, AbortedError):
            return self._shutdown_frame()
        if isinstance(event, Done | Failed):
            self._log_end(event)
        return frame(pi_event(event, effort=self._effort))

    def _shutdown_frame(self) -> bytes:
        return frame(error_event(SHUTTING_DOWN, self._answer.message, effort=self._effort))

    async def _write(self, send: Send, data: bytes) -> None:
        async with self._writing:
            if self._gone is None:
                await send({"type": "http.response.body", "body": data, "more_body": True})
                self._sent = time.monotonic()

    async def _beat(self, send: Send) -> None:
        while True:
            silent = time.monotonic() - self._sent
            if silent < self._heartbeat:
                await asyncio.sleep(self._heartbeat - silent)
            else:
                await self._write(send, HEARTBEAT)

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._lost()

    def _lost(self) -> None:
        if self._gone is None:
            self._gone = time.monotonic()
            self._answer.abort()

    def _log_end(self, event: Done | Failed) -> None:
        usage, seconds = event.message.usage, time.monotonic() - self._began
        text = f": {event.exception}" if isinstance(event, Failed) else ""
        LOG.info(
            "%s %s in %.1f s, %d+%d tokens in, %d out%s",
            self._model, event.reason, seconds, usage.input, usage.cache_read, usage.output, text,
        )  # fmt: skip
