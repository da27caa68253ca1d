"""What httpx and httpx2 share, and how their exceptions are told apart without importing both.

Their exception classes are unrelated but have the same names: an exception is classified by the names in its class's
ancestry. Only calls that both families take in the same form are used: string URLs, a timeout as a tuple, bytes.
"""

from __future__ import annotations

import re
import socket
from typing import Any, Final

from nodrop.core.commands import Broken, Expired, Head
from nodrop.errors import ConfigurationError

FAMILIES: Final = ("httpx", "httpx2")
SETTLE_SECONDS: Final = 0.1
SETTLE_BYTES: Final = 65536
"""How long, and for how much, the end of a body is waited for after the answer is whole."""
AFTER_FORK: Final = "it was opened before the process forked, and its connections are the parent's; build a client here"
_CREDENTIALS: Final = re.compile(r"//[^/@\s]*@")
_TEXT: Final = 300


def family_of(http: Any, kind: str) -> str:
    """``httpx/0.28.1`` for a client of httpx; ``kind`` is ``Client`` or ``AsyncClient``.

    Raises :class:`TypeError` for anything that is not of this kind, of either family.
    """
    for cls in type(http).__mro__:
        family = cls.__module__.partition(".")[0]
        if family in FAMILIES and cls.__name__ == kind:
            module: Any = __import__(family)
            return f"{family}/{module.__version__}"
    raise TypeError(f"http_client must be an httpx.{kind} or httpx2.{kind}, not {type(http).__name__}")


def check_open(http: Any) -> None:
    """Raises :class:`ConfigurationError` when the HTTP client is closed: by its owner, or with another of ours."""
    if http.is_closed:
        raise ConfigurationError("the HTTP client is closed")


def check_unshared(response: Any) -> None:
    """Raises :class:`ConfigurationError` for HTTP/2, where requests share a connection.

    A blocked read can only be ended by shutting its connection down, which would end the others on it.
    """
    if response.extensions.get("http_version") == b"HTTP/2":
        raise ConfigurationError(
            "the blocking client cannot abort on an HTTP/2 connection without ending the other requests on it; "
            "give it an HTTP client without http2=True, or use AsyncClient"
        )


def failure_of(error: Exception) -> Broken | Expired | None:
    """The reply that a transport's exception stands for, or ``None`` when it is no transport's."""
    names = {cls.__name__ for cls in type(error).__mro__ if cls.__module__.partition(".")[0] in FAMILIES}
    if names & {"ConnectTimeout", "PoolTimeout"}:
        return Expired("connect")
    if "TimeoutException" in names:
        return Expired("silence")
    if names & {"RequestError", "StreamError", "InvalidURL"}:
        return Broken(_described(error))
    # A socket that was shut down under a read may show as the plain error.
    return Broken(_described(error)) if isinstance(error, OSError) else None


def _described(error: Exception) -> str:
    """The exception's class, and its text where it has one; credentials in an address are taken out."""
    text = _CREDENTIALS.sub("//…@", " ".join(str(error).split()))[:_TEXT]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def head_of(response: Any) -> Head:
    """The head of a response of either family."""
    headers: dict[str, str] = {}
    for name, value in response.headers.multi_items():
        key = name.lower()
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    return Head(int(response.status_code), headers)


def needs_the_library(response: Any) -> bool:
    """Whether the body is compressed, or was read already (a mocked one), so that the library itself must give it."""
    return response.is_stream_consumed or response.headers.get("content-encoding", "identity").lower() not in (
        "",
        "identity",
    )


def shut_down(network_stream: Any) -> None:
    """Ends a read that another thread is blocked in, by shutting the socket down; the owner still closes it.

    The base class's method on purpose: ``SSLSocket.shutdown`` would take the TLS object away under the reader.
    """
    if network_stream is None:
        return
    found = network_stream.get_extra_info("socket")
    if isinstance(found, socket.socket):
        try:
            socket.socket.shutdown(found, socket.SHUT_RDWR)
        except OSError:
            return  # it is closed already: there is nothing to wake
