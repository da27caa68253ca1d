"""The shared cases over real HTTP: their responses as replies of the embedded Mistral, their requests as a history."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from typing import Any

from nodrop.content import (
    AssistantMessage,
    Context,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from nodrop.testing import Cut, Fault, Packets, Reply, Stall
from nodrop.testing.records import RecordedRequest
from tests.cases import KINDS, Case, Response

MODEL = "mistral-test"


def reply(response: Response, read: threading.Event) -> Reply:
    """A case's response. ``read`` is set by the consumer when it has read what comes before a reset."""
    headers = dict(response.headers)
    content_type = headers.pop("content-type", None)
    packets: Packets = response.read_size or "events"
    played = Reply.raw(
        response.body, content_type=content_type, status=response.status or 200, headers=headers, packets=packets
    )
    return played.with_faults(*_faults(response, read))


def _faults(response: Response, read: threading.Event) -> tuple[Fault, ...]:
    match (response.status, response.raises or response.close):
        case (_, "clean"):
            return ()
        case (_, "never"):
            return (Stall(at="end"),)
        case (None, "RemoteProtocolError"):
            return (Cut(at="before_headers"),)
        case (_, "RemoteProtocolError"):
            return (Cut(at="end"),)
        case (_, "ReadError" | "abrupt"):
            return Stall(at="end", until=read, seconds=5.0), Cut(at="end", how="abrupt")
        case other:
            raise AssertionError(f"unknown transport {other}")


def history(case: Case) -> tuple[str | Context, dict[str, Any]]:
    """The prompt and the options of a case."""
    if case.request is None:
        return "Hi", {}
    assert not case.request.keys() - {"messages", "options", "notes"}
    messages = [_message(each) for each in case.request["messages"]]
    return Context(messages=messages), dict(case.request.get("options", {}))


def _message(raw: Mapping[str, Any]) -> Message:
    assert not raw.keys() - {"role", "content", "blocks", "tool_calls", "tool_call_id", "name"}
    if raw["role"] == "user":
        return UserMessage(content=raw["content"])
    if raw["role"] == "tool":
        text = TextContent(text=raw["content"])
        return ToolResultMessage(tool_call_id=raw["tool_call_id"], tool_name=raw["name"], content=[text])
    assert raw["role"] == "assistant"
    blocks: list[Any] = [TextContent(text=raw["content"])] if "content" in raw else []
    for block in raw.get("blocks", ()):
        if "thinking" in block:
            blocks.append(ThinkingContent(thinking=block["thinking"]))
        else:
            blocks.append(TextContent(text=block["text"]))
    blocks += [
        ToolCall(id=call["id"], name=call["name"], arguments=call["arguments"]) for call in raw.get("tool_calls", ())
    ]
    return AssistantMessage(content=blocks, model=MODEL, stop_reason="toolUse" if raw.get("tool_calls") else "stop")


def check_exchange(case: Case, requests: list[RecordedRequest], notices: list[Any]) -> None:
    """What ``expect`` says of the requests and the waits between them."""
    expect = case.expect
    assert "next_request" not in expect, "no case had it when this was written"
    if "attempts" in expect:
        assert len(requests) == expect["attempts"]
    assert len(notices) == len(requests) - 1
    if "min_wait_seconds" in expect:
        assert [notice.wait >= expect["min_wait_seconds"] for notice in notices] == [True]
    if "error_kind_of_first_attempt" in expect:
        assert isinstance(notices[0].error, KINDS[expect["error_kind_of_first_attempt"]])
    assert all(request.body == requests[0].body for request in requests)
    sent = requests[0].body["messages"]
    for message in expect.get("sent_messages_contain", ()):
        assert message in sent
    for message in expect.get("sent_must_not_contain_messages", ()):
        assert message not in sent
    for words in expect.get("sent_must_not_contain", ()):
        assert words.encode() not in requests[0].raw_body
    if "sent_tool_ids" in expect:
        _check_ids(expect["sent_tool_ids"], sent)


def _check_ids(expect: Mapping[str, Any], sent: list[dict[str, Any]]) -> None:
    assert not expect.keys() - {"pattern", "unique", "call_equals_result"}
    calls = [call["id"] for message in sent for call in message.get("tool_calls") or ()]
    results = [message["tool_call_id"] for message in sent if message["role"] == "tool"]
    assert all(re.fullmatch(expect["pattern"], each) for each in calls + results)
    assert len(set(calls)) == expect["unique"]
    assert not expect["call_equals_result"] or calls == results
