"""One connection of the server: reads requests with h11, plays replies, makes their faults happen.

h11 frames what is well-formed. The rest (HTTP/1.0, bodies that end by closing, heads cut in half) is
written as bytes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol, assert_never

import h11

from nodrop.testing import simulator
from nodrop.testing.channel import Channel, ClientLeft, ServerClosing
from nodrop.testing.faults import Comments, Cut, Stall
from nodrop.testing.records import PlayedReply, RecordedRequest
from nodrop.testing.replies import Packet

if TYPE_CHECKING:
    from nodrop.testing.replies import Reply

COMMENT = b": ping\n\n"
# 520 and its kin have no official words; HTTP allows none.
_PHRASES = {status.value: status.phrase for status in HTTPStatus}


class Desk(Protocol):
    """What a connection asks of its server."""

    def register(self, connection: int, head: h11.Request, raw_body: bytes) -> PlayedReply:
        """Records a request that has been read whole."""
        ...

    def choose(self, request: RecordedRequest) -> Reply:
        """The reply to it."""
        ...

    def client_left(self, connection: int) -> None:
        """Says that the client's side of the connection is closed."""
        ...

    def changed(self) -> None:
        """Says that a record has changed, to those who wait for it."""
        ...


class _CutOff(Exception):
    """The connection was closed or reset as scripted."""


class Connection:
    """The conversation on one accepted socket; it is over, and the socket to be closed, when :meth:`serve` returns."""

    def __init__(self, number: int, channel: Channel, desk: Desk) -> None:
        self._number = number
        self._channel = channel
        self._desk = desk
        self._http = h11.Connection(h11.SERVER)
        self._played: PlayedReply | None = None
        channel.on_client_left = self._client_left

    def serve(self) -> None:
        """Answers requests until either side ends the connection."""
        try:
            while self._exchange():
                self._http.start_next_cycle()
        except (ClientLeft, ServerClosing, _CutOff):
            return
        except h11.RemoteProtocolError as error:
            self._refuse(error)

    def _client_left(self) -> None:
        played = self._played
        if played is not None and played.finished_at is None:
            played.client_closed_at = time.monotonic()
        if self._channel.ignore_close:  # else the connection ends now, and counts as open until its socket is closed
            self._desk.client_left(self._number)

    def _exchange(self) -> bool:
        """One request and its reply; whether another may follow."""
        request = self._read_request()
        if request is None:
            return False
        head, body = request
        self._played = played = self._desk.register(self._number, head, body)
        reply = self._desk.choose(played.request)
        played.reply = reply
        self._channel.ignore_close = reply.ignores_close
        try:
            self._play(reply, played)
        except _CutOff:
            self._finish(played)
            raise
        self._finish(played)
        if reply.ignores_close:
            self._channel.pause(None)
        return self._http.our_state is h11.DONE and self._http.their_state is h11.DONE

    def _finish(self, played: PlayedReply) -> None:
        if played.client_closed_at is None:
            played.finished_at = time.monotonic()
        self._desk.changed()

    # ---- the request ----

    def _read_request(self) -> tuple[h11.Request, bytes] | None:
        """The next request, read whole; None when the client is done."""
        head: h11.Request | None = None
        body = bytearray()
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                if self._http.they_are_waiting_for_100_continue:
                    self._channel.send(self._http.send(h11.InformationalResponse(status_code=100, headers=[])) or b"")
                data = self._channel.receive()
                if not data:
                    return None
                self._http.receive_data(data)
            elif isinstance(event, h11.Request):
                head = event
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage) and head is not None:
                return head, bytes(body)
            else:
                raise h11.LocalProtocolError(f"no {event!r} can come here")

    def _refuse(self, error: h11.RemoteProtocolError) -> None:
        """Answers what is not HTTP, as bytes: h11 is of no use after such an error."""
        status = HTTPStatus(error.error_status_hint)
        text = f"{error}\n".encode()
        head = f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n"
        try:
            self._channel.send(head.encode() + text)
        except (ClientLeft, ServerClosing):
            return

    # ---- the reply ----

    def _play(self, reply: Reply, played: PlayedReply) -> None:
        for fault in reply.faults_at("before_headers"):
            self._happen(fault, reply)
        self._send_head(reply, played.request.number)
        if played.request.method != "HEAD":
            self._send_steps(reply, played)
        if reply.framing == "close":
            raise _CutOff
        self._channel.send(self._http.send(h11.EndOfMessage()) or b"")

    def _send_steps(self, reply: Reply, played: PlayedReply) -> None:
        for step in reply.steps():
            match step:
                case Packet():
                    if step.paced and reply.delay:
                        self._channel.pause(reply.delay)
                    self._send_body(step.data, reply)
                    played.bytes_sent += len(step.data)
                    self._desk.changed()
                case Cut(how="polite"):
                    return
                case _:
                    self._happen(step, reply)

    def _send_head(self, reply: Reply, number: int) -> None:
        head = self._head(reply, number)
        faults = reply.faults_at("in_headers")
        half = len(head) // 2 if faults else 0
        if faults:
            self._channel.send(head[:half])
        for fault in faults:
            self._happen(fault, reply)
        self._channel.send(head[half:])

    def _head(self, reply: Reply, number: int) -> bytes:
        headers = list(reply.headers)
        if "mistral-correlation-id" not in {name.lower() for name, _ in headers}:
            headers.append(("mistral-correlation-id", simulator.request_id(number)))
        if reply.gzip:
            headers.append(("content-encoding", "gzip"))
        if reply.framing == "close":
            headers.append(("connection", "close"))
            lines = [f"HTTP/{reply.http_version} {reply.status} {_PHRASES.get(reply.status, '')}"]
            lines += [f"{name}: {value}" for name, value in headers]
            return "\r\n".join([*lines, "", ""]).encode("latin-1")
        if reply.framing == "length":
            headers.append(("content-length", str(reply.content_length)))
        encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        response = h11.Response(status_code=reply.status, headers=encoded, reason=_PHRASES.get(reply.status, ""))
        return self._http.send(response) or b""

    def _send_body(self, data: bytes, reply: Reply) -> None:
        framed = data if reply.framing == "close" else self._http.send(h11.Data(data=data)) or b""
        self._channel.send(framed)

    # ---- faults ----

    def _happen(self, fault: Stall | Cut | Comments, reply: Reply) -> None:
        match fault:
            case Stall():
                self._channel.pause(fault.seconds, fault.until)
            case Comments():
                for wait in _beats(fault):
                    self._send_body(COMMENT, reply)
                    self._channel.pause(wait)
            case Cut(how="abrupt"):
                self._channel.reset()
                raise _CutOff
            case Cut():
                raise _CutOff
            case _:
                assert_never(fault)


def _beats(fault: Comments) -> Iterator[float]:
    """The pauses after each comment, until the time is up."""
    end = None if fault.seconds is None else time.monotonic() + fault.seconds
    while end is None or time.monotonic() < end:
        yield fault.every
