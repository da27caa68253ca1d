"""Answers that are odd and good all the same, and transports that are not the usual ones."""

from __future__ import annotations

from typing import Any

import httpx
import httpx2
import pytest

import nodrop
from nodrop.testing import MistralServer, Reply, Stall, big_event, completion, finish, start, text, usage
from nodrop.testing.wire import encode_item, encode_json
from tests.client.harness import KEY, Side

ITEMS = [start(), text("Caf"), text("é ☕"), finish("stop", usage=usage(3, 2))]
BODY = b"".join(encode_item(item) for item in ITEMS)
WHOLE = completion("Café ☕", usage=usage(3, 2))

GOOD = {
    "compressed": Reply.stream(*ITEMS).gzipped(),
    "byte by byte": Reply.stream(*ITEMS, packets=1),
    "HTTP/1.0": Reply.stream(*ITEMS).as_http10(),
    "ended by closing": Reply.stream(*ITEMS).ended_by_close(),
    "no end marker": Reply.stream(*ITEMS, done=False),
    "no last blank line": Reply.raw(BODY.rstrip(b"\n")),
    "no content type": Reply.raw(BODY, content_type=None),
    "plain text as content type": Reply.raw(BODY, content_type="text/plain"),
    "slow head": Reply.stream(*ITEMS).with_faults(Stall(at="before_headers", seconds=0.05)),
    "head in two pieces": Reply.stream(*ITEMS).with_faults(Stall(at="in_headers", seconds=0.05)),
    "comments": Reply.stream(b": hello\n\n", *ITEMS),
    "201": Reply.stream(*ITEMS, status=201),
    "whole JSON": Reply.json(200, WHOLE),
    "whole JSON, no content type": Reply.raw(encode_json(WHOLE), content_type=None),
    "whole JSON, compressed": Reply.json(200, WHOLE).gzipped(),
    "whole JSON as an event stream": Reply.raw(encode_json(WHOLE)),
}


@pytest.mark.parametrize("reply", GOOD.values(), ids=GOOD)
@pytest.mark.parametrize("streaming", [True, False], ids=["stream", "complete"])
async def test_both_calls_read_whatever_form_comes(
    side: Side, server: MistralServer, reply: Reply, streaming: bool
) -> None:
    server.enqueue(reply)
    async with side.client(server, max_retries=0) as client:
        message = (await client.ask()).message if streaming else await client.complete()
    assert (message.text, message.stop_reason) == ("Café ☕", "stop")
    assert (message.usage.input, message.usage.output) == (3, 2)
    assert message.request_id == "simulated-000000"


async def test_an_event_of_a_mebibyte(side: Side, server: MistralServer) -> None:
    server.enqueue(Reply.stream(start(), big_event(1 << 20), finish()))
    async with side.client(server) as client:
        outcome = await client.ask()
    assert outcome.reason == "stop"
    assert set(outcome.text) == {"x"}
    assert (1 << 20) - 400 < len(outcome.text) < 1 << 20


async def test_connections_are_used_again(side: Side, server: MistralServer) -> None:
    """After a good end in every form, and after an error whose body was read."""
    server.enqueue(
        Reply.stream(*ITEMS),
        Reply.stream(*ITEMS, done=False),
        Reply.json(200, WHOLE),
        Reply.error(400, "No"),
        repeat=True,
    )
    async with side.client(server) as client:
        for _ in range(5):
            await client.ask()
    assert server.connections_opened == 1


async def test_a_body_that_never_ends_after_the_answer(side: Side, server: MistralServer) -> None:
    """The answer is there: nobody waits for the server to end it, and the connection is closed."""
    server.enqueue(Reply.stream(*ITEMS).with_faults(Stall(at="end")))
    async with side.client(server) as client:
        assert (await client.ask()).text == "Café ☕"
        server.wait_for_open_connections(0)


async def test_http2(side: Side) -> None:
    """On the blocking client an abort would end the other requests of the connection: it is refused, with a reason."""
    module: Any = {"httpx": httpx, "httpx2": httpx2}[side.family]
    extensions = {"http_version": b"HTTP/2"}
    transport = module.MockTransport(
        lambda _: module.Response(
            200, content=BODY, headers={"content-type": "text/event-stream"}, extensions=extensions
        )
    )
    http = side.http(transport=transport)
    async with side.client("http://mistral.invalid", http_client=http) as client:
        if side.is_async:
            assert (await client.ask()).text == "Café ☕"
        else:
            stream = client.stream()
            with pytest.raises(nodrop.ConfigurationError, match="HTTP/2"):
                await anext(stream)
            assert [event.type async for event in stream] == ["error"]
    await side.close(http)


async def test_a_transport_of_the_callers_own(side: Side) -> None:
    """One without connections or trace events: everything but the way of the bytes is the same."""
    module: Any = {"httpx": httpx, "httpx2": httpx2}[side.family]
    seen: list[Any] = []

    def answer(request: Any) -> Any:
        seen.append(request)
        if len(seen) == 1:
            raise module.ConnectError("no way")
        return module.Response(200, content=BODY, headers={"content-type": "text/event-stream"})

    http = side.http(transport=module.MockTransport(answer))
    with nodrop.no_retry_waits():
        async with side.client("http://mistral.invalid", http_client=http) as client:
            assert (await client.ask()).text == "Café ☕"
    assert [request.headers["authorization"] for request in seen] == [f"Bearer {KEY}"] * 2
    await side.close(http)


async def test_what_a_hook_of_the_caller_raises_comes_out(side: Side, server: MistralServer) -> None:
    class HookError(Exception):
        pass

    def fail() -> None:
        raise HookError

    async def fail_later(_: Any) -> None:
        fail()

    http = side.http(event_hooks={"response": [fail_later if side.is_async else lambda _: fail()]})
    server.enqueue(Reply.stream(*ITEMS), repeat=True)
    async with side.client(server, http_client=http) as client:
        with pytest.raises(HookError):
            await client.complete()
        with pytest.raises(HookError):
            await anext(client.stream())
        server.wait_for_open_connections(0)
    await side.close(http)
    assert len(server.requests) == 2
