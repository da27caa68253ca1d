"""One accepted socket, read and written so that the client's leaving and the server's closing end every wait.

Rules:
- The socket never blocks; all waiting is in :meth:`Channel._wait`, which also watches the server's alarm.
- The client has left when its end of input arrives, half-closed or not: HTTP clients do not half-close.
- What a client sends before it is asked for it is kept for :meth:`Channel.receive`.
- With ``ignore_close`` set, leaving is reported once and then ignored: writes go on, pauses last their time.
"""

from __future__ import annotations

import os
import selectors
import socket
import struct
import threading
import time
from collections.abc import Callable

_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
# How long a pause may take to notice an event set by another thread; the sockets wake it at once.
_EVENT_POLL = 0.002


class ClientLeft(Exception):
    """The client closed or reset the connection."""


class ServerClosing(Exception):
    """The server is being closed."""


class Alarm:
    """Wakes every wait of a server, for good, when it is rung."""

    def __init__(self) -> None:
        self.rung = threading.Event()
        self.receiver, self._sender = socket.socketpair()

    def ring(self) -> None:
        """Ends all present and future waits. May be called again."""
        if not self.rung.is_set():
            self.rung.set()
            self._sender.send(b"!")

    def wait_for(self, readable: socket.socket) -> bool:
        """Waits until the socket has something to read: True; or until the alarm is rung: False."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.receiver, _READ)
            selector.register(readable, _READ)
            selector.select()
        return not self.rung.is_set()

    def close(self) -> None:
        """Frees the sockets; nobody may wait any more."""
        self.receiver.close()
        self._sender.close()


class Channel:
    """The server's side of one connection."""

    def __init__(self, connection: socket.socket, alarm: Alarm) -> None:
        self.ignore_close = False
        self.client_left = False
        self.on_client_left: Callable[[], None] | None = None
        """Called once, when the client's leaving is noticed."""
        self._socket = connection
        self._alarm = alarm
        self._early = bytearray()
        self._broken = False
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._selector = selectors.DefaultSelector()
        self._selector.register(alarm.receiver, _READ)
        self._watched = 0

    # ---- reading ----

    def receive(self) -> bytes:
        """The next bytes from the client; ``b""`` when it has left. Raises ServerClosing."""
        while not self._early and not self.client_left:
            self._wait(None)
            self._read()
        data = bytes(self._early)
        self._early.clear()
        return data

    def _read(self) -> None:
        if self.client_left:
            return
        try:
            data = self._socket.recv(65536)
        except BlockingIOError:
            return
        except ConnectionError:  # a reset is a way to leave
            data = b""
        if data:
            self._early += data
        else:
            self._leave()

    def _leave(self) -> None:
        if not self.client_left:
            self.client_left = True
            if self.on_client_left is not None:
                self.on_client_left()

    def _notice(self) -> None:
        """Raises, without waiting, ServerClosing or ClientLeft (unless ignored) if there is reason to."""
        if self._alarm.rung.is_set():
            raise ServerClosing
        self._read()
        if self.client_left and not self.ignore_close:
            raise ClientLeft

    # ---- writing and waiting ----

    def send(self, data: bytes) -> None:
        """Hands all of `data` to the system. Raises ClientLeft (unless ignored) and ServerClosing."""
        self._notice()
        rest = memoryview(data)
        while rest and not self._broken:
            try:
                rest = rest[self._socket.send(rest) :]
            except BlockingIOError:
                self._wait(None, to_write=True)
                self._notice()
            except ConnectionError:
                self._broken = True
                self._leave()
                self._notice()

    def pause(self, seconds: float | None, until: threading.Event | None = None) -> None:
        """Waits for `seconds` (None: for ever), at most until the event is set. Raises as :meth:`send`."""
        end = None if seconds is None else time.monotonic() + seconds
        self._notice()
        while until is None or not until.is_set():
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return
            if until is not None:
                left = _EVENT_POLL if left is None else min(left, _EVENT_POLL)
            self._wait(left)
            self._notice()

    def _wait(self, seconds: float | None, *, to_write: bool = False) -> None:
        """Waits for the alarm, for something to read (unless the client has left), or for room to write if so asked."""
        self._watch((0 if self.client_left else _READ) | (_WRITE if to_write else 0))
        self._selector.select(seconds)
        if self._alarm.rung.is_set():
            raise ServerClosing

    def _watch(self, events: int) -> None:
        if events == self._watched:
            return
        if self._watched == 0:
            self._selector.register(self._socket, events)
        elif events == 0:
            self._selector.unregister(self._socket)
        else:
            self._selector.modify(self._socket, events)
        self._watched = events

    # ---- the end ----

    def close(self) -> None:
        """Closes the connection (FIN). May be called again."""
        self._selector.close()
        self._socket.close()

    def reset(self) -> None:
        """Closes the connection with a reset (RST)."""
        # Lingering for no time at all is the portable way to say it; the struct is shorter on Windows.
        layout = "hh" if os.name == "nt" else "ii"
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack(layout, 1, 0))
        self.close()
