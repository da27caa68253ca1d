"""asyncio's own ways to leave: cancelling the task, asyncio.timeout, TaskGroup, a loop that ends."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import nodrop
from nodrop.client.async_sender import close_whole
from nodrop.events import Done, Failed, TextDelta
from nodrop.testing import MistralServer, Reply, Stall, finish, start, text, unanswered_url
from nodrop.testing.wire import encode_item
from tests.client.harness import KEY, SIDES, Client, Side, Stream

HELLO = [start(), text("Hel"), text("lo")]
HELLO_SIZE = sum(len(encode_item(item)) for item in HELLO)
WHOLE = Reply.stream(*HELLO, finish())
STATES = {
    "waiting for the head": WHOLE.with_faults(Stall(at="before_headers")),
    "in the body": WHOLE.with_faults(Stall(at=HELLO_SIZE)),
    "in the backoff": Reply.error(500, "Later", headers={"retry-after": "30"}),
}


@pytest.fixture(params=[side for side in SIDES if side.is_async], ids=str)
def side(request: pytest.FixtureRequest) -> Side:
    found: Side = request.param
    return found


async def _reached(server: MistralServer, state: str, waiting: threading.Event) -> None:
    if state == "in the backoff":
        await asyncio.to_thread(waiting.wait, 5)
    elif state == "in the body":
        await asyncio.to_thread(server.wait_for_bytes, HELLO_SIZE)
    else:
        await asyncio.to_thread(server.wait_for_requests, 1)


async def _read_so_far(stream: Stream, value: str) -> None:
    while stream.message.text != value:
        await asyncio.sleep(0.001)


def _others() -> set[asyncio.Task[object]]:
    current = asyncio.current_task()
    return {task for task in asyncio.all_tasks() if task is not current}


async def _no_task_left() -> None:
    """httpcore's generators are closed by tasks of the loop's own, in its next turns."""
    for _ in range(10):
        if not _others():
            return
        await asyncio.sleep(0)
    raise AssertionError(f"left: {_others()}")


async def with_block(client: Client) -> None:
    async with client.stream() as stream:
        async for _ in stream:
            pass


async def bare_loop(client: Client) -> None:
    async for _ in client.stream():
        pass


async def complete(client: Client) -> None:
    await client.complete()


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("consume", [with_block, bare_loop, complete])
async def test_cancelling_the_task(
    side: Side, server: MistralServer, state: str, consume: Callable[[Client], Awaitable[None]]
) -> None:
    server.enqueue(STATES[state])
    waiting = threading.Event()
    async with side.client(server, on_retry=lambda _: waiting.set()) as client:
        task = asyncio.ensure_future(consume(client))
        await _reached(server, state, waiting)
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        print(f"{side} cancelled {state}: {(time.monotonic() - began) * 1000:.1f} ms")
        assert time.monotonic() - began < 1.0
        del task
        await _no_task_left()
        await asyncio.to_thread(server.wait_for_open_connections, 0 if state != "in the backoff" else 1)


async def test_cancelling_while_connecting(side: Side) -> None:
    with unanswered_url() as url:
        async with side.client(url) as client:
            task = asyncio.ensure_future(bare_loop(client))
            await asyncio.sleep(0.05)  # no fact tells that a connection is under way everywhere
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await _no_task_left()


@pytest.mark.parametrize("state", STATES)
async def test_a_timeout_around_the_loop(side: Side, server: MistralServer, state: str) -> None:
    server.enqueue(STATES[state])
    async with side.client(server) as client:
        stream = client.stream()
        began = time.monotonic()
        with pytest.raises(TimeoutError):  # noqa: PT012 - what is cut off is the whole block
            async with asyncio.timeout(0.2):
                async with stream:
                    async for _ in stream:
                        pass
        assert 0.15 < time.monotonic() - began < 1.2
        assert stream.message.stop_reason == "aborted"
        assert stream.message.text == ("Hello" if state == "in the body" else "")
        await _no_task_left()


async def test_a_timeout_around_one_event_ends_the_stream_and_says_so(side: Side, server: MistralServer) -> None:
    """A read that was cancelled cannot be taken up again: the next event is the terminal one, with all that came."""
    server.enqueue(WHOLE.with_faults(Stall(at=HELLO_SIZE)))
    async with side.client(server) as client:
        stream = client.stream()
        events = []
        with pytest.raises(TimeoutError):  # noqa: PT012 - what is cut off is the whole block
            while True:
                events.append(await asyncio.wait_for(anext(stream), 0.2))
        outcome = await stream.outcome(events)
        assert isinstance(outcome.events[-1], Failed)
        assert (outcome.reason, outcome.text) == ("aborted", "Hello")


async def test_a_cancellation_loses_no_event(side: Side, server: MistralServer) -> None:
    """Whichever turn of the loop it comes in: what was handed out is what the message holds."""
    words = [text(f"{number} ") for number in range(300)]
    server.enqueue(Reply.stream(start(), *words, finish(), packets="whole"), repeat=True)
    async with side.client(server) as client:
        for turn in range(12):
            stream = client.stream()
            seen: list[str] = []

            async def consume(stream: object = stream, seen: list[str] = seen) -> None:
                async for event in stream:  # type: ignore[attr-defined]
                    if isinstance(event, TextDelta):
                        seen.append(event.delta)

            task = asyncio.ensure_future(consume())
            while not seen:
                await asyncio.sleep(0)
            for _ in range(turn):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            async for event in stream:
                if isinstance(event, TextDelta):
                    seen.append(event.delta)
            assert "".join(seen) == stream.message.text
            await stream.close()


async def test_an_abort_from_a_task(side: Side, server: MistralServer) -> None:
    server.enqueue(STATES["in the body"])
    async with side.client(server) as client, asyncio.TaskGroup() as tasks:
        stream = client.stream()

        async def abort() -> float:
            await _read_so_far(stream, "Hello")
            stream.abort()
            return time.monotonic()

        aborting = tasks.create_task(abort())
        outcome = await stream.outcome()
        assert outcome.ended_at - await aborting < 1.0
        assert (outcome.reason, outcome.text) == ("aborted", "Hello")


async def test_closing_from_another_task(side: Side, server: MistralServer) -> None:
    server.enqueue(STATES["in the body"])
    async with side.client(server) as client, asyncio.TaskGroup() as tasks:
        stream = client.stream()

        async def close() -> None:
            await _read_so_far(stream, "Hello")
            await stream.close()
            assert not stream.raw._driver.holds_connection

        tasks.create_task(close())
        outcome = await stream.outcome()
        assert (outcome.reason, outcome.text) == ("aborted", "Hello")


def test_a_client_of_another_loop(server: MistralServer) -> None:
    """Its idle connections belong to the loop that has ended: a clear error, not one of asyncio's."""
    server.enqueue(WHOLE, repeat=True)
    client = nodrop.AsyncClient(api_key=KEY, base_url=server.url)

    async def once(client: nodrop.AsyncClient) -> str:
        return (await client.complete("mistral-test", "Hi")).text

    with pytest.raises(nodrop.ConfigurationError, match="event loop"):
        asyncio.run(_in_two_loops(client, once))


async def _in_two_loops(client: nodrop.AsyncClient, once: Callable[[nodrop.AsyncClient], Awaitable[str]]) -> None:
    assert await once(client) == "Hello"
    try:
        await asyncio.to_thread(asyncio.run, once(client))  # type: ignore[arg-type]
    finally:
        await client.close()


@pytest.mark.parametrize("how", ["cancel", "abort", "both"])
async def test_in_any_turn_of_the_loop_no_connection_is_lost(side: Side, server: MistralServer, how: str) -> None:
    """The HTTP library forgets connections that are cancelled in certain turns: they would be in use for ever."""
    server.enqueue(WHOLE, repeat=True)
    http = side.http(verify=False)
    pool = http._transport._pool
    async with side.client(server, http_client=http, max_retries=0) as client:
        for fresh in (True, False):
            for turns in range(0, 70, 1 if fresh else 3):
                if fresh:
                    await _idle(pool)
                    await pool.aclose()  # the next request connects anew
                stream = client.stream()
                task = asyncio.ensure_future(_read(stream))
                for _ in range(turns):
                    await asyncio.sleep(0)
                if how != "cancel":
                    stream.abort()
                if how != "abort":
                    task.cancel()
                await asyncio.wait([task])
                await stream.close()
                await _idle(pool)
        assert (await client.ask()).text == "Hello"
    await side.close(http)


@pytest.mark.parametrize("marker", [True, False], ids=["after the answer", "at the end of the input"])
async def test_while_a_connection_goes_back_to_the_pool(side: Side, server: MistralServer, marker: bool) -> None:
    server.enqueue(Reply.stream(*HELLO, finish(), done=marker, packets="whole"), repeat=True)
    http = side.http(verify=False)
    async with side.client(server, http_client=http, max_retries=0) as client:
        for turns in range(16):
            stream = client.stream()
            await stream.next(Done if marker else TextDelta)
            await asyncio.to_thread(server.wait_until, lambda: server.replies[-1].finished_at is not None)
            task = asyncio.ensure_future(_read(stream))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            await stream.close()
            await _idle(http._transport._pool)
    await side.close(http)


@pytest.mark.parametrize("turns", range(4))
async def test_closing_cannot_be_cut_in_half(side: Side, server: MistralServer, turns: int) -> None:
    """httpx waits a turn of the loop while it closes: cancelled there, it never takes that up again."""
    server.enqueue(WHOLE)
    async with side.http(verify=False) as http:
        headers = {"authorization": f"Bearer {KEY}"}
        request = http.build_request("POST", f"{server.url}/v1/chat/completions", json={}, headers=headers)
        response = await http.send(request, stream=True)
        async for _ in response.stream:  # to the end, without the closing that aiter_raw() does
            pass
        close_whole(response)
        closing = asyncio.ensure_future(response.aclose())
        for _ in range(turns):
            await asyncio.sleep(0)
        closing.cancel()
        await asyncio.wait([closing])
        await response.aclose()  # as the driver does when it is left
        await _idle(http._transport._pool)


async def _read(stream: Stream) -> None:
    async for _ in stream:
        pass


async def _idle(pool: Any) -> None:
    """Waits until no request is in a pool, and every connection of it is idle or closed."""
    end = time.monotonic() + 3.0

    def at_work() -> list[object]:
        return [*pool._requests, *(each for each in pool.connections if not each.is_idle() and not each.is_closed())]

    while at_work():
        assert time.monotonic() < end, at_work()
        await asyncio.sleep(0.001)
