"""The vocabulary of a script: a :class:`Reply` is one response, from status line to the way it ends."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

from nodrop.testing import wire
from nodrop.testing.faults import Comments, Cut, Fault, IgnoreClose, Stall

SSE = "text/event-stream; charset=utf-8"
JSON = "application/json"

Packets = Literal["events", "whole"] | int
"""How the body is cut into writes: one event each, all at once, or so many bytes each."""

Framing = Literal["length", "chunked", "close"]
"""How HTTP marks the end of the body: ``content-length``, chunked, or only by closing the connection."""

_EVENT_END = re.compile(rb"(?<=\n\n)|(?<=\r\r)|(?<=\r\n\r\n)")
# They say how the recorded body travelled; the reply travels in its own way.
_TRAVEL_HEADERS = frozenset({"connection", "content-encoding", "content-length", "keep-alive", "transfer-encoding"})


@dataclass(frozen=True)
class Packet:
    """Bytes of the body to be written at once; `paced` if the pause between packets comes before it."""

    data: bytes
    paced: bool


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One response. The builders make the usual ones; the methods ``with_…``, ``paced``, … return changed copies.

    Raises ValueError when its members do not fit together (a place outside the body, comments where it has a length).
    """

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    parts: tuple[bytes, ...] = field(default=(), repr=False)
    """The body before compression; for a stream, one item each."""
    framing: Framing = "chunked"
    http_version: Literal["1.0", "1.1"] = "1.1"
    packets: Packets = "events"
    delay: float = 0.0
    """Seconds between packets."""
    gzip: bool = False
    faults: tuple[Fault, ...] = ()

    # ---- builders ----

    @classmethod
    def stream(
        cls,
        *items: wire.StreamItem,
        done: bool = True,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        delay: float = 0.0,
        packets: Packets = "events",
    ) -> Self:
        """A stream of server-sent events, each item one packet; ``[DONE]`` comes last unless `done` is false."""
        parts = tuple(wire.encode_item(item) for item in items) + ((wire.DONE,) if done else ())
        return cls(status=status, headers=_headers(SSE, headers), parts=parts, delay=delay, packets=packets)

    @classmethod
    def whole(
        cls,
        answer: str | Sequence[Any] | Mapping[str, Any] | None = None,
        *,
        messages: Sequence[Mapping[str, Any]] | None = None,
        finish_reason: str | None = "stop",
        usage: Mapping[str, Any] | wire.Absent | None = wire.ABSENT,
        **extra: Any,
    ) -> Self:
        """A whole completion as JSON; the arguments are those of :func:`nodrop.testing.completion`."""
        body = wire.completion(answer, messages=messages, finish_reason=finish_reason, usage=usage, **extra)
        return cls.json(200, body)

    @classmethod
    def json(cls, status: int, body: Any, *, headers: Mapping[str, str] | None = None) -> Self:
        """Any JSON body with any status."""
        return cls.raw(wire.encode_json(body), content_type=JSON, status=status, headers=headers)

    @classmethod
    def error(
        cls,
        status: int,
        body: str | Mapping[str, Any],
        *,
        type: str = "invalid_request_error",  # noqa: A002 - the wire's word
        code: str | int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Self:
        """A failure. A string is the message of the server's envelope, an object the whole body."""
        if isinstance(body, str):
            body = wire.error_body(body, type=type, code=code, raw_status_code=status)
        return cls.json(status, body, headers=headers)

    @classmethod
    def redirect(cls, location: str, *, status: int = 307) -> Self:
        """Sends the client elsewhere."""
        return cls.raw(b"", content_type=None, status=status, headers={"location": location})

    @classmethod
    def raw(
        cls,
        body: bytes | str,
        *,
        content_type: str | None = SSE,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        packets: Packets = "events",
        delay: float = 0.0,
    ) -> Self:
        """Exactly this body (a string as UTF-8), under any content type, right or wrong (None: no such header).

        An event stream is chunked and goes out event by event; all else has a ``content-length`` and is one packet.
        """
        data = body.encode() if isinstance(body, str) else body
        streamed = content_type is not None and content_type.startswith("text/event-stream")
        parts = tuple(part for part in _EVENT_END.split(data) if part) if streamed else (data,)
        return cls(
            status=status,
            headers=_headers(content_type, headers),
            parts=parts,
            framing="chunked" if streamed else "length",
            packets=packets,
            delay=delay,
        )

    @classmethod
    def recorded(
        cls,
        source: bytes | str | os.PathLike[str],
        *,
        content_type: str | None = None,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Self:
        """A recorded body: a file (``.sse`` or ``.json``), or the bytes of one together with their `content_type`.

        Beside ``name.sse`` a side file ``name.meta.json`` may hold ``status`` and ``response_headers``; they are used
        where the arguments do not say otherwise. Raises ValueError when it is not known what the body is, OSError when
        the file cannot be read.
        """
        if isinstance(source, bytes):
            if content_type is None:
                raise ValueError("recorded bytes need a content_type")
            return cls.raw(source, content_type=content_type, status=200 if status is None else status, headers=headers)
        path = Path(source)
        if content_type is None:
            known = {".sse": SSE, ".json": JSON}
            if path.suffix not in known:
                raise ValueError(f"{path.name} is neither .sse nor .json: say its content_type")
            content_type = known[path.suffix]
        recorded_status, recorded_headers = _side_file(path)
        return cls.raw(
            path.read_bytes(),
            content_type=content_type,
            status=recorded_status if status is None else status,
            headers=recorded_headers if headers is None else headers,
        )

    # ---- changed copies ----

    def with_faults(self, *faults: Fault) -> Self:
        """The same with these faults added."""
        return dataclasses.replace(self, faults=self.faults + faults)

    def with_headers(self, headers: Mapping[str, str]) -> Self:
        """The same with these headers added, or replaced where it has them."""
        return dataclasses.replace(self, headers=_merged(self.headers, headers))

    def paced(self, *, delay: float | None = None, packets: Packets | None = None) -> Self:
        """The same at another pace: seconds between packets, and what a packet is."""
        return dataclasses.replace(
            self,
            delay=self.delay if delay is None else delay,
            packets=self.packets if packets is None else packets,
        )

    def gzipped(self) -> Self:
        """The same, compressed; a stream is flushed after each event, so that each can be read when it comes."""
        return dataclasses.replace(self, gzip=True)

    def as_http10(self) -> Self:
        """The same from an HTTP/1.0 server: neither chunked nor of known length, it ends with the connection."""
        return dataclasses.replace(self, http_version="1.0", framing="close")

    def ended_by_close(self) -> Self:
        """The same over HTTP/1.1, but its end is the end of the connection."""
        return dataclasses.replace(self, framing="close")

    # ---- what the server plays ----

    def __post_init__(self) -> None:
        if not 200 <= self.status <= 999:
            raise ValueError("status is that of a final response, 200 to 999")
        if self.status in (204, 304) and self.size:
            raise ValueError(f"a {self.status} has no body")
        if isinstance(self.packets, int) and self.packets < 1:
            raise ValueError("a packet has at least one byte")
        if self.delay < 0:
            raise ValueError("delay cannot be negative")
        for fault in self.faults:
            self._check(fault)

    def _check(self, fault: Fault) -> None:
        if isinstance(fault, IgnoreClose):
            return
        if isinstance(fault.at, int) and not 0 <= fault.at <= self.size:
            raise ValueError(f"{fault} lies outside the body of {self.size} bytes")
        if isinstance(fault, Comments) and (self.framing == "length" or self.gzip):
            raise ValueError("comments need an uncompressed body without a content-length")
        if isinstance(fault, Cut) and fault.how == "polite" and not isinstance(fault.at, int):
            raise ValueError("a polite cut needs an offset into the body")

    @cached_property
    def body(self) -> bytes:
        """The body as it goes out (compressed if so asked), without comments and cuts."""
        return b"".join(self._encoded)

    @property
    def size(self) -> int:
        """Length of :attr:`body` in bytes."""
        return len(self.body)

    @property
    def content_length(self) -> int:
        """What ``content-length`` says: a polite cut covers itself, all other faults keep promising the whole body."""
        polite = [fault.at for fault in self.faults if isinstance(fault, Cut) and fault.how == "polite"]
        return min((at for at in polite if isinstance(at, int)), default=self.size)

    @property
    def ignores_close(self) -> bool:
        """Whether the server goes on when the client has left."""
        return any(isinstance(fault, IgnoreClose) for fault in self.faults)

    def cut_on_accept(self) -> Cut | None:
        """The cut that happens before a request is read, if there is one."""
        for fault in self.faults:
            if isinstance(fault, Cut) and fault.at == "on_accept":
                return fault
        return None

    def faults_at(self, place: Literal["before_headers", "in_headers", "end"]) -> tuple[Stall | Cut | Comments, ...]:
        """The faults at one of the named places."""
        before = ("before_headers", "on_accept")
        places: tuple[str, ...] = before if place == "before_headers" else (place,)
        return tuple(fault for fault in self.faults if not isinstance(fault, IgnoreClose) and fault.at in places)

    def steps(self) -> Iterator[Packet | Stall | Cut | Comments]:
        """Packets of the body with the faults in their places; the last are the faults at ``"end"``."""
        inside: list[tuple[int, Stall | Cut | Comments]] = []
        for fault in self.faults:
            if not isinstance(fault, IgnoreClose) and isinstance(fault.at, int):
                inside.append((fault.at, fault))
        inside.sort(key=lambda pair: pair[0])
        offset = 0
        for number, packet in enumerate(self._packets()):
            rest, paced = packet, number > 0
            while inside and inside[0][0] < offset + len(rest):
                at, fault = inside.pop(0)
                if at > offset:
                    yield Packet(rest[: at - offset], paced)
                    rest, offset, paced = rest[at - offset :], at, False
                yield fault
            yield Packet(rest, paced)
            offset += len(rest)
        yield from (fault for _, fault in inside)
        yield from self.faults_at("end")

    @cached_property
    def _encoded(self) -> tuple[bytes, ...]:
        parts = (b"".join(self.parts),) if self.packets == "whole" else self.parts
        if not self.gzip:
            return parts
        compressor = zlib.compressobj(wbits=31)  # gzip's own framing, without a time stamp
        packets = [compressor.compress(part) + compressor.flush(zlib.Z_SYNC_FLUSH) for part in parts]
        return (*packets, compressor.flush())

    def _packets(self) -> Iterator[bytes]:
        if isinstance(self.packets, int):
            yield from (self.body[start : start + self.packets] for start in range(0, self.size, self.packets))
        else:
            yield from (packet for packet in self._encoded if packet)


def _headers(content_type: str | None, more: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    own = () if content_type is None else (("content-type", content_type),)
    return _merged(own, more or {})


def _merged(headers: tuple[tuple[str, str], ...], more: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    replaced = {name.lower() for name in more}
    return tuple(pair for pair in headers if pair[0].lower() not in replaced) + tuple(more.items())


def _side_file(path: Path) -> tuple[int, dict[str, str]]:
    side_file = path.with_suffix(".meta.json")
    if not side_file.exists():
        return 200, {}
    meta = json.loads(side_file.read_text(encoding="utf-8"))
    headers: dict[str, str] = meta.get("response_headers", {})
    return meta.get("status", 200), {
        name: value for name, value in headers.items() if name.lower() not in _TRAVEL_HEADERS
    }
