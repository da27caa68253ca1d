"""Carries out the commands of one request's flow on asyncio. Any thread or task may abort it.

Every wait stands under one scope, a timeout whose deadline the abort moves to now: so the caller is free at once,
whatever the server does. Cancelling the task propagates as usual. While buffered bytes last, the event loop gets a turn
every few events, so that a fast stream does not starve its neighbours.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final, Generic, TypeVar

from nodrop.client.abort import AbortSignal
from nodrop.client.outgoing import Outgoing
from nodrop.client.transport import failure_of, head_of, is_encoded
from nodrop.client.waits import actual_wait
from nodrop.core.flow import (
    ABORTED,
    END,
    Aborted,
    Broken,
    Drop,
    Emit,
    End,
    Expired,
    Head,
    Read,
    Reply,
    RequestFlow,
    Send,
    Settle,
    Wait,
)

Item = TypeVar("Item")
_Result = TypeVar("_Result")
_SETTLE_SECONDS: Final = 0.1
_SETTLE_BYTES: Final = 65536


class AsyncDriver(Generic[Item]):
    """Drives one flow. One consumer task; ``abort`` from any thread or task."""

    def __init__(
        self,
        flow: RequestFlow[Item],
        http: Any,
        outgoing: Outgoing,
        signal: AbortSignal | None,
        on_wait: Callable[[Wait], None],
    ) -> None:
        self.flow = flow
        self.started = False
        self.ended = False
        self.loop: asyncio.AbstractEventLoop | None = None
        self._run = flow.run()
        self._http = http
        self._outgoing = outgoing
        self._on_wait = on_wait
        self._signal = AbortSignal()
        self._unlink: Callable[[], None] = _nothing
        if signal is not None:
            self._unlink = signal.on_abort(self._signal.abort)
        self._reply: Reply = None
        self._response: Any = None
        self._body: AsyncIterator[bytes] | None = None
        self._scope: asyncio.Timeout | None = None

    def abort(self) -> None:
        """Ends the request; ``next_items`` then gives the terminal item with what had arrived."""
        self._signal.abort()

    async def next_items(self) -> list[Item] | None:
        """The next items, or ``None`` after the last ones."""
        if self.ended:
            return None
        if not self.started:
            self.started = True
            self.loop = asyncio.get_running_loop()
            self._signal.on_abort(self._wake)
        while True:
            reply, self._reply = self._reply, ABORTED  # a cancellation while a command is carried out ends the request
            try:
                command = self._run.send(reply)
            except StopIteration:
                await self._finish()
                return None
            except BaseException:
                await self._finish()
                raise
            match command:
                case Emit():
                    self._reply = None
                    return command.items
                case Read():
                    self._reply = await self._read(command.deadline)
                case Send():
                    self._reply = await self._send(command.deadline)
                case Wait():
                    self._reply = await self._wait(command)
                case Settle():
                    await self._settle()
                    self._reply = None
                case Drop():
                    await self._drop()
                    self._reply = None

    async def close(self) -> None:
        """Ends the request if it is under way, and lets its connection go."""
        if not self.ended:
            self.abort()
            while await self.next_items() is not None:
                pass

    async def _finish(self) -> None:
        self.ended = True
        self._unlink()
        await self._drop()

    # ---- commands ----

    async def _send(self, deadline: float) -> Head | Broken | Expired | Aborted:
        request = self._http.build_request(
            "POST",
            self._outgoing.url,
            headers=self._outgoing.headers,
            content=self._outgoing.body,
            timeout=self._outgoing.timeout,
        )
        outcome = await self._bounded(lambda: self._http.send(request, stream=True), deadline)
        if isinstance(outcome, Broken | Expired | Aborted):
            return outcome
        self._response = outcome
        self._body = outcome.aiter_bytes() if is_encoded(outcome) else outcome.aiter_raw()
        return head_of(outcome)

    async def _read(self, deadline: float) -> bytes | End | Broken | Expired | Aborted:
        body = self._body
        if body is None:
            raise LookupError("a read before the head of the response")
        return await self._bounded(lambda: anext(body, END), deadline)

    async def _wait(self, command: Wait) -> Aborted | None:
        self._on_wait(command)
        seconds = actual_wait(command.seconds)
        outcome = await self._bounded(lambda: asyncio.sleep(seconds), time.monotonic() + seconds + 1.0)
        return ABORTED if isinstance(outcome, Aborted) else None

    async def _settle(self) -> None:
        """Reads the few bytes after the end, so that the connection can be used again; never waits for them long."""
        body = self._body
        if body is not None:
            await self._bounded(lambda: _read_rest(body), time.monotonic() + _SETTLE_SECONDS)
        await self._drop()

    async def _drop(self) -> None:
        response, self._response = self._response, None
        self._body = None
        if response is not None:
            await response.aclose()

    async def _bounded(
        self, start: Callable[[], Awaitable[_Result]], deadline: float
    ) -> _Result | Broken | Expired | Aborted:
        """Waits until the result, the deadline or the abort, whichever is first."""
        if self._signal.aborted:
            return ABORTED
        failure: Exception
        try:
            async with asyncio.timeout(max(deadline - time.monotonic(), 0.0)) as scope:
                self._scope = scope
                if self._signal.aborted:  # it came between the look above and the scope
                    return ABORTED
                return await start()
        except TimeoutError:
            return ABORTED if self._signal.aborted else Expired()
        except Exception as error:  # noqa: BLE001 - sorted by family below; what is not the transport's is raised again
            failure = error
        finally:
            self._scope = None
        if self._signal.aborted:
            return ABORTED
        known = failure_of(failure)
        if known is None:
            raise failure  # not the transport's: a hook of the caller's client, or a bug
        return known

    def _wake(self) -> None:
        """Called by the abort, in any thread."""
        if self.loop is not None and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self._expire_now)

    def _expire_now(self) -> None:
        if self._scope is not None and not self._scope.expired():
            self._scope.reschedule(asyncio.get_running_loop().time())


async def _read_rest(body: AsyncIterator[bytes]) -> None:
    left = _SETTLE_BYTES
    async for block in body:
        left -= len(block)
        if left < 0:
            return


def _nothing() -> None:
    return None
