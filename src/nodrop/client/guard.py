"""Ends a blocked read by shutting its socket down, at an abort or at a deadline, and never anybody else's.

The connection is the guard's only from the head of a response until it is let go, which is before it goes back to the
pool, where another request may take it at once. State under the lock: the connection, and the timer with its deadline.
The lock is re-entrant: an abort may come from a signal handler, in the middle of the guard's own code.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Any

from nodrop.client.transport import shut_down


class Guard:
    """Of one request; ``wake`` from any thread, the rest by its consumer."""

    def __init__(self) -> None:
        self.expired = False
        """Whether the deadline passed, and the connection was shut down for it."""
        self._lock = threading.RLock()
        self._stream: Any = None
        self._pid = os.getpid()
        self.deadline = 0.0
        """Until when the next read may take, on the monotonic clock. Kept once ``watch`` was called."""
        self._timer: threading.Timer | None = None
        self._fires_at = 0.0

    def hold(self, network_stream: Any) -> None:
        """The connection is this request's from now on."""
        with self._lock:
            self.expired = False
            self._stream = network_stream

    def let_go(self) -> None:
        """From now on the connection may be another request's. May be called again."""
        with self._lock:
            self._stream = None
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def wake(self) -> None:
        """Ends the read that is blocked on the connection, if there is one."""
        if os.getpid() != self._pid:
            return  # after a fork the socket is the parent's too, and it may be in the middle of an answer
        with self._lock:
            shut_down(self._stream)

    def watch(self) -> None:
        """Keeps the deadline from now on. A timer that runs is not touched: it looks again when it fires."""
        if self._timer is not None and self._fires_at <= self.deadline:
            return
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._start()

    def _start(self) -> None:
        self._fires_at = self.deadline
        self._timer = threading.Timer(max(self.deadline - time.monotonic(), 0.0), self._fire)
        self._timer.name = "nodrop-deadline"
        self._timer.daemon = True
        self._timer.start()

    def _fire(self) -> None:
        with self._lock:
            if self._timer is not threading.current_thread():
                return  # let go meanwhile, or replaced by an earlier one
            if time.monotonic() < self.deadline:
                self._start()
                return
            self._timer = None
            self.expired = True
            shut_down(self._stream)
