"""Every fault at every stage: what it is, what must come of it, and within which time. ``make faults`` prints it all.

A fault is a reply of the embedded Mistral (or a URL that nobody answers); it comes out as a typed error that names the
cause, with all that had arrived in ``partial``, and nothing is left open.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

import nodrop
from nodrop.testing import (
    Comments,
    Cut,
    IgnoreClose,
    MistralServer,
    Reply,
    Stall,
    big_event,
    error_body,
    finish,
    refused_url,
    start,
    text,
    thinking,
    tool_call,
    unanswered_url,
)
from nodrop.testing.wire import StreamItem, encode_item
from tests.client.harness import SIDES, Outcome, Side, nothing_left

BOUNDS = nodrop.Timeouts(connect=0.4, silence=0.2)
WITHIN = 2.0
"""No fault may hold a caller for longer: the bounds above, and what a busy machine adds."""

Errors = tuple[type[nodrop.NodropError], ...]
BROKEN: Errors = (nodrop.ConnectionFailed,)
CUT: Errors = (nodrop.ConnectionFailed, nodrop.StreamTruncatedError)
TRUNCATED: Errors = (nodrop.StreamTruncatedError,)
TIMED_OUT: Errors = (nodrop.RequestTimedOut,)
PROTOCOL: Errors = (nodrop.StreamProtocolError,)


@dataclass(frozen=True)
class Fault:
    """``reply`` of a script, or the ``url`` to call. ``text``, ``thinking``, ``arguments``: what must be there."""

    name: str
    errors: Errors
    reply: Reply | None = None
    url: Callable[[ExitStack], str] | None = None
    text: str = ""
    thinking: str = ""
    arguments: str | None = None
    words: str = ""


def _sizes(items: list[StreamItem]) -> list[int]:
    """The offsets at which the events of a stream begin, and its end."""
    ends = [0]
    for item in items:
        ends.append(ends[-1] + len(encode_item(item)))
    return ends


ANSWER: list[StreamItem] = [
    start(),
    thinking("Hm."),
    text("Caf"),
    text("é ☕"),
    tool_call("aB3dE5gH7", "look_up", '{"city": "', index=0),
    tool_call(arguments='Paris"}', index=0),
    finish("tool_calls"),
]
AT = _sizes(ANSWER)
WHOLE = Reply.stream(*ANSWER)
IN_CHARACTER = AT[3] + encode_item(ANSWER[3]).index("☕".encode()) + 1
# The stages of a body: where they are, and what has arrived by then.
STAGES: dict[str, tuple[int, str, str, str | None]] = {
    "before the first event": (0, "", "", None),
    "after the empty first event": (AT[1], "", "", None),
    "in thinking": (AT[2], "", "Hm.", None),
    "inside an event": (AT[3] - 20, "", "Hm.", None),
    "inside a line end": (AT[3] - 1, "Caf", "Hm.", None),
    "between events": (AT[3], "Caf", "Hm.", None),
    "inside a character": (IN_CHARACTER, "Caf", "Hm.", None),
    "in an argument": (AT[5], "Café ☕", "Hm.", '{"city": "'),
    "before the finish": (AT[6], "Café ☕", "Hm.", '{"city": "Paris"}'),
}
KINDS: dict[str, tuple[Callable[[int], Cut | Stall], Errors]] = {
    "closed": (lambda at: Cut(at=at), CUT),
    "reset": (lambda at: Cut(at=at, how="abrupt"), BROKEN),
    "ended": (lambda at: Cut(at=at, how="polite"), TRUNCATED),
    "stalled": (lambda at: Stall(at=at), TIMED_OUT),
}


def _in_the_body() -> list[Fault]:
    found: list[Fault] = []
    for kind, (cut, errors) in KINDS.items():
        for stage, (at, said, thought, arguments) in STAGES.items():
            pause = (
                (Stall(at=at, seconds=0.04),) if kind == "reset" else ()
            )  # a reset may overtake what was sent before
            found.append(
                Fault(f"{kind} {stage}", errors, WHOLE.with_faults(*pause, cut(at)), None, said, thought, arguments)
            )
    return found


def _https(stack: ExitStack) -> str:
    server = stack.enter_context(MistralServer())
    return server.url.replace("http:", "https:")


REFUSAL = Reply.error(400, "Not like this")
DOWN = error_body("Down", type="internal_error")
PAGE = "<html><title>Sign in</title></html>"
BAD_GATEWAY = Reply.raw(PAGE, content_type="text/html", status=502)
ZIPPED = {"content-encoding": "gzip"}
FAULTS: list[Fault] = [
    Fault("refused", BROKEN, url=lambda stack: stack.enter_context(refused_url()), words="ConnectError"),
    Fault("no answer", TIMED_OUT, url=lambda stack: stack.enter_context(unanswered_url()), words="connect"),
    Fault("no TLS on the other side", BROKEN, url=_https, words="SSL"),
    Fault("no such name", BROKEN, url=lambda _: "http://nodrop.invalid"),
    Fault("reset on accept", BROKEN, WHOLE.with_faults(Cut(at="on_accept", how="abrupt"))),
    Fault("closed on accept", BROKEN, WHOLE.with_faults(Cut(at="on_accept"))),
    Fault("reset before the head", BROKEN, WHOLE.with_faults(Cut(at="before_headers", how="abrupt"))),
    Fault("closed before the head", BROKEN, WHOLE.with_faults(Cut(at="before_headers"))),
    Fault("reset in the head", BROKEN, WHOLE.with_faults(Cut(at="in_headers", how="abrupt"))),
    Fault("closed in the head", BROKEN, WHOLE.with_faults(Cut(at="in_headers"))),
    Fault("stalled before the head", TIMED_OUT, WHOLE.with_faults(Stall(at="before_headers")), words="silence"),
    Fault("stalled in the head", TIMED_OUT, WHOLE.with_faults(Stall(at="in_headers")), words="silence"),
    *_in_the_body(),
    Fault("comments without end", TIMED_OUT, WHOLE.with_faults(Comments(at=AT[3])), None, "Caf", "Hm."),
    Fault("comments before content", TIMED_OUT, WHOLE.with_faults(Comments(at=0))),
    Fault("stalled, close ignored", TIMED_OUT, WHOLE.with_faults(Stall(at=AT[3]), IgnoreClose()), None, "Caf", "Hm."),
    Fault("cut, HTTP/1.0", TRUNCATED, WHOLE.as_http10().with_faults(Cut(at=AT[4])), None, "Café ☕", "Hm."),
    Fault("cut, compressed", CUT, Reply.stream(*ANSWER).gzipped().with_faults(Cut(at=60))),
    Fault("broken compression", BROKEN, Reply.raw("x" * 50, headers=ZIPPED), words="DecodingError"),
    Fault("a redirect", (nodrop.StatusError,), Reply.redirect("http://127.0.0.1:1/"), words="redirects"),
    Fault("a web page", PROTOCOL, Reply.raw(PAGE, content_type="text/html"), words="Sign in"),
    Fault("plain text", PROTOCOL, Reply.raw("It works!\n", content_type="text/plain"), words="no event stream"),
    Fault("no content type, no stream", PROTOCOL, Reply.raw("It works!\n", content_type=None), words="no event stream"),
    Fault("JSON that is no completion", (*PROTOCOL, nodrop.ContentRejectedError), Reply.json(200, {"ok": True})),
    Fault("half of a JSON answer", CUT, Reply.whole("Hello").with_faults(Cut(at=30))),
    Fault("an event over the limit", PROTOCOL, Reply.raw(big_event(1 << 20)), words="larger than"),
    Fault("a line without end", PROTOCOL, Reply.raw(b"data: " + b"x" * 300_000), words="larger than"),
    Fault("an empty body", TRUNCATED, Reply.raw("")),
    Fault("an error frame", (nodrop.ServerError,), Reply.stream(text("Half"), DOWN), text="Half"),
    Fault("an error page", (nodrop.ServerError,), BAD_GATEWAY, words="502"),
    Fault("an error without body", (nodrop.ServerError,), Reply.raw("", content_type=None, status=504), words="504"),
    Fault("an error body that is cut", (nodrop.InvalidRequestError,), REFUSAL.with_faults(Cut(at=20)), words="400"),
    Fault("an error body that stalls", (nodrop.InvalidRequestError,), REFUSAL.with_faults(Stall(at=20)), words="400"),
]  # fmt: skip


@dataclass(frozen=True)
class Result:
    """What came of a fault, and how long it took."""

    outcome: Outcome
    seconds: float
    requests: int


async def play(fault: Fault, side: Side) -> Result:
    """Meets one fault, with no further attempt, and checks that its connection is closed."""
    with ExitStack() as stack:
        server = stack.enter_context(MistralServer())
        url = fault.url(stack) if fault.url is not None else server.url
        if fault.reply is not None:
            server.enqueue(fault.reply)
        async with side.client(url, timeouts=BOUNDS, max_retries=0, max_event_bytes=200_000) as client:
            began = time.monotonic()
            outcome = await client.ask()
            seconds = time.monotonic() - began
            if side.is_async:
                await asyncio.sleep(0)
            server.wait_until(lambda: server.open_connections <= (1 if _ends_well(fault) else 0))
        return Result(outcome, seconds, len(server.requests))


def _ends_well(fault: Fault) -> bool:
    """Whether HTTP ended as it should, so that the connection may be kept."""
    return fault.reply is not None and not any(
        not isinstance(each, Cut) or each.how != "polite" for each in fault.reply.faults
    )


def check(fault: Fault, result: Result) -> None:
    """The right error, in time, and nothing lost of what had arrived."""
    error, message = result.outcome.error, result.outcome.message
    assert isinstance(error, fault.errors), f"{type(error).__name__}: {error}"
    assert fault.words in str(error)
    assert result.seconds < WITHIN
    assert message.stop_reason == "error"
    assert isinstance(error, nodrop.APIError)
    assert error.partial == message
    assert (message.text, message.thinking) == (fault.text, fault.thinking)
    calls = message.tool_calls
    assert [call.raw_arguments for call in calls] == ([] if fault.arguments is None else [fault.arguments])
    assert result.requests <= 1


def main() -> int:
    """Prints the table; ends with 1 if a fault did not come out as it must."""
    wrong = 0
    print(f"{'fault':34} {'':12} {'outcome':24} {'seconds':>8}  kept")
    for fault in FAULTS:
        for side in SIDES:
            with nothing_left():
                result = side.run(play(fault, side))
            verdict = ""
            try:
                check(fault, result)
            except AssertionError as problem:
                verdict, wrong = f"  WRONG: {problem}", wrong + 1
            kept = result.outcome.message
            held = f"{kept.thinking!r} {kept.text!r} {[call.raw_arguments for call in kept.tool_calls]}"
            error = type(result.outcome.error).__name__
            print(f"{fault.name:34} {side!s:12} {error:24} {result.seconds:8.3f}  {held}{verdict}")
    print(f"{len(FAULTS)} faults, each on {len(SIDES)} clients; {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
