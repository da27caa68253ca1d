"""What can go wrong between a client and Mistral, as values that a :class:`~nodrop.testing.Reply` is given.

    Reply.stream(text("Hel"), text("lo"), finish()).with_faults(Stall(at=40, seconds=0.2), Cut(at=90, how="abrupt"))

A place is an offset into the body as it goes out (after compression, before HTTP's own framing), or a word:
``"before_headers"`` (the request was read, nothing is sent), ``"in_headers"`` (half of the head is sent), ``"end"``
(the whole body is sent, HTTP's end of it is not). Faults at one place happen in the order in which they are given.

Faults that need no value of their own are plain replies: a status (:meth:`Reply.error`), a redirect, a wrong content
type (:meth:`Reply.raw`), no ``[DONE]`` (``done=False``), an incomplete stream in complete HTTP (leave the chunks out,
or ``Cut(how="polite")``), a big event (:func:`big_event`), bytes one by one (``packets=1``), gzip and HTTP/1.0.
Faults before there is a connection are :func:`refused_url` and :func:`unanswered_url`.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Generator
from dataclasses import dataclass
from typing import Literal

Place = int | Literal["before_headers", "in_headers", "end"]


@dataclass(frozen=True, kw_only=True)
class Stall:
    """Nothing is sent for `seconds`, or until the event `until` is set, whichever is first; then the reply goes on.

    With neither, the silence lasts until the client leaves or the server is closed. ``Stall(at="end")`` is the server
    that never ends the body and never closes; ``Stall(at="before_headers", seconds=0.3)`` is slow headers.
    """

    at: Place
    seconds: float | None = None
    until: threading.Event | None = None


@dataclass(frozen=True, kw_only=True)
class Cut:
    """The reply ends here.

    - ``"clean"``: the connection is closed (FIN) although HTTP's end of the body is missing.
    - ``"abrupt"``: the connection is reset (RST). A peer may lose what it has not read yet; where it matters, stall
      in front of the cut until it has.
    - ``"polite"``: HTTP's end of the body is sent as if all were there, and the connection stays usable. Only at an
      offset.

    ``"on_accept"`` closes or resets the connection before a request is read. It takes the reply from the script when a
    connection is opened, and so answers no request; on a connection that was there before, it is ``"before_headers"``.
    A client may meet it while it connects, writes or reads.
    """

    at: Place | Literal["on_accept"]
    how: Literal["clean", "abrupt", "polite"] = "clean"


@dataclass(frozen=True, kw_only=True)
class Comments:
    """``: ping`` and a blank line every `every` seconds, for `seconds` or until the client leaves.

    Then the reply goes on.
    """

    at: int | Literal["end"] = "end"
    every: float = 0.01
    seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class IgnoreClose:
    """The server does not care whether the client leaves: it goes on, and holds its side open until it is closed.

    When the client left is recorded all the same.
    """


Fault = Stall | Cut | Comments | IgnoreClose


@contextlib.contextmanager
def refused_url() -> Generator[str]:
    """A base URL whose port refuses connections: it is taken, so that nobody else can listen there meanwhile."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


@contextlib.contextmanager
def unanswered_url() -> Generator[str]:
    """A base URL on which connecting takes forever: the listener's queue is full and nobody empties it.

    Linux drops what does not fit the queue; other systems may refuse it. What still connects is never answered.
    """
    with contextlib.ExitStack() as sockets:
        listener = sockets.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            filler = sockets.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
