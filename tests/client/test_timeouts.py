"""Connect, silence and total: each ends what it bounds, says which it was and how long, and ends nothing else."""

from __future__ import annotations

import socket
import threading
import time

import pytest

import nodrop
from nodrop.events import TextDelta
from nodrop.testing import Comments, MistralServer, Reply, Stall, finish, start, text, unanswered_url
from nodrop.testing.wire import encode_item
from tests.client.harness import Outcome, Side

HELLO = [start(), text("Hel"), text("lo")]
HELLO_SIZE = sum(len(encode_item(item)) for item in HELLO)
WHOLE = Reply.stream(*HELLO, finish())
SHORT = nodrop.Timeouts(connect=0.4, silence=0.2)
LATE = 1.0
"""How much later than its bound a timeout may come on a busy machine."""


def check_timeout(outcome: Outcome, phase: str, seconds: float, began: float, attempts: int = 1) -> None:
    error = outcome.error
    assert isinstance(error, nodrop.RequestTimedOut)
    assert (error.phase, error.seconds, error.attempts) == (phase, seconds, attempts)
    assert f"{seconds:g} s (the {phase} timeout)" in str(error)
    assert error.is_retryable is (phase != "total")
    assert outcome.reason == "error"
    took = outcome.ended_at - began
    print(f"{phase} timeout of {seconds} s after {took:.3f} s")
    assert seconds * attempts - 0.02 <= took < seconds * attempts + LATE


async def test_connect(side: Side) -> None:
    with unanswered_url() as url:
        async with side.client(url, timeouts=SHORT, max_retries=0) as client:
            began = time.monotonic()
            check_timeout(await client.ask(), "connect", 0.4, began)


async def test_connect_while_the_handshake_stalls(side: Side) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"https://127.0.0.1:{listener.getsockname()[1]}"
        async with side.client(url, timeouts=SHORT, max_retries=0) as client:
            began = time.monotonic()
            check_timeout(await client.ask(), "connect", 0.4, began)


async def test_connect_while_the_name_does_not_resolve(
    side: Side, server: MistralServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No socket can play a resolver that does not answer, so this one test replaces it."""
    answer = threading.Event()
    resolve = socket.getaddrinfo

    def stuck(*args: object, **kwargs: object) -> object:
        answer.wait(5)
        return resolve("127.0.0.1", server.port, type=socket.SOCK_STREAM)

    monkeypatch.setattr(socket, "getaddrinfo", stuck)
    async with side.client("http://nodrop.invalid", timeouts=SHORT, max_retries=0) as client:
        began = time.monotonic()
        check_timeout(await client.ask(), "connect", 0.4, began)
        answer.set()
    if not side.is_async:  # the sender that was left connects now, and says nothing any more
        server.wait_until(lambda: server.connections_opened == 1)
        server.wait_for_open_connections(0)
    assert server.requests == []


@pytest.mark.parametrize(
    ("reply", "partial"),
    [
        (WHOLE.with_faults(Stall(at="before_headers")), ""),
        (WHOLE.with_faults(Stall(at="in_headers")), ""),
        (WHOLE.with_faults(Stall(at=0)), ""),
        (WHOLE.with_faults(Stall(at=HELLO_SIZE)), "Hello"),
        (WHOLE.with_faults(Stall(at=HELLO_SIZE + 40)), "Hello"),
        (Reply.stream(*HELLO, done=False).with_faults(Comments()), "Hello"),
        (WHOLE.with_faults(Stall(at=HELLO_SIZE)).as_http10(), "Hello"),
    ],
    ids=["before the head", "in the head", "before the body", "between events", "inside one", "comments", "HTTP/1.0"],
)
async def test_silence(side: Side, server: MistralServer, reply: Reply, partial: str) -> None:
    server.enqueue(reply)
    async with side.client(server, timeouts=SHORT, max_retries=0) as client:
        began = time.monotonic()
        outcome = await client.ask()
        check_timeout(outcome, "silence", 0.2, began)
        assert outcome.text == partial
        server.wait_for_open_connections(0)


async def test_silence_of_a_whole_answer_and_of_an_error_body(side: Side, server: MistralServer) -> None:
    refusal = Reply.error(400, "Not like this")
    server.enqueue(Reply.whole("Hello").with_faults(Stall(at=10)), refusal.with_faults(Stall(at=refusal.size - 1)))
    async with side.client(server, timeouts=SHORT, max_retries=0) as client:
        with pytest.raises(nodrop.RequestTimedOut, match="silence") as caught:
            await client.complete()
        assert caught.value.phase == "silence"
        with pytest.raises(nodrop.InvalidRequestError) as refused:
            await client.complete()
        assert refused.value.body == refusal.body[:-1]  # what had arrived is kept


@pytest.mark.parametrize(
    "reply",
    [
        Reply.stream(b": ping\n\n", *[text(str(number)) for number in range(10)], finish(), delay=0.05),
        Reply.stream(*[text(str(number)) for number in range(10)], finish(), packets=100, delay=0.02),
    ],
    ids=["after a comment", "in pieces"],
)
async def test_a_stream_that_goes_on_is_not_silent(side: Side, server: MistralServer, reply: Reply) -> None:
    """It lasts longer than the silence, and one read in it brings no event."""
    server.enqueue(reply)
    async with side.client(server, timeouts=nodrop.Timeouts(silence=0.4), max_retries=0) as client:
        began = time.monotonic()
        outcome = await client.ask()
        assert (outcome.text, outcome.reason) == ("0123456789", "stop")
        assert outcome.ended_at - began > 0.4


async def test_the_first_two_are_retried_before_content(side: Side, server: MistralServer) -> None:
    server.enqueue(WHOLE.with_faults(Stall(at=0)), WHOLE)
    notices: list[nodrop.RetryNotice] = []
    with nodrop.no_retry_waits():
        async with side.client(server, timeouts=SHORT, on_retry=notices.append) as client:
            outcome = await client.ask()
    assert outcome.text == "Hello"
    assert [type(notice.error) for notice in notices] == [nodrop.RequestTimedOut]


async def test_connect_is_retried(side: Side) -> None:
    with unanswered_url() as url, nodrop.no_retry_waits():
        async with side.client(url, timeouts=SHORT, max_retries=1) as client:
            began = time.monotonic()
            check_timeout(await client.ask(), "connect", 0.4, began, attempts=2)


@pytest.mark.parametrize(
    ("reply", "partial"),
    [
        (WHOLE.with_faults(Stall(at="before_headers")), ""),
        (Reply.stream(*HELLO, done=False).with_faults(Comments()), "Hello"),
        (Reply.stream(start(), text("Hello"), *[text("")] * 200, finish(), delay=0.02), "Hello"),
        (Reply.error(500, "Not now").with_faults(Stall(at=5)), ""),
    ],
    ids=["before the head", "comments", "events", "error body"],
)
async def test_total(side: Side, server: MistralServer, reply: Reply, partial: str) -> None:
    server.enqueue(reply)
    async with side.client(server, timeouts=nodrop.Timeouts(silence=5.0, total=0.2)) as client:
        began = time.monotonic()
        outcome = await client.ask()
        assert len(server.requests) == 1  # never retried
        assert outcome.text == partial
        if reply.status == 200:
            check_timeout(outcome, "total", 0.2, began)
        else:  # the status was there: it is the cause
            assert isinstance(outcome.error, nodrop.ServerError)
            assert "total timeout" in str(outcome.error)
            assert outcome.ended_at - began < 0.2 + LATE
        server.wait_for_open_connections(0)


async def test_total_while_connecting(side: Side) -> None:
    with unanswered_url() as url:
        async with side.client(url, timeouts=nodrop.Timeouts(connect=0.5, total=0.15)) as client:
            began = time.monotonic()
            check_timeout(await client.ask(), "total", 0.15, began)


async def test_total_leaves_no_time_for_the_next_attempt(side: Side, server: MistralServer) -> None:
    server.enqueue(Reply.error(503, "Service unavailable.", headers={"retry-after": "20"}))
    async with side.client(server, timeouts=nodrop.Timeouts(total=5.0)) as client:
        began = time.monotonic()
        outcome = await client.ask()
    assert isinstance(outcome.error, nodrop.ServerError)
    assert "the next attempt would begin after the total timeout" in str(outcome.error)
    assert outcome.ended_at - began < LATE


async def test_a_slow_consumer_is_not_silence(side: Side, server: MistralServer) -> None:
    server.enqueue(WHOLE)
    async with side.client(server, timeouts=SHORT, max_retries=0) as client:
        stream = client.stream()
        events = [await anext(stream)]
        while not isinstance(events[-1], TextDelta):
            events.append(await anext(stream))
        time.sleep(0.25)  # it is the time that counts here: the consumer thinks for longer than the silence
        assert (await stream.outcome(events)).text == "Hello"
