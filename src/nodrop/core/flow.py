"""The life of one request, written once: send, read, decode, wait, try again, end.

It is a generator that yields commands and is sent replies; the sync and the async client are each a small loop that
carries them out. It reads the clock that it is given and draws from the random source that it is given; it never
waits, reads or sends itself.

    command                      reply
    Send(connect_by, deadline)   Head, or Broken / Expired / ABORTED
    Read(deadline)               bytes, END, or Broken / Expired / ABORTED
    Wait(seconds)                None, or ABORTED
    Pour(sink)                   what is no bytes, or None when the sink has ended; its items are for the consumer
    Emit(items)                  None; the items are for the consumer
    Settle()                     None; a good end: let the connection be used again if its last bytes are there already
    Drop()                       None; a bad one: close the connection

Rules: ``start`` is given out once, after the first 2xx head. After content has been given out nothing is sent again.
Whatever happens, the last thing given out is the terminal event, and its message holds what had arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Final, Generic, TypeAlias, TypeVar

from nodrop.core.commands import (
    ABORTED,
    END,
    Aborted,
    Broken,
    Command,
    Drop,
    Emit,
    Expired,
    Head,
    Read,
    Reply,
    Send,
    Settle,
    Wait,
)
from nodrop.core.pour import Pour
from nodrop.core.retry import GiveUp, RetryPolicy, after_failure
from nodrop.core.server_errors import error_from_response, read_said, request_id_of
from nodrop.core.sink import Sink
from nodrop.errors import (
    AbortedError,
    APIError,
    ConnectionFailed,
    ContextOverflowError,
    ErrorDetail,
    NodropError,
    Phase,
    RequestTimedOut,
    StatusError,
    StreamProtocolError,
)

Item = TypeVar("Item")
_Result = TypeVar("_Result")
Steps: TypeAlias = Generator[Command[Item] | Pour[Item], Reply, _Result]
_HIDDEN: Final = "[key]"
_EARLY: Final = 0.02  # a clock that ticks coarsely may wake us this much before the bound
_ERROR_BODY_BYTES: Final = 1024 * 1024
_WHOLE_BODY_BYTES: Final = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Bounds in seconds.

    ``connect``: reaching the server. ``silence``: no event, the wait for the head included; comments do not count.
    ``total``: the whole request, retries and all; ``None`` for no bound.
    """

    connect: float = 10.0
    silence: float = 300.0
    total: float | None = None


@dataclass(frozen=True, slots=True)
class Plan(Generic[Item]):
    """What one request needs: a fresh sink for each attempt, its bounds, and the sources of time and chance.

    ``clock`` is monotonic, in seconds; ``wall`` gives Unix seconds; ``chance`` gives numbers from 0 to 1. ``host`` and
    ``path`` are those of the URL, for errors. ``opening`` gives what is handed out first. ``secret`` is taken out of
    whatever a server repeats of it in an error; ``secret_from`` is the variable that it came from, if it did.
    """

    new_sink: Callable[[], Sink[Item]]
    opening: Callable[[], list[Item]]
    timeouts: Timeouts
    retries: RetryPolicy
    clock: Callable[[], float]
    wall: Callable[[], float]
    chance: Callable[[], float]
    host: str = "the server"
    path: str = ""
    secret_from: str = ""
    secret: str = field(default="", repr=False)


class RequestFlow(Generic[Item]):
    """One request. ``run`` is the generator; ``sink`` is that of the current attempt, ``error`` how it ended.

    ``over`` is true from the terminal item on: what happens to the transport after it changes nothing.
    ``refused`` is a local failure known before anything is sent: then the terminal item is all that comes.
    """

    def __init__(self, plan: Plan[Item], *, refused: NodropError | None = None) -> None:
        self.sink: Sink[Item] = plan.new_sink()
        self.error: NodropError | None = None
        self.attempts = 0
        self.over = False
        self._plan = plan
        self._refused = refused
        self._opened = False
        self._began = plan.clock()
        self._head: Head | None = None

    def run(self) -> Steps[Item, None]:
        """The commands of the whole life. Ends after the terminal item was emitted."""
        if self._refused is not None:
            yield from self._fail(self._refused)
            return
        while True:
            self.attempts += 1
            error = yield from self._attempt()
            if error is None:
                items = self.sink.done()
                self.over = True
                yield Emit(items)
                yield Settle()
                return
            yield Drop()
            self._hide_secret(error)
            decision = after_failure(
                error,
                attempt=self.attempts,
                delivered=self.sink.delivered,
                policy=self._plan.retries,
                jitter=self._plan.chance(),
            )
            if isinstance(decision, GiveUp):
                yield from self._fail(error, decision.why)
                return
            wait = decision.wait
            left = self._total_left()
            if left is not None and wait >= left:
                yield from self._fail(error, "the next attempt would begin after the total timeout")
                return
            if (yield Wait(wait, self.attempts, error)) is ABORTED:
                yield from self._fail(AbortedError())
                return
            self.sink = self._plan.new_sink()

    def _attempt(self) -> Steps[Item, NodropError | None]:
        """One attempt; gives its error, or ``None`` when the answer is whole."""
        plan = self._plan
        self._head = None
        sent = plan.clock()
        connect_by = sent + plan.timeouts.connect
        reply = yield Send(self._bounded(connect_by), self._bounded(connect_by + plan.timeouts.silence))
        if not isinstance(reply, Head):
            return self._transport_error(reply, "before it answered")
        self._head = reply
        if not 200 <= reply.status < 300:
            return (yield from self._refusal(reply))
        self.sink.head(request_id_of(reply.headers), reply.headers)
        if not self._opened:
            self._opened = True
            yield Emit(plan.opening())
        kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind.endswith("json"):
            return (yield from self._whole_body())
        if kind.endswith("html"):
            return (yield from self._page(reply))
        return (yield from self._stream())

    def _stream(self) -> Steps[Item, NodropError | None]:
        sink, bounds = self.sink, self._plan.timeouts
        end = None if bounds.total is None else self._began + bounds.total
        reply = yield Pour(sink, self._plan.clock, bounds.silence, end)
        if sink.error is not None or sink.finished:
            return sink.error
        if reply is END:
            items = sink.close()
        else:
            yield Drop()
            items = sink.cut()
        if items:
            yield Emit(items)
        if sink.error is not None or sink.finished:
            return sink.error
        return self._transport_error(reply, "while the answer was read")

    def _whole_body(self) -> Steps[Item, NodropError | None]:
        body, end = yield from self._body(_WHOLE_BODY_BYTES)
        if end is not END:
            self.sink.cut_whole(body)
            return self._transport_error(end, f"while the answer was read, after {len(body)} bytes")
        if len(body) >= _WHOLE_BODY_BYTES:
            self.sink.cut_whole(body)
            return StreamProtocolError(f"the body is larger than {_WHOLE_BODY_BYTES} bytes")
        items = self.sink.whole(body)
        if items:
            yield Emit(items)
        return self.sink.error

    def _page(self, head: Head) -> Steps[Item, NodropError]:
        """A web page under a 2xx status: a portal or a proxy answered in place of the API."""
        body, end = yield from self._body(_ERROR_BODY_BYTES)
        if end is not END:
            return self._transport_error(end, "while the answer was read")
        said = read_said(body, content_type="text/html").text
        return StreamProtocolError(f"the server answered {head.status} with {said}; check base_url and any proxy")

    def _refusal(self, head: Head) -> Steps[Item, NodropError]:
        # A body that broke off or stalled does not hide the status, which is the cause: what came of it is kept.
        body, end = yield from self._body(_ERROR_BODY_BYTES)
        if isinstance(end, Aborted):
            return AbortedError()
        plan = self._plan
        error = error_from_response(head.status, head.headers, body, path=plan.path, now=plan.wall())
        if head.status == 401 and plan.secret_from:
            error.args = (f"{error}; the key is that of {plan.secret_from}",)
        return error

    def _body(self, limit: int) -> Steps[Item, tuple[bytes, Reply]]:
        """The body, at most about ``limit`` bytes of it, and the reply that ended it."""
        pieces: list[bytes] = []
        size = 0
        while size < limit:
            reply = yield Read(self._bounded(self._plan.clock() + self._plan.timeouts.silence), False)
            if isinstance(reply, bytes):
                pieces.append(reply)
                size += len(reply)
            else:
                return b"".join(pieces), reply
        return b"".join(pieces), END

    def _fail(self, error: NodropError, why: str = "") -> Steps[Item, None]:
        if isinstance(error, APIError):
            error.attempts = self.attempts
            if self.attempts > 1:
                error.args = (f"{error} (after {self.attempts} attempts)",)
            if error.request_id is None and self._head is not None:
                error.request_id = request_id_of(self._head.headers)
        if why:
            error.args = (f"{error}; {why}",)
        yield Emit(self._failed(error))

    def _failed(self, error: NodropError) -> list[Item]:
        self.error = error
        items = self.sink.failed(error)
        self.over = True
        return items

    def abandon(self) -> list[Item]:
        """The terminal items, where ``run`` was ended from outside (an interrupt) before it gave them."""
        return [] if self.over else self._failed(AbortedError())

    def _hide_secret(self, error: NodropError) -> None:
        secret = self._plan.secret
        if not secret:
            return
        error.args = (str(error).replace(secret, _HIDDEN),)
        if isinstance(error, StatusError | ContextOverflowError):
            error.body = error.body.replace(secret.encode(), _HIDDEN.encode())
        if isinstance(error, StatusError):
            error.headers = {name: value.replace(secret, _HIDDEN) for name, value in error.headers.items()}
            error.details = tuple(
                ErrorDetail(*(fact.replace(secret, _HIDDEN) for fact in entry)) for entry in error.details
            )

    def _transport_error(self, reply: Reply, when: str) -> NodropError:
        match reply:
            case Aborted() | None:  # no reply at all: the client was interrupted before it could carry the command out
                return AbortedError()
            case Broken():
                return ConnectionFailed(f"the connection to {self._plan.host} failed {when} ({reply.text})")
            case Expired():
                return self._timeout(reply)
            case _:
                raise TypeError(f"no reply to a read or a send: {type(reply).__name__}")

    def _timeout(self, reply: Expired) -> RequestTimedOut:
        bounds = self._plan.timeouts
        left = self._total_left()
        if left is not None and left <= _EARLY and bounds.total is not None:
            text = f"the request took longer than {bounds.total:g} s (the total timeout)"
            return RequestTimedOut(text, phase="total", seconds=bounds.total)
        phase: Phase = reply.phase or "silence"
        seconds = bounds.connect if phase == "connect" else bounds.silence
        what = f"no connection to {self._plan.host}" if phase == "connect" else f"no event from {self._plan.host}"
        return RequestTimedOut(f"{what} within {seconds:g} s (the {phase} timeout)", phase=phase, seconds=seconds)

    def _bounded(self, deadline: float) -> float:
        total = self._plan.timeouts.total
        return deadline if total is None else min(deadline, self._began + total)

    def _total_left(self) -> float | None:
        total = self._plan.timeouts.total
        return None if total is None else self._began + total - self._plan.clock()
