"""Carries out the commands of one request's flow, blocking. Any thread may abort it.

The caller's thread reads the body itself; an abort, or a deadline that the transport's own timeout does not cover,
shuts the socket down under the read (:mod:`nodrop.client.guard`). Before the response head there is no such handle on a
pooled connection: a daemon thread sends (:mod:`nodrop.client.sender`), while the caller waits for it, for the abort or
for the deadline.

State: whatever holds a connection is in ``_sender`` or ``_response`` before it can be lost, and leaves them only when
it is closed; so an interrupt between any two lines leaks nothing. ``_turn`` is held by whoever drives the flow.
"""

from __future__ import annotations

import _thread
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from nodrop.client.abort import AbortSignal
from nodrop.client.guard import Guard
from nodrop.client.outgoing import Outgoing
from nodrop.client.sender import Sender
from nodrop.client.transport import (
    AFTER_FORK,
    SETTLE_BYTES,
    SETTLE_SECONDS,
    check_open,
    check_unshared,
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


class SyncDriver(Generic[Item]):
    """Drives one flow. One consumer; ``abort`` from any thread. ``signals`` are what else may abort it."""

    def __init__(
        self,
        flow: RequestFlow[Item],
        http: Any,
        outgoing: Outgoing,
        signals: tuple[AbortSignal, ...],
        on_wait: Callable[[Wait], None],
        on_end: Callable[[], None],
    ) -> None:
        self.flow = flow
        self._run = flow.run()
        self._http = http
        self._outgoing = outgoing
        self._on_wait = on_wait
        self._on_end = on_end
        self._pid = os.getpid()
        self._signal = AbortSignal()
        self._guard = Guard()
        self._signal.on_abort(self._guard.wake)
        self._unlinks = [signal.on_abort(self._signal.abort) for signal in signals]
        self._turn = threading.RLock()
        self._driven_by = 0
        self._begun = False
        self._ended = False
        self._rest: list[Item] = []
        self._reply: Reply = None
        self._pour: Pour[Item] | None = None
        self._sender: Sender | None = None
        self._response: Any = None
        self._body: Iterator[bytes] = iter(())

    @property
    def holds_connection(self) -> bool:
        """Whether something must still be closed, by this process."""
        return (self._response is not None or self._sender is not None) and os.getpid() == self._pid

    def abort(self) -> None:
        """Ends the request; ``next_items`` then gives the terminal item with what had arrived."""
        self._signal.abort()

    def next_items(self) -> list[Item] | None:
        """The next items, or ``None`` after the last ones."""
        if os.getpid() != self._pid:
            raise ConfigurationError(AFTER_FORK)
        with self._turn:
            items = [] if self._rest else self._driven()
            if self._rest:  # looked at afterwards too: a signal handler may have called close() meanwhile
                items, self._rest = [*(items or ()), *self._rest], []
            return items

    def close(self) -> None:
        """Ends the request if it is under way, and lets its connection go. What nobody has taken can still be."""
        if os.getpid() != self._pid:
            return  # the connection is the parent's
        if not self.flow.over:
            self.abort()
        if self._driven_by == threading.get_ident():
            return  # from a signal handler, in the middle of next_items, which now comes to its end
        with self._turn:
            while (items := self._driven()) is not None:
                self._rest += items

    def leave(self) -> None:
        """``close`` at the end of a ``with`` block, which cannot be in the middle of ``next_items``."""
        self._driven_by = 0
        self.close()

    def forget(self) -> None:
        """Closes what nobody reads any more; called by a finalizer.

        That may run in any thread, in the middle of any code, also while it holds a lock that closing needs (the
        pool's, or one of ``threading``). So the closing is left to another thread, and that one starts a second,
        because a thread that was not started by ``threading`` leaves a trace there for ever when it logs.
        """
        for unlink in self._unlinks:
            unlink()
        if self.holds_connection:
            self.abort()
            closer = threading.Thread(target=self.close, name="nodrop-close", daemon=True)
            try:
                _thread.start_new_thread(closer.start, ())
            except RuntimeError:
                return  # the interpreter ends, and with it the connection

    def _driven(self) -> list[Item] | None:
        if self._ended:
            return None
        try:
            self._driven_by = threading.get_ident()
            if self._pour is not None and (items := self._poured(self._pour)):
                return items
            return self._until_items()
        except BaseException:
            self._drop()
            raise
        finally:
            self._driven_by = 0

    def _until_items(self) -> list[Item] | None:
        while True:
            # An interrupt while a command is carried out counts as an abort.
            reply, self._reply = self._reply, (ABORTED if self._begun else None)
            try:
                command = self._run.send(reply)
                self._begun = True
            except StopIteration:
                self._finish()
                return None
            except BaseException:
                self._rest += self.flow.abandon()
                self._finish()
                raise
            match command:
                case Emit():
                    self._reply = None
                    return command.items
                case Read():
                    self._reply = self._read(command)
                case Pour():
                    if items := self._poured(command):
                        return items
                case Send():
                    self._reply = self._send(command)
                case Wait():
                    self._reply = self._wait(command)
                case Settle():
                    self._settle()
                    self._reply = None
                case Drop():
                    self._drop()
                    self._reply = None

    def _poured(self, pour: Pour[Item]) -> list[Item]:
        """The next items of the body; none when it is over, and then the flow has its reply."""
        self._pour = None  # an interrupt in the middle of a read ends it
        sink = pour.sink
        while True:
            pour.due()
            reply = self._read(pour)
            if not isinstance(reply, bytes):
                self._reply = reply
                return []
            items = sink.feed(reply)
            if sink.finished or sink.error is not None:
                self._reply = None
                return items
            if items:
                self._pour = pour
                return items

    def _finish(self) -> None:
        self._ended = True
        self._drop()
        for unlink in self._unlinks:
            unlink()
        self._on_end()

    # ---- commands ----

    def _send(self, command: Send) -> Head | Broken | Expired | Aborted:
        if self._signal.aborted:
            return ABORTED
        check_open(self._http)
        sender = self._sender = Sender(self._http, self._outgoing)
        unlink = self._signal.on_abort(sender.wake)
        try:
            sender.start()
            phase = sender.wait(command.connect_by, command.deadline)
        finally:
            unlink()
        response, error = sender.outcome()
        if self._signal.aborted:
            return ABORTED
        if error is not None:
            return _failure_or_raise(error)
        if response is None:
            return Expired(phase)
        self._response = response
        self._sender = None
        check_unshared(response)
        self._close_guarded(response)
        self._body = response.iter_bytes() if needs_the_library(response) else response.iter_raw()
        return head_of(response)

    def _close_guarded(self, response: Any) -> None:
        """Makes the response let go of its connection before it closes, which it does by itself at its last byte."""
        close = response.close

        def let_go_and_close() -> None:
            self._guard.let_go()
            close()

        response.close = let_go_and_close
        self._guard.hold(response.extensions.get("network_stream"))
        if self._signal.aborted:
            self._guard.wake()  # the abort came before the guard had anything to wake

    def _read(self, command: Read | Pour[Item]) -> bytes | End | Broken | Expired | Aborted:
        if self._signal.aborted:
            return ABORTED
        # The transport's read timeout is the silence, so it covers a deadline that has moved with the last event. One
        # that did not move (a comment came, or half an event), or that the total timeout cut short, needs the guard.
        self._guard.deadline = command.deadline
        if not command.full:
            self._guard.watch()
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
        woken: queue.SimpleQueue[None] = queue.SimpleQueue()  # its put is safe in a signal handler, Event.set is not
        unlink = self._signal.on_abort(lambda: woken.put(None))
        try:
            woken.get(timeout=actual_wait(command.seconds))
        except queue.Empty:
            pass
        finally:
            unlink()
        return ABORTED if self._signal.aborted else None

    def _settle(self) -> None:
        """Reads the few bytes after the end, so that the connection can be used again; never waits for them long."""
        self._guard.deadline = time.monotonic() + SETTLE_SECONDS
        self._guard.watch()
        left = SETTLE_BYTES
        try:
            for block in self._body:
                left -= len(block)
                if left < 0:
                    break
        except Exception as error:  # noqa: BLE001 - as above
            _failure_or_raise(error)  # the answer is whole: a connection that breaks now is only not used again
        self._drop()

    def _drop(self) -> None:
        if self._sender is not None:
            self._sender.leave()
            self._sender = None
        if self._response is not None:
            self._response.close()
            self._response = None
        self._guard.let_go()
        self._body = iter(())

    def _interrupted(self) -> Aborted | Expired | None:
        if self._signal.aborted:
            return ABORTED
        return Expired() if self._guard.expired else None


def _failure_or_raise(error: BaseException) -> Broken | Expired:
    failure = failure_of(error) if isinstance(error, Exception) else None
    if failure is None:
        raise error  # not the transport's: a hook of the caller's client, or a bug
    return failure
