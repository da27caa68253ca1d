"""Packets and pauses are as asked."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from nodrop.testing import DONE, MistralServer, Packets, Reply
from tests.testing.peer import Peer


def chunks(server: MistralServer, reply: Reply) -> list[bytes]:
    server.enqueue(reply)
    with Peer(server) as peer:
        peer.ask()
        peer.read_head()
        return peer.read_chunks()


@pytest.mark.parametrize(
    ("packets", "expected"),
    [
        ("events", [b"data: a\n\n", b"data: b\n\n", DONE]),
        ("whole", [b"data: a\n\ndata: b\n\n" + DONE]),
        (20, [b"data: a\n\ndata: b\n\nda", b"ta: [DONE]\n\n"]),
    ],
)
def test_each_packet_is_one_http_chunk(mistral_server: MistralServer, packets: Packets, expected: list[bytes]) -> None:
    assert chunks(mistral_server, Reply.stream("a", "b", packets=packets)) == expected


def test_byte_by_byte(mistral_server: MistralServer) -> None:
    reply = Reply.stream("é", packets=1)
    assert chunks(mistral_server, reply) == [bytes([byte]) for byte in reply.body]


def test_pauses_are_between_packets(mistral_server: MistralServer) -> None:
    before = time.monotonic()
    assert len(chunks(mistral_server, Reply.stream("a", "b", "c", delay=0.02))) == 4
    assert time.monotonic() - before >= 0.06


def test_a_recorded_stream_goes_out_event_by_event(mistral_server: MistralServer, tmp_path: Path) -> None:
    (tmp_path / "a.sse").write_bytes(b"data: a\r\n\r\ndata: [DONE]\r\n\r\n")
    reply = Reply.recorded(tmp_path / "a.sse")
    assert chunks(mistral_server, reply) == [b"data: a\r\n\r\n", b"data: [DONE]\r\n\r\n"]
    assert chunks(mistral_server, reply.paced(packets="whole")) == [b"data: a\r\n\r\ndata: [DONE]\r\n\r\n"]
