"""What a server may do to a running answer beside letting it end: cancel it, or fail to send."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from nodrop import AsyncClient
from nodrop.pi.stream import AnswerStream
from nodrop.testing import MistralServer, Reply, Stall, finish, start, text
from tests.pi.gateway import MODEL, read_events

Message = dict[str, Any]
Send = Callable[[Message], Awaitable[None]]
Run = Callable[[Send], Awaitable[None]]


async def forever() -> Message:
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


async def answering(
    mistral: MistralServer, use: Callable[[Callable[[Send], Awaitable[None]]], Awaitable[None]]
) -> None:
    """Runs ``use`` with an answer that stands still after its first words; upstream must be closed at its end."""
    reply = Reply.stream(start(), text("so far"), text("never"), finish())
    mistral.enqueue(reply.with_faults(Stall(at=sum(len(part) for part in reply.parts[:2]))))
    async with AsyncClient(api_key=mistral.api_key, base_url=mistral.url, max_retries=0) as client:
        answer = AnswerStream(client.stream(MODEL, "Hi"), model=MODEL, effort=None, heartbeat=10)

        async def run(send: Send) -> None:
            await answer({"type": "http"}, forever, send)  # type: ignore[arg-type]

        await use(run)
        await asyncio.to_thread(mistral.wait_for_open_connections, 0)


def test_a_cancelled_answer_ends_with_an_error_that_pi_retries(mistral_server: MistralServer) -> None:
    body = bytearray()

    async def send(message: Message) -> None:
        body.extend(message.get("body", b""))

    async def use(run: Run) -> None:
        task = asyncio.ensure_future(run(send))
        while b"so far" not in body:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(answering(mistral_server, use))
    last = read_events(body.decode())[-1]
    assert last["type"] == "error"
    assert "service unavailable" in last["errorMessage"]
    assert last["usage"]["cost"]["total"] == 0


def test_a_client_that_does_not_read_holds_no_shutdown_up(mistral_server: MistralServer) -> None:
    started = asyncio.Event()

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            started.set()
            await asyncio.Event().wait()

    async def use(run: Run) -> None:
        task = asyncio.ensure_future(run(send))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 3)

    asyncio.run(answering(mistral_server, use))


def test_a_send_that_fails_is_a_client_that_left(mistral_server: MistralServer) -> None:
    sent: list[str] = []

    async def send(message: Message) -> None:
        sent.append(message["type"])
        if b"text_delta" in message.get("body", b""):
            raise BrokenPipeError

    async def use(run: Run) -> None:
        await asyncio.wait_for(run(send), 3)

    asyncio.run(answering(mistral_server, use))
    assert sent[0] == "http.response.start"
