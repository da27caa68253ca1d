"""Leaving a stream without abort(): break, with, cancellation, exceptions, forgetting it. Nothing is left, ever."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import warnings

import pytest

import nodrop
from nodrop.events import Done, Failed, Start, TextDelta
from nodrop.testing import MistralServer, Reply, Stall, finish, start, text
from nodrop.testing.wire import encode_item
from tests.client.harness import Aborter, Side, Stream

HELLO = [start(), text("Hel"), text("lo")]
HELLO_SIZE = sum(len(encode_item(item)) for item in HELLO)
WHOLE = Reply.stream(*HELLO, finish())
STALLED = WHOLE.with_faults(Stall(at=HELLO_SIZE))


class Interrupt(BaseException):
    """Like KeyboardInterrupt, but pytest does not take it for one."""


async def test_breaking_out_inside_with(side: Side, server: MistralServer) -> None:
    server.enqueue(STALLED)
    async with side.client(server) as client:
        async with client.stream() as stream:
            async for event in stream:
                if isinstance(event, TextDelta):
                    break
            began = time.monotonic()
        print(f"{side} leaving with: {(time.monotonic() - began) * 1000:.1f} ms")
        assert time.monotonic() - began < 1.0
        server.wait_for_open_connections(0)
        assert stream.message.stop_reason == "aborted"
        assert stream.message.text in ("Hel", "Hello")
        with pytest.raises(nodrop.AbortedError) as caught:
            await stream.final_message()
        assert caught.value.partial == stream.message


async def test_after_close_what_was_not_read_can_be_read(side: Side, server: MistralServer) -> None:
    """So there is exactly one terminal event, also for a consumer that goes on."""
    server.enqueue(STALLED)
    async with side.client(server) as client:
        stream = client.stream()
        events = [await anext(stream)]
        await stream.close()
        outcome = await stream.outcome(events)
        assert outcome.reason == "aborted"
        assert [event async for event in stream] == []


async def test_leaving_at_the_end_lets_the_connection_be_used_again(side: Side, server: MistralServer) -> None:
    server.enqueue(WHOLE, repeat=True)
    async with side.client(server) as client:
        for _ in range(3):
            async with client.stream() as stream:
                async for event in stream:
                    if isinstance(event, Done):
                        break
            assert stream.message.stop_reason == "stop"
        await client.ask()
        await client.complete()
    assert server.connections_opened == 1


@pytest.mark.parametrize("error", [Interrupt, ValueError])
async def test_an_exception_in_the_consumer(side: Side, server: MistralServer, error: type[BaseException]) -> None:
    server.enqueue(STALLED)
    async with side.client(server) as client:
        with pytest.raises(error):  # noqa: PT012 - it comes out of the inner block
            async with client.stream() as stream:
                await stream.next(TextDelta)
                raise error
        server.wait_for_open_connections(0)
        assert stream.message.stop_reason == "aborted"


async def test_leaving_while_nothing_was_asked(side: Side, server: MistralServer) -> None:
    async with side.client(server) as client:
        async with client.stream() as stream:
            pass
        assert stream.message.stop_reason == "aborted"
        client.stream()  # forgotten before it began: there is nothing to close
    assert server.requests == []


async def test_a_failed_stream_is_closed_by_itself(side: Side, server: MistralServer) -> None:
    """Its consumer may leave at the terminal event, without with: nothing is open, and nobody warns."""
    server.enqueue(Reply.error(400, "No"), Reply.stream(*HELLO, done=False))
    async with side.client(server, max_retries=0) as client:
        for _ in range(2):
            await client.stream().next(Failed)
        gc.collect()


@pytest.mark.parametrize("place", ["before_headers", HELLO_SIZE])
async def test_a_forgotten_stream(side: Side, server: MistralServer, place: str | int) -> None:
    server.enqueue(WHOLE.with_faults(Stall(at=HELLO_SIZE)))
    async with side.client(server) as client:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            stream: Stream | None = client.stream()
            assert stream is not None
            await stream.next(Start if place == "before_headers" else TextDelta)
            del stream
            gc.collect()
            if side.is_async:
                await asyncio.sleep(0)  # the loop closes it
            await _closed(side, server)
        shown = [str(each.message) for each in caught if issubclass(each.category, ResourceWarning)]
        assert len(shown) == 1
        assert "Stream of mistral-test" in shown[0]


async def _closed(side: Side, server: MistralServer) -> None:
    if side.is_async:
        await asyncio.to_thread(server.wait_for_open_connections, 0)
    else:
        server.wait_for_open_connections(0)


def test_a_forgotten_stream_is_closed_although_the_warning_is_an_error(
    server: MistralServer, recwarn: pytest.WarningsRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.enqueue(STALLED)
    monkeypatch.setattr("sys.unraisablehook", lambda _: None)
    with nodrop.Client(api_key="nodrop-testing-key", base_url=server.url) as client, warnings.catch_warnings():
        warnings.simplefilter("error")
        stream = client.stream("mistral-test", "Hi")
        next(stream)
        del stream
        server.wait_for_open_connections(0)


def test_a_finalizer_never_waits_for_a_lock(server: MistralServer) -> None:
    """It may run in the middle of anything, such as the pool's own code with the pool's lock held."""
    server.enqueue(STALLED)
    with nodrop.Client(api_key="nodrop-testing-key", base_url=server.url) as client:
        pool = client._http._transport._pool
        stream = client.stream("mistral-test", "Hi")
        next(stream)
        finalized = threading.Event()

        def finalize() -> None:
            with pool._optional_thread_lock, pytest.warns(ResourceWarning, match="unclosed"):  # noqa: PT031 - the finalizer runs in it
                held.pop()
                finalized.set()

        held = [stream]
        del stream
        thread = threading.Thread(target=finalize, daemon=True)
        thread.start()
        assert finalized.wait(5), "the finalizer waits for a lock that its own thread holds"
        thread.join()
        server.wait_for_open_connections(0)


async def test_closing_the_client_ends_its_streams(side: Side, server: MistralServer) -> None:
    server.enqueue(STALLED, repeat=True)
    async with side.client(server) as client:
        stream = client.stream()
        child = type(client)(client.raw.with_options(max_retries=0), side)
        of_child = child.stream()
        for each in (stream, of_child):
            await each.next(TextDelta)
        began = time.monotonic()
        await child.close()  # its own streams only
        assert [event.type async for event in of_child][-1:] == ["error"]
        assert not client.raw._closing.aborted
        third = client.stream()
        await third.next(TextDelta)
        await client.close()
        for each in (stream, third):
            assert [event.type async for event in each][-1:] == ["error"]
            assert each.message.stop_reason == "aborted"
        assert time.monotonic() - began < 1.0
        server.wait_for_open_connections(0)
        with pytest.raises(nodrop.ConfigurationError, match="closed"):
            client.stream()


def test_closing_the_blocking_client_while_a_read_is_blocked(server: MistralServer) -> None:
    server.enqueue(STALLED)
    client = nodrop.Client(api_key="nodrop-testing-key", base_url=server.url)
    stream = client.stream("mistral-test", "Hi")
    aborter = Aborter(client.close, lambda: server.wait_for_bytes(HELLO_SIZE))
    events = list(stream)
    aborter.freed("closing the client")
    assert isinstance(events[-1], Failed)
    assert stream.message.stop_reason == "aborted"
    server.wait_for_open_connections(0)


def test_closing_a_stream_from_another_thread(server: MistralServer) -> None:
    server.enqueue(STALLED)
    with nodrop.Client(api_key="nodrop-testing-key", base_url=server.url) as client:
        stream = client.stream("mistral-test", "Hi")
        closer = Aborter(stream.close, lambda: server.wait_for_bytes(HELLO_SIZE))
        events = list(stream)
        closer.freed("close() from another thread")
        assert [event.type for event in events if isinstance(event, Done | Failed)] == ["error"]
        server.wait_for_open_connections(0)
