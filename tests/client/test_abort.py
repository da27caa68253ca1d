"""An abort, from another thread, in every state of a request: free at once, partial kept, connection closed."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path

import pytest

import nodrop
from nodrop.events import Event, TextDelta
from nodrop.testing import (
    Comments,
    IgnoreClose,
    MistralServer,
    Reply,
    Stall,
    finish,
    start,
    text,
    unanswered_url,
)
from nodrop.testing.wire import encode_item
from tests.client.harness import Aborter, Outcome, Side, connecting_to
from tests.client.tls import tls_in_front_of

HELLO = [start(), text("Hel"), text("lo")]
HELLO_SIZE = sum(len(encode_item(item)) for item in HELLO)
WHOLE = Reply.stream(*HELLO, finish())


def check_aborted(outcome: Outcome, partial: str = "") -> None:
    assert isinstance(outcome.error, nodrop.AbortedError)
    assert outcome.reason == "aborted"
    assert outcome.text == partial
    assert outcome.error.partial == outcome.message


async def test_before_the_request_nothing_is_sent(side: Side, server: MistralServer) -> None:
    async with side.client(server) as client:
        stream = client.stream()
        stream.abort()
        outcome = await stream.outcome()
        check_aborted(outcome)
        assert outcome.kinds == ["error"]
        signal = nodrop.AbortSignal()
        signal.abort()
        with pytest.raises(nodrop.AbortedError):
            await client.complete(signal=signal)
    assert server.requests == []
    assert server.connections_opened == 0


async def test_while_connecting(side: Side) -> None:
    with unanswered_url() as url:
        async with side.client(url, timeouts=nodrop.Timeouts(connect=1.0)) as client:
            stream = client.stream()
            aborter = Aborter(stream.abort, connecting_to(url))
            outcome = await stream.outcome()
            aborter.freed(f"{side} connecting", outcome.ended_at)
            check_aborted(outcome)
            assert outcome.kinds == ["error"]


async def test_in_the_tls_handshake(side: Side) -> None:
    """A listener that accepts and says nothing: the blocking client has no handle on the socket yet."""
    accepted = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        taken: list[socket.socket] = []

        def accept() -> None:
            taken.append(listener.accept()[0])
            taken[0].recv(1)  # the client's first words
            accepted.set()

        acceptor = threading.Thread(target=accept)
        acceptor.start()
        url = f"https://127.0.0.1:{listener.getsockname()[1]}"
        async with side.client(url, timeouts=nodrop.Timeouts(connect=0.6), max_retries=0) as client:
            stream = client.stream()
            aborter = Aborter(stream.abort, lambda: accepted.wait(5))
            outcome = await stream.outcome()
            aborter.freed(f"{side} in the handshake", outcome.ended_at)
            check_aborted(outcome)
        acceptor.join()
        taken[0].close()


@pytest.mark.parametrize("place", ["before_headers", "in_headers"])
async def test_waiting_for_the_head_on_a_new_connection(side: Side, server: MistralServer, place: str) -> None:
    server.enqueue(WHOLE.with_faults(Stall(at=place)))  # type: ignore[arg-type]
    async with side.client(server) as client:
        stream = client.stream()
        aborter = Aborter(stream.abort, lambda: server.wait_for_requests(1))
        outcome = await stream.outcome()
        aborter.freed(f"{side} waiting for the head, {place}", outcome.ended_at)
        check_aborted(outcome)
        assert outcome.kinds == ["error"]
        server.wait_for_open_connections(0)


async def test_waiting_for_the_head_on_a_reused_connection(side: Side, server: MistralServer) -> None:
    server.enqueue(WHOLE, WHOLE.with_faults(Stall(at="before_headers")), WHOLE)
    async with side.client(server) as client:
        assert (await client.ask()).text == "Hello"
        stream = client.stream()
        aborter = Aborter(stream.abort, lambda: server.wait_for_requests(2))
        outcome = await stream.outcome()
        aborter.freed(f"{side} waiting for the head, reused", outcome.ended_at)
        check_aborted(outcome)
        assert server.requests[1].connection == server.requests[0].connection
        server.wait_for_open_connections(0)
        assert (await client.ask()).text == "Hello"


async def test_in_the_backoff(side: Side, server: MistralServer) -> None:
    server.enqueue(Reply.error(500, "Try later", headers={"retry-after": "30"}))
    waiting = threading.Event()
    async with side.client(server, on_retry=lambda _: waiting.set()) as client:
        stream = client.stream()
        aborter = Aborter(stream.abort, lambda: waiting.wait(5))
        outcome = await stream.outcome()
        aborter.freed(f"{side} in the backoff", outcome.ended_at)
        check_aborted(outcome)
    assert len(server.requests) == 1


IN_THE_BODY = {
    "between events": (WHOLE.with_faults(Stall(at=HELLO_SIZE)), HELLO_SIZE),
    "inside an event": (WHOLE.with_faults(Stall(at=HELLO_SIZE + 30)), HELLO_SIZE + 30),
    "after the last byte": (Reply.stream(*HELLO, done=False).with_faults(Stall(at="end")), HELLO_SIZE),
    "endless comments": (Reply.stream(*HELLO, done=False).with_faults(Comments()), HELLO_SIZE),
    "close ignored": (Reply.stream(*HELLO, done=False).with_faults(Stall(at="end"), IgnoreClose()), HELLO_SIZE),
    "comments, close ignored": (
        Reply.stream(*HELLO, done=False).with_faults(Comments(seconds=1.0), IgnoreClose()),
        HELLO_SIZE,
    ),
    "compressed": (Reply.stream(*HELLO).gzipped().with_faults(Stall(at="end")), 1),
    "HTTP/1.0": (Reply.stream(*HELLO, done=False).as_http10().with_faults(Stall(at="end")), HELLO_SIZE),
}


@pytest.mark.parametrize("state", [state for state in IN_THE_BODY if state != "compressed"])
async def test_in_the_body(side: Side, server: MistralServer, state: str) -> None:
    reply, sent = IN_THE_BODY[state]
    server.enqueue(reply)
    async with side.client(server) as client:
        stream = client.stream()
        events: list[Event] = []
        while "".join(event.delta for event in events if isinstance(event, TextDelta)) != "Hello":
            events.append(await anext(stream))
        aborter = Aborter(stream.abort, lambda: server.wait_for_bytes(sent))
        outcome = await stream.outcome(events)
        aborter.freed(f"{side} {state}", outcome.ended_at)
        check_aborted(outcome, "Hello")
        assert "text_end" not in outcome.kinds  # a block that was open has no end
        server.wait_for_open_connections(0)
    assert server.replies[0].client_closed_at is not None


async def test_over_tls(side: Side, server: MistralServer, certificate: Path) -> None:
    server.enqueue(WHOLE, WHOLE.with_faults(Stall(at="before_headers")), WHOLE.with_faults(Stall(at=HELLO_SIZE)), WHOLE)
    with tls_in_front_of(server.port, certificate) as url:
        async with side.client(url) as client:
            assert (await client.ask()).text == "Hello"
            stream = client.stream()
            aborter = Aborter(stream.abort, lambda: server.wait_for_requests(2))
            check_aborted(await stream.outcome())
            aborter.freed(f"{side} waiting for the head, TLS")
            assert server.requests[1].connection == server.requests[0].connection
            stream = client.stream()
            events: list[Event] = []
            while "".join(event.delta for event in events if isinstance(event, TextDelta)) != "Hello":
                events.append(await anext(stream))
            aborter = Aborter(stream.abort, lambda: server.wait_for_bytes(HELLO_SIZE, reply=2))
            check_aborted(await stream.outcome(events), "Hello")
            aborter.freed(f"{side} between events, TLS")
            server.wait_for_open_connections(0)
            assert (await client.ask()).text == "Hello"


async def test_in_a_compressed_body(side: Side, server: MistralServer) -> None:
    whole = Reply.stream(*HELLO).gzipped()
    server.enqueue(whole.with_faults(Stall(at=whole.size - 30)))
    async with side.client(server) as client:
        stream = client.stream()
        await stream.next(TextDelta)
        aborter = Aborter(stream.abort, lambda: server.wait_for_bytes(whole.size - 30))
        async for _ in stream:
            pass
        aborter.freed(f"{side} compressed")
        assert stream.message.stop_reason == "aborted"
        assert "Hello".startswith(stream.message.text)
        server.wait_for_open_connections(0)


@pytest.mark.parametrize(
    "reply",
    [
        Reply.error(400, "No such thing").with_faults(Stall(at=20)),
        Reply.whole("Hello").with_faults(Stall(at=20)),
        Reply.raw("<html><title>Portal</title></html>", content_type="text/html").with_faults(Stall(at=20)),
    ],
    ids=["error body", "whole completion", "web page"],
)
async def test_in_a_body_that_is_no_stream(side: Side, server: MistralServer, reply: Reply) -> None:
    server.enqueue(reply)
    async with side.client(server) as client:
        signal = nodrop.AbortSignal()
        aborter = Aborter(signal.abort, lambda: server.wait_for_bytes(20))
        with pytest.raises(nodrop.AbortedError):
            await client.complete(signal=signal)
        aborter.freed(f"{side} in a body that is no stream")
        server.wait_for_open_connections(0)


async def test_one_signal_ends_several_streams(side: Side, server: MistralServer) -> None:
    server.enqueue(WHOLE.with_faults(Stall(at=HELLO_SIZE)), repeat=True)
    signal = nodrop.AbortSignal()
    async with side.client(server) as client:
        streams = [client.stream(signal=signal) for _ in range(5)]
        for stream in streams:
            await stream.next(TextDelta)
        began = time.monotonic()
        signal.abort()
        for stream in streams:
            async for _ in stream:
                pass
            assert stream.message.stop_reason == "aborted"
            assert stream.message.text in ("Hel", "Hello")
        assert time.monotonic() - began < 1.0
        with pytest.raises(nodrop.AbortedError):
            await client.complete(signal=signal)  # it stays aborted
        server.wait_for_open_connections(0)
    assert signal._callbacks == {}


async def test_a_signal_keeps_nothing_of_what_has_ended(side: Side, server: MistralServer) -> None:
    server.enqueue(WHOLE, Reply.error(400, "No"), WHOLE)
    signal = nodrop.AbortSignal()
    async with side.client(server) as client:
        await client.ask(signal=signal)
        await client.ask(signal=signal)
        async with client.stream(signal=signal) as stream:
            await stream.next(TextDelta)
        client.stream(signal=signal)  # never begun
    assert signal._callbacks == {}
    assert client.raw._closing._callbacks == {}


async def test_an_abort_at_the_end_changes_nothing(side: Side, server: MistralServer) -> None:
    server.enqueue(WHOLE)
    async with side.client(server) as client:
        stream = client.stream()
        outcome = await stream.outcome()
        stream.abort()
        await stream.close()
        assert [event async for event in stream] == []
        assert stream.message == outcome.message
        assert outcome.reason == "stop"
