"""Builds requests for tests. Every body that is built is read again by the generated model, and must be plain JSON."""

from __future__ import annotations

import copy
import json
from typing import Any

from nodrop.content import AssistantMessage, StopReason, ToolCall, ToolResultMessage, UserMessage
from nodrop.options import RequestOptions
from nodrop.rate_card import RateCard
from nodrop.request import BuiltRequest, as_context, build_request
from nodrop.wire import ChatCompletionRequest

MODEL = "mistral-medium-latest"
TEXT_MODEL = "codestral-latest"


def build(
    history: Any,
    options: RequestOptions | None = None,
    *,
    model: str = MODEL,
    takes_images: bool | None = None,
) -> BuiltRequest:
    context = as_context(history)
    before = copy.deepcopy(context)
    given = copy.deepcopy(options)
    built = build_request(model, context, options or {}, rates=RateCard.default(), takes_images=takes_images)
    assert context == before, "building a request changed the history"
    assert given == options, "building a request changed the options"
    # What extra_body says is sent unchecked.
    extra = (options or {}).get("extra_body") or {}
    ChatCompletionRequest.model_validate({key: value for key, value in built.body.items() if key not in extra})
    json.dumps(built.body, allow_nan=False).encode()
    return built


def sent(history: Any, options: RequestOptions | None = None, **more: Any) -> list[Any]:
    """The messages of the body."""
    messages: list[Any] = build(history, options, **more).body["messages"]
    return messages


def answer(*content: Any, model: str = MODEL, stop_reason: StopReason = "stop") -> AssistantMessage:
    return AssistantMessage(content=[*content], model=model, stop_reason=stop_reason, timestamp=1)


def call(call_id: str, name: str = "read", **arguments: Any) -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments=arguments)


def result(call_id: str, text: str = "fine", *, is_error: bool = False) -> ToolResultMessage:
    return ToolResultMessage.model_validate(
        {"tool_call_id": call_id, "tool_name": "read", "content": text, "is_error": is_error, "timestamp": 1}
    )


def user(content: Any = "hello") -> UserMessage:
    return UserMessage(content=content, timestamp=1)
