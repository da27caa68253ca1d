"""Carries out the commands of one request's flow, blocking. Any thread may abort it.

The caller's thread reads the body itself; the abort, or a deadline that the transport's own timeout does not cover,
shuts the socket down under the read. Before the response head there is no such handle on a pooled connection: a
daemon thread sends, while the caller waits for it, for the abort or for the deadline; left alone, it closes what comes
late. Connections that were opened for us are watched for which of them a sender writes to, so that it can be woken.
"""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, Generic, TypeVar

from nodrop.client.abort import AbortSignal
from nodrop.client.outgoing import Outgoing
from nodrop.client.transport import failure_of, head_of, is_encoded, shut_down
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
_SETTLE_SECONDS: Final = 0.1
_SETTLE_BYTES: Final = 65536


class SyncDriver(Generic[Item]):
    """Drives one flow. One consumer; ``abort`` from any thread."""

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
        self._run = flow.run()
        self._http = http
        self._outgoing = outgoing
        self._on_wait = on_wait
        self._signal = AbortSignal()
        self._unlink = signal.on_abort(self._signal.abort) if signal is not None else _nothing
        self._reply: Reply = None
        self._response: Any = None
        self._body: Iterator[bytes] = iter(())
        self._watch = _Watchdog()
        self._last_deadline = 0.0

    def abort(self) -> None:
        """Ends the request; ``next_items`` then gives the terminal item with what had arrived."""
        self._signal.abort()

    def next_items(self) -> list[Item] | None:
        """The next items, or ``None`` after the last ones."""
        if self.ended:
            return None
        self.started = True
        while True:
            reply, self._reply = self._reply, ABORTED  # an interrupt while a command is carried out counts as an abort
            try:
                command = self._run.send(reply)
            except StopIteration:
                self._finish()
                return None
            except BaseException:
                self._finish()
                raise
            match command:
                case Emit():
                    self._reply = None
                    return command.items
                case Read():
                    self._reply = self._read(command.deadline)
                case Send():
                    self._reply = self._send(command.deadline)
                case Wait():
                    self._reply = self._wait(command)
                case Settle():
                    self._settle()
                    self._reply = None
                case Drop():
                    self._drop()
                    self._reply = None

    def close(self) -> None:
        """Ends the request if it is under way, and lets its connection go."""
        if not self.ended:
            self.abort()
            while self.next_items() is not None:
                pass

    def _finish(self) -> None:
        self.ended = True
        self._drop()
        self._unlink()

    # ---- commands ----

    def _send(self, deadline: float) -> Head | Broken | Expired | Aborted:
        if self._signal.aborted:
            return ABORTED
        sender = _Sender(self._http, self._outgoing)
        unlink = self._signal.on_abort(sender.wake)
        try:
            sender.start()
            sender.wait(deadline - time.monotonic())
        except BaseException:
            late, _ = sender.take()
            if late is not None:
                late.close()
            raise
        finally:
            unlink()
        response, error = sender.take()
        if error is not None:
            if self._signal.aborted:
                return ABORTED
            return _failure_or_raise(error)
        if response is None:
            return ABORTED if self._signal.aborted else Expired()
        self._response = response
        self._body = response.iter_bytes() if is_encoded(response) else response.iter_raw()
        self._watch.over(response.extensions.get("network_stream"), self._signal)
        return head_of(response)

    def _read(self, deadline: float) -> bytes | End | Broken | Expired | Aborted:
        if self._signal.aborted:
            return ABORTED
        # The transport's read timeout is the silence, so it covers a deadline that moved with the last event. One
        # that did not move (a comment came, or the total is near) needs the watchdog.
        if deadline == self._last_deadline or deadline - time.monotonic() < self._outgoing.timeout[1] - 0.05:
            self._watch.until(deadline)
        self._last_deadline = deadline
        failure: Exception
        try:
            return next(self._body)
        except StopIteration:
            return self._interrupted() or END
        except Exception as error:  # noqa: BLE001 - sorted by family below; what is not the transport's is raised again
            failure = error
        return self._interrupted() or _failure_or_raise(failure)

    def _wait(self, command: Wait) -> Aborted | None:
        self._on_wait(command)
        woken = threading.Event()
        unlink = self._signal.on_abort(woken.set)
        woken.wait(actual_wait(command.seconds))
        unlink()
        return ABORTED if self._signal.aborted else None

    def _settle(self) -> None:
        """Reads the few bytes after the end, so that the connection can be used again; never waits for them long."""
        self._watch.until(time.monotonic() + _SETTLE_SECONDS)
        left = _SETTLE_BYTES
        try:
            for block in self._body:
                left -= len(block)
                if left < 0:
                    break
        except Exception as error:  # noqa: BLE001 - as above
            _failure_or_raise(error)  # the answer is whole: a connection that breaks now is only not used again
        self._drop()

    def _drop(self) -> None:
        self._watch.stop()
        response, self._response = self._response, None
        self._body = iter(())
        if response is not None:
            response.close()

    def _interrupted(self) -> Aborted | Expired | None:
        if self._signal.aborted:
            return ABORTED
        return Expired() if self._watch.expired else None


def _nothing() -> None:
    return None


def _failure_or_raise(error: BaseException) -> Broken | Expired:
    failure = failure_of(error) if isinstance(error, Exception) else None
    if failure is None:
        raise error  # not the transport's: a hook of the caller's client, or a bug
    return failure


class _Sender:
    """Sends in a daemon thread of its own. State under the lock: the outcome, and whether anyone still wants it."""

    _of_thread = threading.local()

    def __init__(self, http: Any, outgoing: Outgoing) -> None:
        self._http = http
        self._request = http.build_request(
            "POST",
            outgoing.url,
            headers=outgoing.headers,
            content=outgoing.body,
            timeout=outgoing.timeout,
            extensions={"trace": _track_new_connections},
        )
        self._lock = threading.Lock()
        self._woken = threading.Event()
        self._response: Any = None
        self._error: BaseException | None = None
        self._taken = False
        self.stream: Any = None  # the connection that this sender writes to

    def start(self) -> None:
        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(self._send,), name="nodrop-send", daemon=True).start()

    def wake(self) -> None:
        self._woken.set()

    def wait(self, seconds: float) -> None:
        self._woken.wait(max(seconds, 0.0))

    def take(self) -> tuple[Any, BaseException | None]:
        """The outcome if there is one; else the sender is left alone and woken, so that it ends soon."""
        with self._lock:
            self._taken = True
            response, error = self._response, self._error
        if response is None and error is None:
            shut_down(self.stream)
        return response, error

    def _send(self) -> None:
        self._of_thread.sender = self
        try:
            response = self._http.send(self._request, stream=True)
        except BaseException as error:  # noqa: BLE001 - it is raised again in the thread that waits for it
            with self._lock:
                self._error = error
        else:
            with self._lock:
                unwanted = self._taken
                self._response = response
            if unwanted:
                response.close()
        finally:
            self._of_thread.sender = None
            self._woken.set()

    @classmethod
    def now_writing_to(cls, stream: Any) -> None:
        sender: _Sender | None = getattr(cls._of_thread, "sender", None)
        if sender is not None:
            sender.stream = stream


def _track_new_connections(name: str, info: dict[str, Any]) -> None:
    """httpcore's ``trace`` extension: called with each connection that is opened for one of our requests.

    A request is written before its head is awaited. So each write tells its sender which connection it waits on, also
    later, when the connection is used again, of which no trace event tells.
    """
    stream: Any = info.get("return_value")
    if not name.endswith(".complete") or not hasattr(stream, "get_extra_info"):
        return
    write = stream.write

    def tracked(*args: Any, **kwargs: Any) -> Any:
        _Sender.now_writing_to(stream)
        return write(*args, **kwargs)

    stream.write = tracked


class _Watchdog:
    """Shuts a connection down at a deadline or at the abort. State: its deadline, and whether it has passed."""

    def __init__(self) -> None:
        self.expired = False
        self._stream: Any = None
        self._unlink: Callable[[], None] = _nothing
        self._deadline = 0.0
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()

    def over(self, network_stream: Any, signal: AbortSignal) -> None:
        """Watches a connection from now on."""
        self.expired = False
        self._stream = network_stream
        self._unlink = signal.on_abort(self._shut_down)

    def until(self, deadline: float) -> None:
        """Sets the deadline. A timer that runs already is left: it looks again when it fires."""
        with self._lock:
            earlier = deadline < self._deadline
            self._deadline = deadline
            if self._timer is not None and earlier:
                self._timer.cancel()
                self._timer = None
            if self._timer is None:
                self._start()

    def stop(self) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            self._stream = None
        self._unlink()
        self._unlink = _nothing

    def _start(self) -> None:
        self._timer = threading.Timer(max(self._deadline - time.monotonic(), 0.0), self._fire)
        self._timer.daemon = True
        self._timer.start()

    def _fire(self) -> None:
        with self._lock:
            if self._timer is not threading.current_thread():
                return  # stopped, or replaced by an earlier one
            if time.monotonic() < self._deadline:
                self._start()
                return
            self.expired = True
        self._shut_down()

    def _shut_down(self) -> None:
        shut_down(self._stream)
