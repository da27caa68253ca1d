"""The embedded Mistral: a real HTTP server on 127.0.0.1 and a free port, one thread per connection.

Rules:
- Only ``POST /v1/chat/completions`` (or without ``/v1``) with the right key and a JSON object takes a reply from the
  script; the rest gets Mistral's own 404, 401, 422. All of them are recorded.
- Which reply: the handler's, if there is one; else the script's next; else, if nothing was ever enqueued, an echo
  (:mod:`nodrop.testing.simulator`). A script that has run out answers 400, and leaving the ``with`` block raises.
- All state below is guarded by one condition; every change is announced, so that tests wait for facts, not for time.
- Closing ends every wait of every connection; what cannot be ended is a handler that blocks, and close() says so.
"""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from nodrop.testing import simulator
from nodrop.testing.channel import Alarm, Channel
from nodrop.testing.connection import Connection
from nodrop.testing.records import PlayedReply, RecordedRequest

if TYPE_CHECKING:
    from types import TracebackType

    import h11

    from nodrop.testing.faults import Cut
    from nodrop.testing.replies import Reply

Handler = Callable[[RecordedRequest], "Reply"]

_PATHS = frozenset({"/v1/chat/completions", "/chat/completions"})
_JOIN_SECONDS = 5.0


class UnscriptedRequestError(AssertionError):
    """A request came for which an exhausted script had no reply."""


class MistralServer:
    """An embedded Mistral::

        with MistralServer() as server:
            server.enqueue(Reply.stream(text("Hel"), text("lo"), finish("stop")))
            client = nodrop.Client(api_key=server.api_key, base_url=server.url)

    It listens from construction on. `api_key` is the Bearer key it asks for (None: it asks for none).
    `handler` (also an attribute, to be set at any time) answers by request, from the connection's thread; an exception
    in it ends that connection and goes to :func:`threading.excepthook`, where pytest reports it.
    """

    def __init__(self, *, api_key: str | None = "nodrop-testing-key", handler: Handler | None = None) -> None:
        self.api_key = api_key
        self.handler = handler
        self.requests: list[RecordedRequest] = []
        """Every request, in order of arrival."""
        self.replies: list[PlayedReply] = []
        """How far the reply to each request got; ``replies[i]`` answers ``requests[i]``."""
        self.connections_opened = 0
        """Connections accepted since the start."""
        self._open: set[int] = set()
        self._script: deque[Reply] = deque()
        self._repeated: Reply | None = None
        self._scripted = False
        self._unscripted: list[int] = []
        self._changed = threading.Condition()
        self._alarm = Alarm()
        self._threads: set[threading.Thread] = set()
        self._ended: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._port: int = self._listener.getsockname()[1]
        self._acceptor = threading.Thread(target=self._accept, name="nodrop-testing-accept", daemon=True)
        self._acceptor.start()

    # ---- for tests ----

    @property
    def url(self) -> str:
        """``http://127.0.0.1:PORT``: the base URL, to which clients add ``/v1/chat/completions``."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self._port

    def enqueue(self, *replies: Reply, repeat: bool = False) -> None:
        """Adds replies to the script, one per request. With `repeat` the last answers all requests after it too.

        Raises ValueError when nothing is given to repeat, or when the script repeats already.
        """
        with self._changed:
            if self._repeated is not None:
                raise ValueError("the script repeats its last reply: nothing can come after it")
            if repeat and not replies:
                raise ValueError("nothing to repeat")
            self._scripted = True
            self._script.extend(replies)
            if repeat:
                self._repeated = self._script.pop()

    @property
    def pending(self) -> int:
        """Replies of the script that no request has taken yet, the repeated one not counted."""
        with self._changed:
            return len(self._script)

    @property
    def open_connections(self) -> int:
        """Connections that are open on both sides, or whose end the server has not noticed yet."""
        with self._changed:
            return len(self._open)

    def wait_until(self, condition: Callable[[], bool], *, timeout: float = 5.0, what: str = "the condition") -> None:
        """Waits until `condition` holds; it is asked after each change of the records, and must not block.

        Raises TimeoutError after `timeout` seconds.
        """
        with self._changed:
            if not self._changed.wait_for(condition, timeout):
                raise TimeoutError(f"{what} did not come within {timeout} s")

    def wait_for_open_connections(self, count: int, timeout: float = 5.0) -> None:
        """Waits until exactly `count` connections are open, and the threads of the others gone. Raises TimeoutError."""
        self.wait_until(lambda: len(self._open) == count, timeout=timeout, what=f"{count} open connections")
        with self._changed:
            ended, self._ended = self._ended, []
        for thread in ended:  # they have nothing left to do; whoever counts threads now counts right
            thread.join()

    def wait_for_requests(self, count: int, timeout: float = 5.0) -> None:
        """Waits until at least `count` requests have come. Raises TimeoutError after `timeout` seconds."""
        self.wait_until(lambda: len(self.requests) >= count, timeout=timeout, what=f"{count} requests")

    def wait_for_bytes(self, count: int, *, reply: int = 0, timeout: float = 5.0) -> None:
        """Waits until at least `count` bytes of the body of ``replies[reply]`` have been sent. Raises TimeoutError."""

        def sent() -> bool:
            return len(self.replies) > reply and self.replies[reply].bytes_sent >= count

        self.wait_until(sent, timeout=timeout, what=f"{count} bytes of reply {reply}")

    def check_script(self) -> None:
        """Raises :class:`UnscriptedRequestError` if the script was exhausted; leaving ``with`` does it too."""
        if self._unscripted:
            numbers = ", ".join(str(number) for number in self._unscripted)
            raise UnscriptedRequestError(f"the script had no reply for request {numbers} (counted from 0)")

    def close(self) -> None:
        """Stops listening, ends every connection and waits for their threads. May be called again.

        Raises RuntimeError if a handler is still running after 5 seconds.
        """
        self._alarm.ring()
        self._acceptor.join()
        with self._changed:
            threads = [*self._threads, *self._ended]
        end = time.monotonic() + _JOIN_SECONDS
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))
        if any(thread.is_alive() for thread in threads):
            raise RuntimeError("a handler of the embedded Mistral is still running")
        self._alarm.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
        if error is None:
            self.check_script()

    # ---- connections ----

    def _accept(self) -> None:
        # The listener must not block: a client may be gone between its call and our answer.
        self._listener.setblocking(False)
        with self._listener:
            while self._alarm.wait_for(self._listener):
                try:
                    accepted, _ = self._listener.accept()
                except (BlockingIOError, ConnectionError):
                    continue
                self._open_connection(accepted)

    def _open_connection(self, accepted: socket.socket) -> None:
        with self._changed:
            number = self.connections_opened
            self.connections_opened += 1
            self._open.add(number)
            cut = self._take_cut_on_accept()
            thread = threading.Thread(
                target=self._serve, args=(number, accepted, cut), name=f"nodrop-testing-{number}", daemon=True
            )
            self._threads.add(thread)
            self._changed.notify_all()
        thread.start()

    def _serve(self, number: int, accepted: socket.socket, cut: Cut | None) -> None:
        channel = Channel(accepted, self._alarm)
        try:
            if cut is None:
                Connection(number, channel, self).serve()
            elif cut.how == "abrupt":
                channel.reset()
        finally:
            channel.close()
            with self._changed:
                self._threads.remove(threading.current_thread())
                self._ended.append(threading.current_thread())
            self.client_left(number)

    # ---- what connections ask (nodrop.testing.connection.Desk) ----

    def client_left(self, connection: int) -> None:
        """Counts the connection as closed."""
        with self._changed:
            self._open.discard(connection)
            self._changed.notify_all()

    def changed(self) -> None:
        """Wakes those who wait for a fact."""
        with self._changed:
            self._changed.notify_all()

    def register(self, connection: int, head: h11.Request, raw_body: bytes) -> PlayedReply:
        """Records a request."""
        headers: dict[str, str] = {}
        for raw_name, raw_value in head.headers:
            name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        with self._changed:
            request = RecordedRequest(
                number=len(self.requests),
                connection=connection,
                method=head.method.decode("ascii"),
                path=head.target.decode("latin-1"),
                headers=headers,
                raw_body=raw_body,
                at=time.monotonic(),
            )
            played = PlayedReply(request)
            self.requests.append(request)
            self.replies.append(played)
            self._changed.notify_all()
        return played

    def choose(self, request: RecordedRequest) -> Reply:
        """The reply to a request, by the rules at the top of this file."""
        if request.method != "POST" or request.path not in _PATHS:
            return simulator.no_route(request.number)
        if self.api_key is not None and request.headers.get("authorization") != f"Bearer {self.api_key}":
            return simulator.unauthorized()
        try:
            _ = request.body
        except ValueError:
            return simulator.not_json()
        if self.handler is not None:
            return self.handler(request)
        with self._changed:
            if self._script:
                return self._script.popleft()
            if self._repeated is not None:
                return self._repeated
            if not self._scripted:
                return simulator.echo(request)
            self._unscripted.append(request.number)
        return simulator.exhausted(request.number)

    def _take_cut_on_accept(self) -> Cut | None:
        upcoming = self._script[0] if self._script else self._repeated
        cut = None if upcoming is None or self.handler is not None else upcoming.cut_on_accept()
        if cut is not None and self._script:
            self._script.popleft()
        return cut
