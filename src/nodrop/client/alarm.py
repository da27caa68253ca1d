"""Ends a task's wait, at a deadline or when it is rung: what ``asyncio.timeout`` does, once for a whole request.

A timeout of its own for each read costs more than the read. Here one timer runs, and looks at the latest deadline when
it fires; a wait only notes its task and its deadline. The cancellation is taken back with ``uncancel``, so that one
from outside, even at the same moment, stays what it is.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

_Result = TypeVar("_Result")


class Alarm:
    """Of one request, in one event loop; one task waits at a time. Deadlines are on ``time.monotonic``."""

    def __init__(self) -> None:
        self._task: asyncio.Task[object] | None = None
        self._before = 0
        self._rang = False
        self._deadline = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._fires_at = 0.0

    async def wait(self, start: Callable[[], Awaitable[_Result]], deadline: float) -> _Result:
        """The result of what ``start`` gives. Raises :class:`TimeoutError` at the deadline, or when rung before it."""
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a wait outside of a task")
        self._deadline = deadline
        if self._timer is None or self._fires_at > deadline:
            self._arm()
        before = self._before = task.cancelling()
        self._task = task
        try:
            return await start()
        except asyncio.CancelledError:
            if not self._rang:
                raise
            self._rang = False
            if task.uncancel() > before:
                raise  # cancelled from outside, too
        finally:
            self._task = None
            if self._rang:  # what was waited for ended in another way at the same moment
                self._rang = False
                task.uncancel()
        raise TimeoutError

    def ring(self) -> None:
        """Ends the wait that is under way, if there is one. In the event loop's thread."""
        if self._task is None or self._rang:
            return
        # A wait that is being cancelled ends anyway; a second cancellation would strike httpcore while it cleans up.
        if self._task.cancelling() <= self._before:
            self._rang = True
            self._task.cancel()

    def stop(self) -> None:
        """No wait follows: the timer is taken away."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self) -> None:
        self.stop()
        self._fires_at = self._deadline
        delay = max(self._deadline - time.monotonic(), 0.0)
        self._timer = asyncio.get_running_loop().call_later(delay, self._fire)

    def _fire(self) -> None:
        self._timer = None
        if time.monotonic() < self._deadline:
            self._arm()
        else:
            self.ring()
