"""Each fault really happens on the wire: what a plain socket sees, and what httpx makes of it."""

from __future__ import annotations

import socket
import threading
import time
import zlib
from collections.abc import Callable
from typing import Literal

import httpx
import pytest

from nodrop.testing import (
    DONE,
    Comments,
    Cut,
    IgnoreClose,
    MistralServer,
    Place,
    Reply,
    Stall,
    big_event,
    finish,
    refused_url,
    text,
    unanswered_url,
)
from tests.testing.peer import QUESTION, TIMEOUT, End, Peer, dechunked

How = Literal["clean", "abrupt"]
ENDS: list[tuple[How, End]] = [("clean", "eof"), ("abrupt", "reset")]
# Small, with a character of three bytes, so that every offset can be tried.
SHORT = Reply.stream("é✅", "b")


def ask(server: MistralServer) -> httpx.Response:
    return httpx.post(
        server.url + "/v1/chat/completions",
        json=QUESTION,
        headers={"authorization": f"Bearer {server.api_key}"},
        timeout=TIMEOUT,
    )


# ---- before there is a reply ----


def test_connection_refused() -> None:
    with refused_url() as url, pytest.raises(httpx.ConnectError):
        httpx.get(url)


def test_connecting_takes_for_ever() -> None:
    with unanswered_url() as url, pytest.raises(httpx.ConnectTimeout):
        httpx.get(url, timeout=0.1)


@pytest.mark.parametrize(("how", "end"), ENDS)
def test_cut_on_accept(mistral_server: MistralServer, how: How, end: End) -> None:
    mistral_server.enqueue(Reply.stream().with_faults(Cut(at="on_accept", how=how)), SHORT)
    seen: tuple[bytes, End]
    try:
        with Peer(mistral_server) as peer:
            seen = peer.read_to_end()
    except ConnectionResetError:  # so early that connecting has met it
        seen = b"", "reset"
    assert seen == (b"", end)
    assert (mistral_server.requests, mistral_server.connections_opened, mistral_server.pending) == ([], 1, 1)
    assert ask(mistral_server).text == SHORT.body.decode()


def test_cut_on_accept_of_a_connection_that_was_there_before(mistral_server: MistralServer) -> None:
    cut = Reply.stream().with_faults(Cut(at="on_accept", how="abrupt"))
    mistral_server.enqueue(SHORT, cut)
    with Peer(mistral_server) as peer:
        peer.ask()
        peer.read_head()
        peer.read_chunks()
        peer.ask()
        assert peer.read_to_end() == (b"", "reset")
    assert len(mistral_server.requests) == 2


def test_cut_on_accept_repeats_and_yields_to_a_handler(mistral_server: MistralServer) -> None:
    mistral_server.enqueue(Reply.stream().with_faults(Cut(at="on_accept")), repeat=True)
    for _ in range(2):
        with Peer(mistral_server) as peer:
            assert peer.read_to_end() == (b"", "eof")
    mistral_server.handler = lambda _: SHORT
    assert ask(mistral_server).status_code == 200


@pytest.mark.parametrize(("how", "end"), ENDS)
def test_cut_before_headers(mistral_server: MistralServer, how: How, end: End) -> None:
    mistral_server.enqueue(Reply.stream().with_faults(Cut(at="before_headers", how=how)), repeat=True)
    with Peer(mistral_server) as peer:
        peer.ask()
        assert peer.read_to_end() == (b"", end)
    with pytest.raises(httpx.RemoteProtocolError if how == "clean" else httpx.ReadError):
        ask(mistral_server)
    mistral_server.wait_until(lambda: mistral_server.replies[0].finished_at is not None)


@pytest.mark.parametrize(("how", "end"), ENDS)
def test_cut_in_headers(mistral_server: MistralServer, how: How, end: End) -> None:
    mistral_server.enqueue(SHORT, SHORT.with_faults(Cut(at="in_headers", how=how)))
    with Peer(mistral_server) as peer:
        peer.ask()
        whole = peer.read_head()
        peer.read_chunks()
        peer.ask()
        half, seen = peer.read_to_end()
    assert whole.startswith(half[: half.rindex(b"\r\n")])
    assert 20 < len(half) < len(whole)
    assert seen == end


@pytest.mark.parametrize("place", ["before_headers", "in_headers"])
def test_slow_headers(mistral_server: MistralServer, place: Place) -> None:
    go_on = threading.Event()
    mistral_server.enqueue(SHORT.with_faults(Stall(at=place, until=go_on)))
    with Peer(mistral_server) as peer:
        peer.ask()
        mistral_server.wait_for_requests(1)
        if place == "in_headers":
            peer.read_until(b"200 OK")
            assert b"\r\n\r\n" not in peer.take()
        assert peer.hears_nothing()
        go_on.set()
        peer.read_until(b"\r\n\r\n")
        assert b"".join(peer.read_chunks()) == SHORT.body


def test_a_stall_takes_its_time(mistral_server: MistralServer) -> None:
    mistral_server.enqueue(SHORT.with_faults(Stall(at="before_headers", seconds=0.08)))
    before = time.monotonic()
    assert ask(mistral_server).text == SHORT.body.decode()
    assert time.monotonic() - before >= 0.08


# ---- inside the body ----


def test_a_stall_at_every_byte(mistral_server: MistralServer) -> None:
    for at in range(SHORT.size + 1):
        go_on = threading.Event()
        mistral_server.enqueue(SHORT.with_faults(Stall(at=at, until=go_on)))
        with Peer(mistral_server) as peer:
            peer.ask()
            peer.read_head()
            sent = b""
            while len(sent) < at:
                sent += peer.read_chunk()
            assert sent == SHORT.body[:at]
            assert peer.hears_nothing(0.002)
            assert mistral_server.replies[-1].finished_at is None
            go_on.set()
            assert sent + b"".join(peer.read_chunks()) == SHORT.body


@pytest.mark.parametrize(("how", "end"), ENDS)
def test_a_cut_at_every_byte(mistral_server: MistralServer, how: How, end: End) -> None:
    for at in range(SHORT.size + 1):
        mistral_server.enqueue(SHORT.with_faults(Cut(at=at, how=how)))
        with Peer(mistral_server) as peer:
            peer.ask()
            wire, seen = peer.read_to_end()
        assert dechunked(wire.partition(b"\r\n\r\n")[2]) == (SHORT.body[:at], False)
        assert seen == end
        assert mistral_server.replies[-1].bytes_sent == at


@pytest.mark.parametrize(("how", "error"), [("clean", httpx.RemoteProtocolError), ("abrupt", httpx.ReadError)])
@pytest.mark.parametrize("place", [3, "end"])
def test_what_httpx_makes_of_a_cut(
    mistral_server: MistralServer, how: How, error: type[Exception], place: Place
) -> None:
    mistral_server.enqueue(SHORT.with_faults(Cut(at=place, how=how)))
    with pytest.raises(error):
        ask(mistral_server)


def test_what_the_peer_has_read_survives_a_reset(mistral_server: MistralServer) -> None:
    read = threading.Event()
    mistral_server.enqueue(SHORT.with_faults(Stall(at=16, until=read), Cut(at=16, how="abrupt")))
    with Peer(mistral_server) as peer:
        peer.ask()
        peer.read_head()
        assert peer.read_chunk() == SHORT.body[:13]
        assert peer.read_chunk() == SHORT.body[13:16]
        read.set()
        assert peer.read_to_end() == (b"", "reset")


def test_a_polite_cut_is_whole_http_and_keeps_the_connection(mistral_server: MistralServer) -> None:
    mistral_server.enqueue(
        SHORT.with_faults(Cut(at=9, how="polite")),
        Reply.json(200, "abcdef").with_faults(Cut(at=4, how="polite")),
        SHORT,
    )
    with httpx.Client(
        base_url=mistral_server.url, headers={"authorization": f"Bearer {mistral_server.api_key}"}
    ) as client:
        bodies = [client.post("/v1/chat/completions", json=QUESTION).content for _ in range(3)]
    assert bodies == [SHORT.body[:9], b'"abc', SHORT.body]
    assert mistral_server.connections_opened == 1


def test_a_cut_of_a_body_with_a_length(mistral_server: MistralServer) -> None:
    mistral_server.enqueue(Reply.json(200, "abcdef").with_faults(Cut(at=4)), repeat=True)
    with Peer(mistral_server) as peer:
        peer.ask()
        assert b"content-length: 8\r\n" in peer.read_head()
        assert peer.read_to_end() == (b'"abc', "eof")
    with pytest.raises(httpx.RemoteProtocolError):
        ask(mistral_server)


def test_a_stream_without_done(mistral_server: MistralServer) -> None:
    mistral_server.enqueue(Reply.stream(text("a"), finish(), done=False))
    answer = ask(mistral_server).content
    assert DONE not in answer
    assert answer.endswith(b"}\n\n")


def test_a_big_event_arrives_whole(mistral_server: MistralServer) -> None:
    mistral_server.enqueue(Reply.stream(big_event(1 << 20)))
    assert ask(mistral_server).content == big_event(1 << 20) + DONE


# ---- odd kinds of reply ----


def test_a_wrong_content_type(mistral_server: MistralServer) -> None:
    mistral_server.enqueue(
        Reply.raw(SHORT.body, content_type="text/html", status=520),
        SHORT.with_headers({"Content-Type": "application/json"}),
        Reply.raw(b"x", content_type=None),
    )
    html = ask(mistral_server)
    assert (html.status_code, html.reason_phrase, html.headers["content-type"]) == (520, "", "text/html")
    assert html.content == SHORT.body
    assert ask(mistral_server).headers["content-type"] == "application/json"
    assert "content-type" not in ask(mistral_server).headers


def test_a_status_with_headers_and_body(mistral_server: MistralServer) -> None:
    mistral_server.enqueue(Reply.error(429, "Slow down", headers={"retry-after": "2", "x-odd": "é"}))
    response = ask(mistral_server)
    assert (response.status_code, response.reason_phrase) == (429, "Too Many Requests")
    assert response.headers["retry-after"] == "2"
    assert dict(response.headers.raw)[b"x-odd"] == "é".encode("latin-1")
    assert response.json()["message"] == "Slow down"


def test_a_redirect(mistral_server: MistralServer) -> None:
    mistral_server.enqueue(Reply.redirect("/v1/chat/completions"), SHORT)
    response = ask(mistral_server)
    assert (response.status_code, response.headers["location"], response.content) == (307, "/v1/chat/completions", b"")


def test_gzip_of_a_whole_answer(mistral_server: MistralServer) -> None:
    mistral_server.enqueue(Reply.whole("Hello").gzipped())
    response = ask(mistral_server)
    assert response.headers["content-encoding"] == "gzip"
    assert response.content == Reply.whole("Hello").body


def test_gzip_of_a_stream_can_be_read_event_by_event(mistral_server: MistralServer) -> None:
    first = Reply.stream("a", done=False)
    go_on = threading.Event()
    reply = Reply.stream("a", "b").gzipped()
    at = len(first.gzipped().body) - 10  # without gzip's trailer and the block that ends it
    mistral_server.enqueue(reply.with_faults(Stall(at=at, until=go_on)))
    decompressor = zlib.decompressobj(wbits=31)
    with Peer(mistral_server) as peer:
        peer.ask()
        assert b"content-encoding: gzip\r\n" in peer.read_head()
        assert decompressor.decompress(peer.read_chunk()) == first.body
        assert peer.hears_nothing(0.01)
        go_on.set()
        rest = b"".join(decompressor.decompress(chunk) for chunk in peer.read_chunks())
    assert first.body + rest == Reply.stream("a", "b").body
    assert decompressor.eof


def test_http10(mistral_server: MistralServer) -> None:
    mistral_server.enqueue(SHORT.as_http10(), SHORT.as_http10().with_faults(Cut(at=5)), SHORT.as_http10())
    with Peer(mistral_server) as peer:
        peer.ask()
        head = peer.read_head()
        assert head.startswith(b"HTTP/1.0 200 OK\r\n")
        assert b"chunked" not in head
        assert b"content-length" not in head
        assert peer.read_to_end() == (SHORT.body, "eof")
    # Here nothing but the content tells a cut from an end.
    assert ask(mistral_server).content == SHORT.body[:5]
    response = ask(mistral_server)
    assert (response.http_version, response.content) == ("HTTP/1.0", SHORT.body)


def test_http11_ended_by_close(mistral_server: MistralServer) -> None:
    mistral_server.enqueue(SHORT.ended_by_close())
    response = ask(mistral_server)
    assert (response.http_version, response.content) == ("HTTP/1.1", SHORT.body)
    assert response.headers["connection"] == "close"
    assert not {"transfer-encoding", "content-length"} & set(response.headers)


# ---- never ending ----


def test_never_close_after_the_last_event(mistral_server: MistralServer) -> None:
    mistral_server.enqueue(SHORT.with_faults(Stall(at="end")))
    with Peer(mistral_server) as peer:
        peer.ask()
        peer.read_head()
        body = b"".join(peer.read_chunk() for _ in range(3))
        assert body == SHORT.body
        assert peer.hears_nothing()
        before = time.monotonic()
    played = mistral_server.replies[0]
    mistral_server.wait_until(lambda: played.client_closed_at is not None)
    assert played.client_closed_at is not None
    assert before <= played.client_closed_at < before + TIMEOUT
    assert (played.bytes_sent, played.finished_at) == (SHORT.size, None)
    mistral_server.wait_for_open_connections(0)


def test_endless_comments(mistral_server: MistralServer) -> None:
    mistral_server.enqueue(SHORT.with_faults(Comments(at=13, every=0.001)))
    with Peer(mistral_server) as peer:
        peer.ask()
        peer.read_head()
        assert peer.read_chunk() == SHORT.body[:13]
        assert {peer.read_chunk() for _ in range(20)} == {b": ping\n\n"}
    mistral_server.wait_for_open_connections(0)
    played = mistral_server.replies[0]
    assert (played.bytes_sent, played.client_closed_at is None) == (13, False)


def test_comments_for_a_time(mistral_server: MistralServer) -> None:
    mistral_server.enqueue(SHORT.with_faults(Comments(every=0.005, seconds=0.05)))
    before = time.monotonic()
    answer = ask(mistral_server).content
    assert time.monotonic() - before >= 0.05
    assert answer.startswith(SHORT.body + b": ping\n\n")
    assert answer.removeprefix(SHORT.body).replace(b": ping\n\n", b"") == b""


def test_ignoring_that_the_client_left(mistral_server: MistralServer) -> None:
    go_on = threading.Event()
    reply = SHORT.with_faults(IgnoreClose(), Stall(at=13, until=go_on))
    mistral_server.enqueue(reply)
    with Peer(mistral_server) as peer:
        peer.ask()
        peer.read_head()
        assert peer.read_chunk() == SHORT.body[:13]
        peer.socket.shutdown(socket.SHUT_WR)
        mistral_server.wait_for_open_connections(0)
        played = mistral_server.replies[0]
        assert played.client_closed_at is not None
        go_on.set()
        assert b"".join(peer.read_chunks()) == SHORT.body[13:]
        assert peer.hears_nothing()
        mistral_server.close()
        assert peer.read_to_end() == (b"", "eof")


def test_ignoring_a_client_that_is_really_gone(mistral_server: MistralServer) -> None:
    reply = SHORT.paced(delay=0.005, packets=1).with_faults(IgnoreClose(), Stall(at="end", seconds=0.01))
    mistral_server.enqueue(reply)
    with Peer(mistral_server) as peer:
        peer.ask()
        peer.read_head()
    played = mistral_server.replies[0]
    mistral_server.wait_for_bytes(SHORT.size)
    mistral_server.wait_for_open_connections(0)
    assert played.client_closed_at is not None
    assert played.client_closed_at - played.request.at < TIMEOUT


# ---- every wait ends ----


def _big(_: int) -> Reply:
    return Reply.stream(*[b"x" * (1 << 20)] * 64)


WAITS: dict[str, Callable[[int], Reply]] = {
    "stall before headers": lambda _: SHORT.with_faults(Stall(at="before_headers")),
    "stall in headers": lambda _: SHORT.with_faults(Stall(at="in_headers")),
    "stall in the body": lambda at: SHORT.with_faults(Stall(at=at)),
    "stall for an event": lambda at: SHORT.with_faults(Stall(at=at, until=threading.Event())),
    "stall for an hour": lambda at: SHORT.with_faults(Stall(at=at, seconds=3600)),
    "comments": lambda at: SHORT.with_faults(Comments(at=at, every=3600)),
    "comments without a pause": lambda at: SHORT.with_faults(Comments(at=at, every=0)),
    "pace": lambda _: SHORT.paced(delay=3600),
    "a peer that does not read": _big,
}


@pytest.mark.parametrize("wait", WAITS)
def test_closing_the_server_ends_every_wait(wait: str) -> None:
    server = MistralServer()
    server.enqueue(WAITS[wait](13))
    with Peer(server, receive_buffer=4096) as peer:
        peer.ask()
        server.wait_for_requests(1)
        before = time.monotonic()
        server.close()
        assert time.monotonic() - before < 2
        peer.read_to_end()
    assert server.replies[0].finished_at is None
    assert server.open_connections == 0
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("nodrop-testing")]


@pytest.mark.parametrize("wait", WAITS)
def test_the_client_s_leaving_ends_every_wait(mistral_server: MistralServer, wait: str) -> None:
    mistral_server.enqueue(WAITS[wait](13))
    with Peer(mistral_server, receive_buffer=4096) as peer:
        peer.ask()
        mistral_server.wait_for_requests(1)
        left = time.monotonic()
    mistral_server.wait_for_open_connections(0)
    played = mistral_server.replies[0]
    assert played.client_closed_at is not None
    assert left <= played.client_closed_at < left + 2
    assert played.finished_at is None


def test_a_held_connection_is_closed_with_the_server() -> None:
    server = MistralServer()
    server.enqueue(SHORT.with_faults(IgnoreClose()))
    with Peer(server) as peer:
        peer.ask()
        peer.read_head()
        assert b"".join(peer.read_chunks()) == SHORT.body
        assert peer.hears_nothing()
        server.close()
        assert peer.read_to_end() == (b"", "eof")
