"""Read by the type checkers only: what the public names give, as a user's checker sees it."""

from collections.abc import AsyncIterator, Iterator
from typing import assert_never, assert_type

import nodrop


def the_blocking_client(client: nodrop.Client) -> None:
    stream = client.stream("mistral-small-latest", "hi", temperature=0.2, stop=["."], system_prompt="Be brief.")
    assert_type(stream, nodrop.Stream)
    assert_type(stream.message, nodrop.AssistantMessage)
    assert_type(stream.final_message(), nodrop.AssistantMessage)
    assert_type(stream.text_deltas(), Iterator[str])
    assert_type(client.complete("mistral-small-latest", [nodrop.UserMessage(content="hi")]), nodrop.AssistantMessage)
    client.stream("mistral-small-latest", "hi", temprature=0.2)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    client.stream("mistral-small-latest", 7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


async def the_async_client(client: nodrop.AsyncClient) -> None:
    async with client.stream("mistral-small-latest", nodrop.Context()) as stream:
        assert_type(stream, nodrop.AsyncStream)
        assert_type(stream.text_deltas(), AsyncIterator[str])
        assert_type(await stream.final_message(), nodrop.AssistantMessage)


def every_event(event: nodrop.Event) -> str:
    match event:
        case nodrop.Start():
            return event.type
        case nodrop.TextStart() | nodrop.ThinkingStart():
            return str(assert_type(event.content_index, int))
        case nodrop.TextDelta() | nodrop.ThinkingDelta() | nodrop.ToolCallDelta():
            return assert_type(event.delta, str)
        case nodrop.TextEnd() | nodrop.ThinkingEnd():
            return assert_type(event.content, str)
        case nodrop.ToolCallStart():
            return assert_type(event.tool_name, str)
        case nodrop.ToolCallEnd():
            return assert_type(event.tool_call, nodrop.ToolCall).name
        case nodrop.Done():
            return assert_type(event.message, nodrop.AssistantMessage).text
        case nodrop.Failed():
            return str(assert_type(event.exception, nodrop.NodropError))
        case _:
            assert_never(event)


def every_block(message: nodrop.AssistantMessage) -> str:
    text = ""
    for block in message.content:
        match block:
            case nodrop.TextContent():
                text += block.text
            case nodrop.ThinkingContent():
                text += block.thinking
            case nodrop.ToolCall():
                text += block.name
            case nodrop.OtherBlock():
                text += block.type
            case _:
                assert_never(block)
    return text


def the_cost(message: nodrop.AssistantMessage) -> float | None:
    return message.usage.cost.total if message.usage.cost else None
