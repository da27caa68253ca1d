"""Sends one request from a daemon thread of its own, so that whoever waits for the head can leave at any moment.

Before the head there is no handle on the connection. So the connections that are opened for us are watched (httpcore's
``trace`` extension) for which of them a sender writes to: it is shut down when the sender is left. One that is still
connecting ends with the connect timeout, and closes what comes late.
"""

from __future__ import annotations

import contextvars
import queue
import threading
import time
from typing import Any, Final, Literal

from nodrop.client.outgoing import Outgoing
from nodrop.client.transport import shut_down

_CONNECTING: Final = (".connect_tcp.started", ".connect_unix_socket.started")


class _LeftError(OSError):
    """Nobody waits for the answer any more: it is not even asked for."""


class Sender:
    """State under the lock: the outcome, whether anyone still wants it, and the connection that it writes to.

    That connection is the sender's from its first write until the response on it is closed (the sender may follow a
    redirect) or handed over.
    """

    _of_thread = threading.local()

    def __init__(self, http: Any, outgoing: Outgoing) -> None:
        self._http = http
        self._outgoing = outgoing
        self._news: queue.SimpleQueue[None] = queue.SimpleQueue()  # its put is safe in signal handlers
        self._lock = threading.Lock()
        self._response: Any = None
        self._error: BaseException | None = None
        self._left = False
        self._stream: Any = None
        self._shared = False
        self._connecting = False

    # ---- the side that waits ----

    def start(self) -> None:
        """Begins to send."""
        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(self._send,), name="nodrop-send", daemon=True).start()

    def wake(self) -> None:
        """Ends the wait, from anywhere."""
        self._news.put(None)

    def wait(self, connect_by: float, deadline: float) -> Literal["connect"] | None:
        """Waits for the outcome or to be woken; ``"connect"`` when there is no connection at ``connect_by``."""
        if self._woken_until(connect_by):
            return None
        if self._connecting and self._stream is None:
            return "connect"  # a name that does not resolve is under no timeout of the transport
        self._woken_until(deadline)
        return None

    def _woken_until(self, moment: float) -> bool:
        try:
            self._news.get(timeout=max(moment - time.monotonic(), 0.0))
        except queue.Empty:
            return False
        return True

    def outcome(self) -> tuple[Any, BaseException | None]:
        """The response or what was raised, if either is there yet."""
        with self._lock:
            return self._response, self._error

    def leave(self) -> None:
        """Nobody wants the outcome any more: what is there is closed, what comes late will be. May be called again."""
        with self._lock:
            self._left = True
            response = self._response
            if response is None and not self._shared:
                shut_down(self._stream)
        if response is not None:
            response.close()

    # ---- the thread ----

    def _send(self) -> None:
        self._of_thread.sender = self
        outgoing = self._outgoing
        try:
            request = self._http.build_request(
                "POST",
                outgoing.url,
                headers=outgoing.headers,
                content=outgoing.body,
                timeout=outgoing.timeout,
                extensions={"trace": self._observe},
            )
            response = self._http.send(request, stream=True)
        except BaseException as error:  # noqa: BLE001 - it is raised again in the thread that waits for it
            with self._lock:
                self._error, self._stream = error, None
        else:
            with self._lock:
                left = self._left
                self._response, self._stream = response, None
            if left:
                response.close()
        finally:
            self._of_thread.sender = None
            self._news.put(None)

    def _saw(self, name: str, info: dict[str, Any]) -> None:
        found: Any = info.get("return_value")
        if name.startswith("http2."):
            self._shared = True  # other requests are on the connection: it is not ours to shut down
        if name.endswith(_CONNECTING):
            self._connecting = True
        elif name.endswith(".response_closed.started"):
            with self._lock:
                self._stream = None
        elif name.endswith(".complete") and hasattr(found, "get_extra_info"):
            self._track_writes(found)

    def _writes_to(self, stream: Any) -> None:
        with self._lock:
            if self._left:
                raise _LeftError
            self._stream = stream

    @staticmethod
    def _observe(name: str, info: dict[str, Any]) -> None:
        """httpcore's ``trace`` extension: what happens to a request of ours, in the thread in which it happens."""
        sender: Sender | None = getattr(Sender._of_thread, "sender", None)
        if sender is not None:
            sender._saw(name, info)

    @staticmethod
    def _track_writes(stream: Any) -> None:
        """Each write to a connection tells its sender; also when it is used again, of which no trace event tells."""
        write = stream.write

        def tracked(*args: Any, **kwargs: Any) -> Any:
            sender: Sender | None = getattr(Sender._of_thread, "sender", None)
            if sender is not None:
                sender._writes_to(stream)
            return write(*args, **kwargs)

        stream.write = tracked
