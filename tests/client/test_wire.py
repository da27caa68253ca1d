"""The wire level over HTTP: the generated models as they come, both candidates, typed errors, retries, aborts."""

from __future__ import annotations

import pytest

import nodrop
from nodrop.testing import (
    Cut,
    MistralServer,
    Reply,
    Stall,
    chunk,
    completion,
    content,
    error_body,
    finish,
    image_part,
    message,
    start,
    text,
    usage,
)
from nodrop.wire import ChatCompletionRequest, ChatCompletionResponse, CompletionChunk
from tests.client.harness import Aborter, Client, Side, Stream

REQUEST = ChatCompletionRequest.model_validate(
    {"model": "mistral-test", "messages": [{"role": "user", "content": "Hi"}], "n": 2}
)
CANDIDATES = [
    start(),
    chunk({"role": "assistant", "content": ""}, index=1),
    text("one"),
    text("two", index=1),
    finish("stop"),
    chunk({}, finish_reason="stop", index=1, usage=usage(3, 2)),
]


def said(chunks: list[CompletionChunk]) -> list[tuple[int, object]]:
    return [(choice.index, choice.delta.content) for each in chunks for choice in each.choices or ()]


async def read(stream: Stream) -> tuple[list[CompletionChunk], nodrop.NodropError | None]:
    """All chunks, and what was raised at the end."""
    chunks: list[CompletionChunk] = []
    try:
        async for each in stream:
            chunks.append(each)
    except nodrop.NodropError as error:
        return chunks, error
    return chunks, None


async def test_both_candidates_come_as_they_were_sent(side: Side, server: MistralServer) -> None:
    server.enqueue(Reply.stream(*CANDIDATES))
    async with side.client(server) as client:
        chunks, error = await read(client.wire_stream(REQUEST))
    assert error is None
    assert said(chunks) == [(0, ""), (1, ""), (0, "one"), (1, "two"), (0, ""), (1, None)]
    assert [choice.finish_reason for choice in chunks[-1].choices or ()] == ["stop"]
    assert server.requests[0].body == {
        "model": "mistral-test",
        "messages": [{"role": "user", "content": "Hi"}],
        "n": 2,
        "stream": True,
    }


async def test_chunks_come_one_by_one(side: Side, server: MistralServer) -> None:
    reply = Reply.stream(*CANDIDATES)
    size = len(reply.parts[0])
    server.enqueue(reply.with_faults(Stall(at=size)))
    async with side.client(server) as client:
        stream = client.wire_stream(REQUEST)
        first = await anext(stream)
        assert said([first]) == [(0, "")]  # although nothing more comes
        aborter = Aborter(stream.abort, lambda: server.wait_for_bytes(size))
        chunks, error = await read(stream)
        aborter.freed(f"{side} wire stream")
        assert chunks == []
        assert isinstance(error, nodrop.AbortedError)
        server.wait_for_open_connections(0)


async def test_content_that_a_chat_rejects_is_handed_out(side: Side, server: MistralServer) -> None:
    server.enqueue(Reply.stream(start(), content(image_part("data:,")), finish()))
    async with side.client(server) as client:
        chunks, error = await read(client.wire_stream(REQUEST))
    assert error is None
    raw = chunks[1].model_dump(mode="json")
    assert raw["choices"][0]["delta"]["content"][0]["image_url"] == {"url": "data:,"}


async def test_a_chunk_that_the_models_refuse(side: Side, server: MistralServer) -> None:
    odd = content({"type": "hologram", "data": "xyz"})
    reply = Reply.stream(start(), odd, finish())
    server.enqueue(reply)
    async with side.client(server) as client:
        chunks, error = await read(client.wire_stream(REQUEST))
        server.wait_for_open_connections(0)
    assert len(chunks) == 1
    assert isinstance(error, nodrop.ContentRejectedError)
    assert error.raw == reply.parts[1].removeprefix(b"data: ").strip()
    assert error.wire_type == "hologram"
    assert "xyz" not in f"{error} {error!r}"


async def test_retries_before_the_first_chunk(side: Side, server: MistralServer) -> None:
    server.enqueue(
        Reply.error(503, "Service unavailable."),
        Reply.stream(error_body("Internal error", type="internal_error"), done=False),
        Reply.stream(*CANDIDATES),
    )
    with nodrop.no_retry_waits():
        async with side.client(server) as client:
            chunks, error = await read(client.wire_stream(REQUEST))
    assert error is None
    assert len(chunks) == len(CANDIDATES)
    assert len(server.requests) == 3


async def test_never_after_the_first_chunk(side: Side, server: MistralServer) -> None:
    server.enqueue(Reply.stream(start(), text("one"), done=False).with_faults(Cut(at="end")))
    async with side.client(server) as client:
        chunks, error = await read(client.wire_stream(REQUEST))
    assert said(chunks) == [(0, ""), (0, "one")]
    assert isinstance(error, nodrop.ConnectionFailed)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply.error(401, {"detail": "Invalid API Key"}), nodrop.AuthenticationError),
        (Reply.error(400, "prompt is too long"), nodrop.ContextOverflowError),
        (Reply.stream(start(), done=False), nodrop.StreamTruncatedError),
        (Reply.raw("data: what?\n\n"), nodrop.StreamProtocolError),
        (Reply.raw("<html>", content_type="text/html"), nodrop.StreamProtocolError),
    ],
    ids=["key", "overflow", "cut", "no JSON", "web page"],
)
async def test_errors_are_typed_and_raised(
    side: Side, server: MistralServer, reply: Reply, kind: type[nodrop.NodropError]
) -> None:
    server.enqueue(reply, repeat=True)
    async with side.client(server, max_retries=0) as client:
        _, error = await read(client.wire_stream(REQUEST))
        assert type(error) is kind
        assert error.__context__ is None
        with pytest.raises(kind):
            await client.wire_complete(REQUEST)


async def test_the_whole_form(side: Side, server: MistralServer) -> None:
    server.enqueue(
        Reply.json(
            200,
            completion(
                choices=[
                    {"index": number, "finish_reason": "stop", "message": message(word)}
                    for number, word in enumerate(("one", "two"))
                ],
                usage=usage(3, 2),
            ),
        )
    )
    async with side.client(server) as client:
        response = await client.wire_complete(REQUEST)
    assert isinstance(response, ChatCompletionResponse)
    assert [choice.message.content for choice in response.choices] == ["one", "two"]  # type: ignore[union-attr]
    assert server.requests[0].body["stream"] is False


async def test_the_other_form_is_named(side: Side, server: MistralServer) -> None:
    server.enqueue(Reply.whole("one"), Reply.stream(*CANDIDATES))
    async with side.client(server) as client:
        _, error = await read(client.wire_stream(REQUEST))
        assert isinstance(error, nodrop.StreamProtocolError)
        assert "client.wire.complete" in str(error)
        with pytest.raises(nodrop.StreamProtocolError, match=r"client\.wire\.stream"):
            await client.wire_complete(REQUEST)


async def test_an_abort_by_signal(side: Side, server: MistralServer) -> None:
    server.enqueue(Reply.whole("one").with_faults(Stall(at="before_headers")))
    signal = nodrop.AbortSignal()
    async with side.client(server) as client:
        aborter = Aborter(signal.abort, lambda: server.wait_for_requests(1))
        with pytest.raises(nodrop.AbortedError):
            await _complete(client, signal)
        aborter.freed(f"{side} wire complete")
        server.wait_for_open_connections(0)


async def _complete(client: Client, signal: nodrop.AbortSignal) -> object:
    return await client.wire_complete(REQUEST, signal=signal)
