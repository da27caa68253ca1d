"""A client that is nothing but a socket: it sees what is on the wire, well-formed or not."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, Any, Literal, Self

if TYPE_CHECKING:
    from nodrop.testing import MistralServer

# Long enough for any machine; a test that runs into it fails.
TIMEOUT = 5.0
QUESTION = {"model": "mistral-test", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}

End = Literal["eof", "reset"]


class Peer:
    """One connection to a server."""

    def __init__(self, server: MistralServer, *, receive_buffer: int | None = None) -> None:
        self._key = server.api_key
        self.socket = socket.socket()
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(TIMEOUT)
        self._unread = b""
        try:
            self.socket.connect(("127.0.0.1", server.port))
        except OSError:
            self.socket.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def ask(self, question: dict[str, Any] | None = None) -> None:
        """Sends a well-formed request."""
        body = json.dumps(QUESTION if question is None else question).encode()
        lines = ["POST /v1/chat/completions HTTP/1.1", "Host: x", f"Content-Length: {len(body)}"]
        if self._key is not None:
            lines.append(f"Authorization: Bearer {self._key}")
        self.send("\r\n".join([*lines, "", ""]).encode() + body)

    def read_until(self, mark: bytes) -> bytes:
        """Everything up to and including `mark`."""
        while mark not in self._unread:
            data = self.socket.recv(65536)
            assert data, f"the server closed before {mark!r}; it sent {self._unread!r}"
            self._unread += data
        found, _, self._unread = self._unread.partition(mark)
        return found + mark

    def take(self) -> bytes:
        """What has been received, but not been asked for yet."""
        data, self._unread = self._unread, b""
        return data

    def read_head(self) -> bytes:
        return self.read_until(b"\r\n\r\n")

    def read_chunk(self) -> bytes:
        """One chunk of a chunked body; ``b""`` is the last."""
        size = int(self.read_until(b"\r\n"), 16)
        while len(self._unread) < size + 2:
            data = self.socket.recv(65536)
            assert data, f"the server closed inside a chunk; it sent {self._unread!r}"
            self._unread += data
        chunk, ending, self._unread = self._unread[:size], self._unread[size : size + 2], self._unread[size + 2 :]
        assert ending == b"\r\n"
        return chunk

    def read_chunks(self) -> list[bytes]:
        """All chunks of a whole chunked body."""
        return list(iter(self.read_chunk, b""))

    def read_to_end(self) -> tuple[bytes, End]:
        """What comes until the server closes or resets the connection."""
        data = self.take()
        while True:
            try:
                more = self.socket.recv(65536)
            except ConnectionResetError:
                return data, "reset"
            if not more:
                return data, "eof"
            data += more

    def hears_nothing(self, seconds: float = 0.05) -> bool:
        """Whether the connection stays open and silent for so long."""
        if self._unread:
            return False
        self.socket.settimeout(seconds)
        try:
            self._unread = self.socket.recv(65536)
        except TimeoutError:
            return True
        else:
            return False
        finally:
            self.socket.settimeout(TIMEOUT)


def dechunked(wire: bytes) -> tuple[bytes, bool]:
    """The body behind whole chunks, and whether its last chunk came. Fails on half a chunk."""
    body = b""
    while wire:
        size, _, rest = wire.partition(b"\r\n")
        length = int(size, 16)
        assert rest[length : length + 2] == b"\r\n"
        if length == 0:
            assert rest == b"\r\n"
            return body, True
        body, wire = body + rest[:length], rest[length + 2 :]
    return body, False
