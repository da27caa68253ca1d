"""Retries: the pure decision by table, and what it makes of real exchanges."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import Literal

import pytest

import nodrop
from nodrop import errors
from nodrop.core.retry import GiveUp, Retry, RetryPolicy, after_failure
from nodrop.core.retry_after import requested_wait
from nodrop.errors import NodropError
from nodrop.testing import (
    Cut,
    MistralServer,
    Reply,
    error_body,
    finish,
    refused_url,
    start,
    text,
    thinking,
    tool_call,
)
from tests.client.harness import Side

POLICY = RetryPolicy(max_retries=2, max_delay=60.0)
WHOLE = Reply.stream(start(), text("Hello"), finish())

RETRIED = {
    "connection": errors.ConnectionFailed("x"),
    "connect timeout": errors.RequestTimedOut("x", phase="connect"),
    "silence": errors.RequestTimedOut("x", phase="silence"),
    "408": errors.ServerError("x", status=408),
    "429": errors.RateLimitError("x", status=429),
    "capacity": errors.CapacityError("x", status=429),
    "500": errors.ServerError("x", status=500),
    "520": errors.ServerError("x", status=520),
    "529": errors.ServerError("x", status=529),
    "503 in a stream": errors.ServerError("x", status=503, in_stream=True),
    "cut": errors.StreamTruncatedError("x"),
}
NEVER = {
    "total timeout": errors.RequestTimedOut("x", phase="total"),
    "quota": errors.RateLimitError("x", status=429, is_retryable=False),
    "400": errors.InvalidRequestError("x", status=400),
    "401": errors.AuthenticationError("x", status=401),
    "404": errors.NotFoundError("x", status=404),
    "307": errors.StatusError("x", status=307),
    "overflow": errors.ContextOverflowError("x"),
    "content": errors.ContentRejectedError("x"),
    "protocol": errors.StreamProtocolError("x"),
    "finish_reason error": errors.ServerReportedError("x"),
    "abort": errors.AbortedError(),
    "configuration": errors.ConfigurationError("x"),
    "unsupported": errors.UnsupportedContentError("x"),
}


def decide(error: NodropError, attempt: int = 1, delivered: bool = False, jitter: float = 0.0) -> Retry | GiveUp:
    return after_failure(error, attempt=attempt, delivered=delivered, policy=POLICY, jitter=jitter)


@pytest.mark.parametrize("error", RETRIED.values(), ids=RETRIED)
def test_what_is_retried(error: NodropError) -> None:
    assert decide(error) == Retry(0.5)
    assert decide(error, attempt=2) == Retry(1.0)
    assert decide(error, attempt=3) == GiveUp()
    assert decide(error, delivered=True) == GiveUp()


@pytest.mark.parametrize("error", NEVER.values(), ids=NEVER)
def test_what_never_is(error: NodropError) -> None:
    assert decide(error) == GiveUp()


def test_every_error_of_the_tree_is_in_one_of_the_two_tables() -> None:
    named = {type(error) for error in (*RETRIED.values(), *NEVER.values())}
    leaves = {
        cls
        for cls in vars(errors).values()
        if isinstance(cls, type) and issubclass(cls, NodropError) and not cls.__subclasses__()
    }
    assert leaves - named - {errors.OutputParseError} == set()


def test_backoff_doubles_up_to_a_bound() -> None:
    policy = RetryPolicy(max_retries=10)
    waits = [
        after_failure(RETRIED["500"], attempt=attempt, delivered=False, policy=policy, jitter=0.0)
        for attempt in range(1, 8)
    ]
    assert waits == [Retry(seconds) for seconds in (0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0)]


@pytest.mark.parametrize(
    ("asked", "jitter", "wait"), [(2.0, 0.0, 2.0), (2.0, 1.0, 2.5), (0.0, 1.0, 0.0), (60.0, 0.0, 60.0)]
)
def test_a_wait_that_the_server_asks_for_is_never_shortened(asked: float, jitter: float, wait: float) -> None:
    assert decide(errors.RateLimitError("x", status=429, retry_after=asked), jitter=jitter) == Retry(wait)


def test_a_wait_that_is_too_long_ends_it_and_says_so() -> None:
    decision = decide(errors.RateLimitError("x", status=429, retry_after=61.0))
    assert isinstance(decision, GiveUp)
    assert "61 s" in decision.why
    assert "max_retry_delay (60 s)" in decision.why


NOW = 1_790_000_000.0


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after": formatdate(NOW + 30, usegmt=True)}, 30.0),
        ({"retry-after": formatdate(NOW - 30, usegmt=True)}, 0.0),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "3", "ratelimitbysize-reset": "9"}, 3.0),
        ({"ratelimitbysize-reset": "9"}, 9.0),
        ({"retry-after": "soon", "ratelimitbysize-reset": "9"}, 9.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "Fri, 99 Foo 2026 00:00:00 GMT"}, None),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, 253402300799.0 - NOW),
        ({"retry-after": ""}, None),
        ({"retry-after-ms": "x", "retry-after": "1"}, 1.0),
        ({"retry-after": "1e400"}, None),
        ({"retry-after": "2, 2"}, None),
    ],
)
def test_requested_wait(headers: dict[str, str], wait: float | None) -> None:
    assert requested_wait(headers, now=NOW) == wait


# ---- over HTTP ----


async def test_waits_are_real_and_seen(side: Side, server: MistralServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "nodrop")
    server.enqueue(Reply.error(503, "Service unavailable.", headers={"retry-after": "0.3"}), WHOLE)
    notices: list[nodrop.RetryNotice] = []
    async with side.client(server, on_retry=notices.append) as client:
        outcome = await client.ask()
    assert outcome.text == "Hello"
    assert outcome.kinds.count("start") == 1
    waited = server.requests[1].at - server.requests[0].at
    assert 0.3 <= notices[0].wait <= 0.3 * 1.25
    assert notices[0].wait <= waited < notices[0].wait + 1.0
    assert (notices[0].attempt, type(notices[0].error)) == (1, nodrop.ServerError)
    (line,) = [record.getMessage() for record in caplog.records if record.name == "nodrop"]
    assert "attempt 1 failed, next in 0.3" in line
    assert "Service unavailable." in line


@pytest.mark.parametrize(
    ("headers", "least"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"ratelimitbysize-reset": "5"}, 5.0),
        ({}, 0.5),
        (lambda: {"retry-after": formatdate(time.time() + 20, usegmt=True)}, 18.0),
    ],
    ids=["seconds", "milliseconds", "rate-limit reset", "backoff", "date"],
)
async def test_the_switch_takes_the_wait_out_and_still_tells_it(
    side: Side, server: MistralServer, headers: dict[str, str] | Callable[[], dict[str, str]], least: float
) -> None:
    given = headers if isinstance(headers, dict) else headers()
    server.enqueue(Reply.error(429, "Rate limit exceeded", type="rate_limited", headers=given), WHOLE)
    notices: list[nodrop.RetryNotice] = []
    began = time.monotonic()
    with nodrop.no_retry_waits():
        async with side.client(server, on_retry=notices.append) as client:
            assert (await client.ask()).text == "Hello"
    assert time.monotonic() - began < least + 1.0
    assert least <= notices[0].wait <= (least + 2.0) * 1.25


FAILURES = {
    "reset before the head": WHOLE.with_faults(Cut(at="before_headers", how="abrupt")),
    "closed before the head": WHOLE.with_faults(Cut(at="before_headers")),
    "closed in the head": WHOLE.with_faults(Cut(at="in_headers")),
    "closed before the body": WHOLE.with_faults(Cut(at=0)),
    "body ends before content": WHOLE.with_faults(Cut(at=10, how="polite")),
    "an empty body": Reply.raw(""),
    "an empty 204": Reply.raw("", status=204),
    "an error frame": Reply.stream(error_body("Internal error", type="internal_error", code="3000"), done=False),
    "a frame of a gateway": Reply.stream({"error": {"message": "Overloaded", "code": 503}}),
    "408": Reply.error(408, "Too slow"),
    "429": Reply.error(429, "Rate limit exceeded", type="rate_limited"),
    "529": Reply.error(529, "Overloaded"),
}


@pytest.mark.parametrize("reply", FAILURES.values(), ids=FAILURES)
async def test_a_failure_before_content(side: Side, server: MistralServer, reply: Reply) -> None:
    server.enqueue(reply, reply, WHOLE)
    with nodrop.no_retry_waits():
        async with side.client(server) as client:
            outcome = await client.ask()
    assert (outcome.text, outcome.reason) == ("Hello", "stop")
    assert outcome.kinds.count("start") == 1
    assert [request.body == server.requests[0].body for request in server.requests] == [True] * 3


@pytest.mark.parametrize("reply", FAILURES.values(), ids=FAILURES)
async def test_attempts_run_out(side: Side, server: MistralServer, reply: Reply) -> None:
    server.enqueue(reply, repeat=True)
    with nodrop.no_retry_waits():
        async with side.client(server, max_retries=1) as client:
            outcome = await client.ask()
    assert isinstance(outcome.error, nodrop.APIError)
    assert outcome.error.attempts == len(server.requests) == 2
    assert str(outcome.error).endswith("(after 2 attempts)")
    assert outcome.error.is_retryable


async def test_a_refused_connection(side: Side) -> None:
    notices: list[nodrop.RetryNotice] = []
    with refused_url() as url, nodrop.no_retry_waits():
        async with side.client(url, on_retry=notices.append) as client:
            outcome = await client.ask()
    assert isinstance(outcome.error, nodrop.ConnectionFailed)
    assert "ConnectError" in str(outcome.error)
    assert f"the connection to {url.removeprefix('http://')} failed" in str(outcome.error)
    assert len(notices) == 2


@pytest.mark.parametrize(
    "first",
    [text("Hel"), thinking("Hm"), tool_call("aB3dE5gH7", "look", "{", index=0)],
    ids=["text", "thinking", "call"],
)
async def test_never_after_content(side: Side, server: MistralServer, first: dict[str, object]) -> None:
    server.enqueue(Reply.stream(start(), first, done=False).with_faults(Cut(at="end")))
    async with side.client(server) as client:
        outcome = await client.ask()
    assert isinstance(outcome.error, nodrop.ConnectionFailed | nodrop.StreamTruncatedError)
    assert outcome.error.attempts == len(server.requests) == 1
    assert "attempts" not in str(outcome.error)
    assert len(outcome.message.content) == 1


CUT_WHOLE = Reply.whole("Hello wide world")
CUT_PLACE = CUT_WHOLE.body.index(b"wide world")


@pytest.mark.parametrize("how", ["clean", "polite"])
async def test_a_whole_answer_that_breaks_off_is_tried_again_and_kept_when_attempts_run_out(
    side: Side, server: MistralServer, how: Literal["clean", "polite"]
) -> None:
    cut = CUT_WHOLE.with_faults(Cut(at=CUT_PLACE, how=how))
    server.enqueue(cut, CUT_WHOLE, cut, cut)
    with nodrop.no_retry_waits():
        async with side.client(server, max_retries=1) as client:
            assert (await client.complete()).text == "Hello wide world"
            with pytest.raises(nodrop.APIError) as caught:
                await client.complete()
    assert isinstance(caught.value, nodrop.StreamTruncatedError if how == "polite" else nodrop.ConnectionFailed)
    assert caught.value.partial is not None
    assert caught.value.partial.text == "Hello "
    assert caught.value.attempts == 2
    assert len(server.requests) == 4


QUOTA = [
    "Monthly token limit exceeded",
    "insufficient_quota: top up",
    "You exceeded your current quota, please check your plan and billing details",
    "monthly usage limit reached",
    "out of budget",
]


@pytest.mark.parametrize("words", QUOTA)
async def test_quota_and_billing_never(side: Side, server: MistralServer, words: str) -> None:
    server.enqueue(Reply.error(429, words, type="rate_limited"))
    async with side.client(server) as client:
        outcome = await client.ask()
    assert isinstance(outcome.error, nodrop.RateLimitError)
    assert not outcome.error.is_retryable
    assert len(server.requests) == 1


async def test_a_server_that_asks_for_too_much(side: Side, server: MistralServer) -> None:
    server.enqueue(Reply.error(429, "Rate limit exceeded", headers={"retry-after": "3600"}))
    async with side.client(server, max_retry_delay=30.0) as client:
        outcome = await client.ask()
    assert isinstance(outcome.error, nodrop.RateLimitError)
    assert outcome.error.retry_after == 3600
    assert "the server asks to wait 3600 s, more than max_retry_delay (30 s)" in str(outcome.error)
    assert outcome.error.is_retryable  # later, and by the caller


async def test_what_on_retry_raises_comes_out_and_ends_the_request(side: Side, server: MistralServer) -> None:
    class Stop(Exception):
        pass

    def stop(_: nodrop.RetryNotice) -> None:
        raise Stop

    server.enqueue(Reply.error(500, "No"))
    async with side.client(server, on_retry=stop) as client:
        with pytest.raises(Stop):
            await client.complete()
        assert len(server.requests) == 1
        stream = client.stream()
        server.enqueue(Reply.error(500, "No"))
        with pytest.raises(Stop):
            await anext(stream)
        assert [event.type async for event in stream] == ["error"]
        assert stream.message.stop_reason == "aborted"


async def test_a_connection_that_the_server_closed_while_it_was_idle(side: Side, server: MistralServer) -> None:
    server.enqueue(WHOLE.ended_by_close(), WHOLE, WHOLE)
    async with side.client(server) as client:
        for _ in range(3):
            assert (await client.ask()).text == "Hello"
    assert len(server.requests) == 3
    assert server.connections_opened == 2
