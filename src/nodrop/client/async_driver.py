"""Carries out the commands of one request's flow on asyncio. Any thread or task may abort it.

Every wait stands under one alarm, which the deadline or the abort rings: so the caller is free at once, whatever the
server does. Cancelling the task propagates as usual. While buffered bytes last, the event loop gets a turn
every few events, so that a fast stream does not starve its neighbours.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Generic, TypeVar

from nodrop.client.abort import AbortSignal
from nodrop.client.alarm import Alarm
from nodrop.client.async_sender import AsyncSender, close_whole, in_background
from nodrop.client.outgoing import Outgoing
from nodrop.client.transport import (
    AFTER_FORK,
    SETTLE_BYTES,
    SETTLE_SECONDS,
    check_open,
    failure_of,
    head_of,
    needs_the_library,
)
from nodrop.client.waits import actual_wait
from nodrop.core.commands import (
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
    Send,
    Settle,
    Wait,
)
from nodrop.core.flow import RequestFlow
from nodrop.core.pour import Pour
from nodrop.errors import ConfigurationError

Item = TypeVar("Item")
_Result = TypeVar("_Result")


class AsyncDriver(Generic[Item]):
    """Drives one flow. One consumer task; ``abort`` from any thread or task. ``signals`` are what else may abort it.

    One task at a time drives the flow (``_busy``; a lock would cost a coroutine or two an event). ``home`` is called in
    it and checks the event loop.
    """

    def __init__(
        self,
        flow: RequestFlow[Item],
        http: Any,
        outgoing: Outgoing,
        signals: tuple[AbortSignal, ...],
        on_wait: Callable[[Wait], None],
        on_end: Callable[[], None],
        home: Callable[[], None],
    ) -> None:
        self.flow = flow
        self._loop: asyncio.AbstractEventLoop | None = None
        self._run = flow.run()
        self._http = http
        self._outgoing = outgoing
        self._on_wait = on_wait
        self._on_end = on_end
        self._home = home
        self._pid = os.getpid()
        self._signal = AbortSignal()
        self._unlinks = [signal.on_abort(self._signal.abort) for signal in signals]
        self._busy = False
        self._freed: asyncio.Event | None = None
        self._begun = False
        self._ended = False
        self._rest: list[Item] = []
        self._reply: Reply = None
        self._pour: Pour[Item] | None = None
        self._sender: AsyncSender | None = None
        self._response: Any = None
        self._body: AsyncIterator[bytes] | None = None
        self._alarm = Alarm()

    @property
    def holds_connection(self) -> bool:
        """Whether something must still be closed, by this process."""
        return (self._response is not None or self._sender is not None) and os.getpid() == self._pid

    def abort(self) -> None:
        """Ends the request; ``next_items`` then gives the terminal item with what had arrived."""
        self._signal.abort()

    async def next_items(self) -> list[Item] | None:
        """The next items, or ``None`` after the last ones."""
        if os.getpid() != self._pid:
            raise ConfigurationError(AFTER_FORK)
        if self._busy:
            await self._until_free()
        self._busy = True
        try:
            if self._rest:
                items, self._rest = self._rest, []
                return items
            if self._pour is not None and (items := await self._poured(self._pour)):
                return items
            return await self._until_items()
        except BaseException:
            await self._drop()  # cancelled, or a hook of the caller's failed: what is open is closed at once
            raise
        finally:
            self._busy = False
            if self._freed is not None:
                self._freed.set()
                self._freed = None

    async def close(self) -> None:
        """Ends the request if it is under way, and lets its connection go. What nobody has taken can still be."""
        if os.getpid() != self._pid:
            return  # the connection is the parent's
        if not self.flow.over:
            self.abort()
        kept: list[Item] = []  # apart, because next_items gives out what is left over
        try:
            while (items := await self.next_items()) is not None:
                kept += items
        finally:
            self._rest = kept + self._rest

    def forget(self) -> None:
        """Closes what nobody reads any more; called by a finalizer, in any thread."""
        for unlink in self._unlinks:
            unlink()
        if not self.holds_connection or self._loop is None:
            return
        try:
            self._loop.call_soon_threadsafe(_close_later, self)
        except RuntimeError:
            return  # the loop is closed, and with it the connection

    async def _until_free(self) -> None:
        while self._busy:
            if self._freed is None:
                self._freed = asyncio.Event()
            await self._freed.wait()

    async def _until_items(self) -> list[Item] | None:
        if self._ended:
            return None
        if self._loop is None:
            self._home()
            self._loop = asyncio.get_running_loop()
            self._signal.on_abort(self._wake)
        while True:
            # A cancellation while a command is carried out ends the request.
            reply, self._reply = self._reply, (ABORTED if self._begun else None)
            try:
                command = self._run.send(reply)
                self._begun = True
            except StopIteration:
                await self._finish()
                return None
            except BaseException:
                self._rest += self.flow.abandon()
                await self._finish()
                raise
            match command:
                case Emit():
                    self._reply = None
                    return command.items
                case Read():
                    self._reply = await self._bounded(self._next_bytes, command.deadline)
                case Pour():
                    if items := await self._poured(command):
                        return items
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

    async def _poured(self, pour: Pour[Item]) -> list[Item]:
        """The next items of the body; none when it is over, and then the flow has its reply."""
        self._pour = None  # a cancellation in the middle of a read ends it
        sink = pour.sink
        reply: Reply = None
        failure: Exception | None = None
        while not self._signal.aborted:
            pour.due()
            try:  # as _bounded does; one coroutine less for each event
                reply = await self._alarm.wait(self._next_bytes, pour.deadline)
            except Exception as error:  # noqa: BLE001 - sorted by family; what is not the transport's is raised again
                failure = error
                break
            if not isinstance(reply, bytes):
                break
            items = sink.feed(reply)
            if sink.finished or sink.error is not None:
                self._reply = None
                return items
            if items:
                self._pour = pour
                return items
        else:
            reply = ABORTED
        self._reply = reply if failure is None else self._reply_to(failure)
        return []

    async def _finish(self) -> None:
        self._ended = True
        for unlink in self._unlinks:
            unlink()
        self._on_end()
        await self._drop()

    # ---- commands ----

    async def _send(self, deadline: float) -> Head | Broken | Expired | Aborted:
        if self._signal.aborted:
            return ABORTED
        check_open(self._http)
        sender = self._sender = AsyncSender(self._http, self._outgoing)
        outcome = await self._bounded(sender.response, deadline)
        if isinstance(outcome, Broken | Expired | Aborted):
            return outcome
        self._response = outcome
        self._sender = None
        close_whole(outcome)
        self._body = outcome.aiter_bytes() if needs_the_library(outcome) else outcome.aiter_raw()
        return head_of(outcome)

    def _next_bytes(self) -> Awaitable[bytes | End]:
        if self._body is None:
            raise LookupError("a read before the head of the response")
        return anext(self._body, END)

    async def _wait(self, command: Wait) -> Aborted | None:
        self._on_wait(command)
        seconds = actual_wait(command.seconds)
        outcome = await self._bounded(lambda: asyncio.sleep(seconds), time.monotonic() + seconds + 1.0)
        return ABORTED if isinstance(outcome, Aborted) else None

    async def _settle(self) -> None:
        """Reads the few bytes after the end, so that the connection can be used again; never waits for them long."""
        body = self._body
        if body is not None:
            await self._bounded(lambda: _read_rest(body), time.monotonic() + SETTLE_SECONDS)
        await self._drop()

    async def _drop(self) -> None:
        self._alarm.stop()
        self._body = None
        if self._sender is not None:
            await self._sender.leave()
            self._sender = None
        if self._response is not None:
            await self._response.aclose()
            self._response = None

    async def _bounded(
        self, start: Callable[[], Awaitable[_Result]], deadline: float
    ) -> _Result | Broken | Expired | Aborted:
        """Waits until the result, the deadline or the abort, whichever is first."""
        if self._signal.aborted:
            return ABORTED
        failure: Exception
        try:
            return await self._alarm.wait(start, deadline)
        except Exception as error:  # noqa: BLE001 - sorted by family; what is not the transport's is raised again
            failure = error
        return self._reply_to(failure)

    def _reply_to(self, failure: Exception) -> Broken | Expired | Aborted:
        """What a failed wait is to the flow. Raises what is not the transport's: of a caller's hook, or a bug."""
        if self._signal.aborted:
            return ABORTED
        if isinstance(failure, TimeoutError):
            return Expired()
        known = failure_of(failure)
        if known is None:
            raise failure
        return known

    def _wake(self) -> None:
        """Called by the abort, in any thread."""
        if self._loop is not None:
            try:
                self._loop.call_soon_threadsafe(self._alarm.ring)
            except RuntimeError:
                return  # the loop is closed: nothing of this request waits any more


async def _read_rest(body: AsyncIterator[bytes]) -> None:
    left = SETTLE_BYTES
    async for block in body:
        left -= len(block)
        if left < 0:
            return


def _close_later(driver: AsyncDriver[Any]) -> None:
    in_background(driver.close())
