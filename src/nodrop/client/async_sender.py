"""Sends one request in a task of its own, so that whoever waits for the head can leave at any moment.

httpcore forgets a connection when it is cancelled in the one turn of the loop between connecting and writing, and in a
TLS handshake. So the task is cancelled only in the middle of connecting, writing or waiting for the head, which
httpcore's ``trace`` extension tells; in between it ends by itself at its next step.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from nodrop.client.outgoing import Outgoing

_OPENED: Final = (".connect_tcp.complete", ".connect_unix_socket.complete", ".start_tls.complete")
_NOT_A_STEP: Final = ".response_closed.started"
_CLEAN_UP_SECONDS: Final = 0.05  # it takes a few turns of the loop; only a transport of the caller's own takes longer
_running: Final[set[asyncio.Task[Any]]] = set()


class _LeftError(OSError):
    """Nobody waits for the answer any more."""


class AsyncSender:
    """State: the task, whether anyone still wants its outcome, and whether it may be cancelled where it is."""

    def __init__(self, http: Any, outgoing: Outgoing) -> None:
        self._http = http
        self._outgoing = outgoing
        self._left = False
        self._may_cancel = True
        self._opened: Any = None
        self._closing: asyncio.Task[Any] | None = None
        self._task = in_background(self._send())

    async def response(self) -> Any:
        """Waits for the response. A cancellation ends the wait only: then :meth:`leave` it."""
        return await asyncio.shield(self._task)

    async def leave(self) -> None:
        """Nobody wants the outcome any more: what has come is closed, what comes late will be. May be called again."""
        if not self._left:
            self._left = True
            self._task.add_done_callback(self._close_what_came)
            if self._may_cancel and not self._task.done():
                self._task.cancel()
        await asyncio.wait({self._task}, timeout=_CLEAN_UP_SECONDS)
        if self._task.done():
            self._close_what_came(self._task)
        if self._closing is not None:
            await asyncio.wait({self._closing}, timeout=_CLEAN_UP_SECONDS)

    def _close_what_came(self, task: asyncio.Task[Any]) -> None:
        if self._closing is None and not task.cancelled() and task.exception() is None:
            self._closing = in_background(task.result().aclose())

    async def _send(self) -> Any:
        request = self._http.build_request(
            "POST",
            self._outgoing.url,
            headers=self._outgoing.headers,
            content=self._outgoing.body,
            timeout=self._outgoing.timeout,
            extensions={"trace": self._observe},
        )
        return await self._http.send(request, stream=True)

    async def _observe(self, name: str, info: dict[str, Any]) -> None:
        if name.endswith(_OPENED):
            self._opened = info["return_value"]
            self._may_cancel = False
        elif name.endswith(".start_tls.failed"):
            if self._opened is not None:
                await self._opened.aclose()
        elif name.endswith(".started") and not name.endswith(_NOT_A_STEP):
            self._may_cancel = True
            if self._left:
                raise _LeftError


def in_background(work: Any) -> asyncio.Task[Any]:
    """A task that is held until it ends: the loop itself holds tasks weakly."""
    task: asyncio.Task[Any] = asyncio.ensure_future(work)
    _running.add(task)
    task.add_done_callback(_running.discard)
    return task


def close_whole(response: Any) -> None:
    """Makes the closing of a response one that no cancellation can cut in half.

    httpx closes it by itself at its last byte, in the middle of a read. httpcore waits there for the loop's next turn
    and is not safe against asyncio's own cancellation: the connection would be in use for ever.
    """
    close = response.aclose

    async def close_in_a_task() -> None:
        await asyncio.shield(in_background(close()))

    response.aclose = close_in_a_task
