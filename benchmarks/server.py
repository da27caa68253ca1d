"""A Mistral stand-in that streams N small text deltas over loopback, one event a packet.

A process of its own, so that its work is not in a client's CPU time: ``python benchmarks/server.py PACING [varied]``
prints ``{"port": ...}``, then one line ``{"events": ..., "packets": ...}`` for each stream, and ends with its standard
input. The prompt of a request is the number of events to stream, so that every client can ask with its ordinary call.

Every event is one HTTP chunk in one ``send`` with TCP_NODELAY. That alone does not make it a packet: the kernel joins
what it cannot send at once (2,000 events went out in 20 to 230 packets). So the server waits, in one of two ways, since
what a client pays for an event depends on how many it finds waiting:

- ``one-a-packet``: until the kernel has sent the event (``tcpi_notsent_bytes`` is 0). A client slower than the server
  still reads several events at once.
- ``one-a-read``: until the client has read the event, as when a model is slower than the client. The kernel is asked
  for the length of the client's receive queue (``NETLINK_SOCK_DIAG``).

With ``varied`` no event has the bytes of the one before around its word: ``created`` goes back and forth.

Both are Linux. The packets are counted by the kernel, and printed.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import threading
import time
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

POLL = 0.000_02
ONE_A_PACKET, ONE_A_READ = "one-a-packet", "one-a-read"
VARIED = "varied"

_CREATED = 1_764_460_800
_WORDS = (" the", " answer", " grows", " word", " by", " word", ",", " and", " nothing", " is", " lost", ".")


def event(
    delta: dict[str, str], finish: str | None = None, usage: dict[str, int] | None = None, *, created: int = _CREATED
) -> bytes:
    """One server-sent event in the shape of Mistral's own: some 210 bytes."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk: dict[str, object] = {
        "id": "7b1f1c2b0f5a4e0c9a3c5d8e2f6a7b90",
        "object": "chat.completion.chunk",
        "created": created,
        "model": "mistral-small-latest",
        "choices": [choice],
    }
    if usage is not None:
        chunk["usage"] = usage
    return b"data: " + json.dumps(chunk, separators=(",", ":")).encode() + b"\n\n"


def http_chunk(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(body), body)


class ReceiveQueue:
    """How many bytes the process at the other end of a loopback connection has not read yet."""

    _REQUEST = struct.Struct("=IHHII BBBxI HH16s16sIII")
    _REPLY = struct.Struct("=BBBB48sIIIII")

    def __init__(self, connection: socket.socket) -> None:
        self._netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4)  # NETLINK_SOCK_DIAG
        address, own_port = connection.getsockname()
        _, peer_port = connection.getpeername()
        host = socket.inet_aton(address)
        no_cookie = 0xFFFFFFFF
        header = (self._REQUEST.size, 20, 1, 1, 0)  # SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST
        question = (socket.AF_INET, socket.IPPROTO_TCP, 0, 0xFFFFFFFF)
        which = (socket.htons(peer_port), socket.htons(own_port), host, host, 0, no_cookie, no_cookie)
        self._request = self._REQUEST.pack(*header, *question, *which)

    def unread(self) -> int:
        self._netlink.send(self._request)
        reply = self._netlink.recv(4096)
        _, kind = struct.unpack_from("=IH", reply)
        if kind != 20:
            raise ConnectionResetError("the client's socket is gone")
        return int(self._REPLY.unpack_from(reply, 16)[6])


def packets_sent(connection: socket.socket) -> int:
    """How many data segments the kernel sent on this connection so far (``tcpi_data_segs_out``)."""
    return tcp_info(connection, 156)


def not_sent(connection: socket.socket) -> int:
    """How many bytes wait in the kernel to be sent (``tcpi_notsent_bytes``)."""
    return tcp_info(connection, 144)


def tcp_info(connection: socket.socket, offset: int) -> int:
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 160)
    return int.from_bytes(info[offset : offset + 4], sys.byteorder)


def serve_connection(connection: socket.socket, pacing: str, *, varied: bool) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    queue = ReceiveQueue(connection) if pacing == ONE_A_READ else None
    with connection, connection.makefile("rb") as reader:
        try:
            while (request := read_request(reader)) is not None:
                answer(connection, int(prompt(request)), queue, varied=varied)
        except ConnectionError:
            return  # a client that hangs up after [DONE] leaves the end of the body unread


def answer(connection: socket.socket, events: int, queue: ReceiveQueue | None, *, varied: bool) -> None:
    before = packets_sent(connection)
    try:
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        for body in stream(events, varied=varied):
            connection.sendall(http_chunk(body))
            while not_sent(connection) or (queue is not None and queue.unread()):
                time.sleep(POLL)  # a busy wait would take the second processor from the client's kernel work
    finally:
        # Before the last bytes: once the client has those it may ask for the next stream.
        print(json.dumps({"events": events, "packets": packets_sent(connection) - before}), flush=True)
    connection.sendall(b"0\r\n\r\n")


def stream(events: int, *, varied: bool = False) -> Iterator[bytes]:
    yield event({"role": "assistant", "content": ""})
    pieces = [event({"content": word}, created=_CREATED + place % 2 * varied) for place, word in enumerate(_WORDS)]
    for index in range(events):
        yield pieces[index % len(pieces)]
    usage = {"prompt_tokens": 5, "completion_tokens": events, "total_tokens": events + 5}
    yield event({"content": ""}, "stop", usage)
    yield b"data: [DONE]\n\n"


def read_request(reader: IO[bytes]) -> dict[str, Any] | None:
    if not reader.readline():
        return None
    length = 0
    while (line := reader.readline().strip()) != b"":
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    request: dict[str, Any] = json.loads(reader.read(length))
    return request


def prompt(request: dict[str, Any]) -> str:
    content = request["messages"][-1]["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def main() -> None:
    pacing, *more = sys.argv[1:]
    if pacing not in (ONE_A_PACKET, ONE_A_READ) or more not in ([], [VARIED]):
        sys.exit(f"expected {ONE_A_PACKET} or {ONE_A_READ}, and {VARIED} or nothing")
    listener = socket.create_server(("127.0.0.1", 0))

    varied = {"varied": more == [VARIED]}

    def accept() -> None:
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve_connection, args=(connection, pacing), kwargs=varied, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    print(json.dumps({"port": listener.getsockname()[1]}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
