"""The content model of contract 1: pi's JSON, defaults, and round trips."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from nodrop.content import (
    API,
    AssistantMessage,
    Citation,
    Context,
    Cost,
    Diagnostic,
    ImageContent,
    Message,
    OtherBlock,
    SystemMessage,
    TextContent,
    ThinkingContent,
    Tool,
    ToolCall,
    ToolResultMessage,
    Unmapped,
    Usage,
    UserMessage,
    now_ms,
    tool_result,
)
from nodrop.errors import ConfigurationError

MESSAGE: TypeAdapter[Message] = TypeAdapter(Message)


def as_json(message: Any) -> dict[str, Any]:
    return dict(json.loads(message.model_dump_json(by_alias=True)))


CALL = ToolCall(id="aaaaaaaa1", name="f", arguments={"a": None, "b": [None, {"c": None}]}, raw_arguments='{"a":null}')
USAGE = Usage(input=1, output=2, total_tokens=3, cost=Cost(total=0.5), raw={"prompt_tokens": 1, "odd": None})
MESSAGES: list[Message] = [
    SystemMessage(content="Be brief.", timestamp=1),
    SystemMessage(
        content=[TextContent(text="x")], sections={"a": "b", "gone": None}, tools_added=[Tool(name="t")], timestamp=1
    ),
    UserMessage(content="Hi", timestamp=2),
    UserMessage(
        content=[TextContent(text="x", text_signature="s"), ImageContent(data="aGk=", mime_type="image/png")],
        timestamp=2,
    ),
    AssistantMessage(content=[], timestamp=3),
    AssistantMessage(
        content=[ThinkingContent(thinking="t", thinking_signature="s"), TextContent(text="a[1]"), CALL],
        model="m",
        usage=USAGE,
        stop_reason="toolUse",
        response_id="r",
        response_model="m2",
        request_id="q",
        diagnostics=[Diagnostic(type="unknown_field", timestamp=1, details={"path": "x"})],
        citations=[Citation(ids=[1, "b"], content_index=1, offset=1, length=3)],
        unmapped={"choices.delta.x": Unmapped(values=[None, 1, "a"], omitted=2)},
        rate_limit={"limit": 1},
        timestamp=3,
    ),
    AssistantMessage(
        content=[ToolCall(id="a", name="f", complete=False, arguments_error="bad", raw_arguments="{")],
        stop_reason="error",
        error_message="no",
        timestamp=3,
    ),
    ToolResultMessage(
        tool_call_id="a", tool_name="f", content=[TextContent(text="42")], details={"x": None}, timestamp=4
    ),
    ToolResultMessage(tool_call_id="a", tool_name="f", content=[], is_error=True, usage=USAGE, timestamp=4),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.role)
def test_a_stored_message_read_back_is_the_same_message(message: Message) -> None:
    stored = message.model_dump_json(by_alias=True)
    again = MESSAGE.validate_json(stored)
    assert again == message
    assert type(again) is type(message)
    assert again.model_dump_json(by_alias=True) == stored
    assert MESSAGE.validate_python(message.model_dump()) == message  # by the names of the attributes too


def nulls(value: Any, path: str = "") -> list[str]:
    if isinstance(value, dict):
        return [found for key, inner in value.items() for found in nulls(inner, f"{path}.{key}")]
    if isinstance(value, list):
        return [found for inner in value for found in nulls(inner, path)]
    return [path] if value is None else []


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.role)
def test_optional_keys_are_omitted_and_keys_are_camel_case(message: Message) -> None:
    data = {".sections.gone", ".details.x", ".content.arguments.a", ".content.arguments.b", ".content.arguments.b.c"}
    data |= {".usage.raw.odd", ".unmapped.choices.delta.x.values"}
    assert set(nulls(as_json(message))) <= data
    assert not any("_" in key for key in as_json(message))


def test_the_json_of_a_fresh_answer_is_pis() -> None:
    message = AssistantMessage(content=[TextContent(text="a")], timestamp=1)
    assert as_json(message) == {
        "role": "assistant",
        "content": [{"type": "text", "text": "a"}],
        "api": API,
        "provider": "mistral",
        "model": "",
        "usage": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "reported": False},
        "stopReason": "stop",
        "timestamp": 1,
    }


def test_the_json_of_blocks() -> None:
    assert as_json(ThinkingContent(thinking="t", thinking_signature="s")) == {
        "type": "thinking",
        "thinking": "t",
        "thinkingSignature": "s",
    }
    assert as_json(ImageContent(data="aGk=", mime_type="image/png")) == {
        "type": "image",
        "data": "aGk=",
        "mimeType": "image/png",
    }
    assert as_json(ToolCall(id="a", name="f")) == {"type": "toolCall", "id": "a", "name": "f", "arguments": {}}
    assert as_json(ToolCall(id="a", name="f", complete=False, arguments_error="bad", raw_arguments="{")) == {
        "type": "toolCall",
        "id": "a",
        "name": "f",
        "arguments": {},
        "argumentsError": "bad",
        "rawArguments": "{",
        "complete": False,
    }


def test_nulls_inside_tool_arguments_stay() -> None:
    assert as_json(CALL)["arguments"] == {"a": None, "b": [None, {"c": None}]}


def test_unknown_keys_survive_a_round_trip() -> None:
    stored = {
        "role": "assistant",
        "content": [{"type": "text", "text": "a", "newKey": {"x": None}}],
        "timestamp": 1,
        "newKey": [1],
        "usage": {"input": 1, "newCounter": 2},
    }
    again = as_json(MESSAGE.validate_python(stored))
    assert again["newKey"] == [1]
    assert again["content"][0]["newKey"] == {"x": None}
    assert again["usage"]["newCounter"] == 2


@pytest.mark.parametrize("role", ["system", "user", "assistant", "toolResult"])
def test_a_block_that_is_not_known_there_is_kept_as_it_came(role: str) -> None:
    foreign = {"type": "video", "url": "u", "someKey": None}
    stored: dict[str, Any] = {"role": role, "content": [foreign], "timestamp": 1, "toolCallId": "a", "toolName": "f"}
    (block,) = list(MESSAGE.validate_python(stored).content)
    assert isinstance(block, OtherBlock)
    assert block.type == "video"
    assert as_json(MESSAGE.validate_python(stored))["content"] == [foreign]


def test_a_known_block_in_the_wrong_message_is_kept_as_another_block() -> None:
    image = ImageContent(data="aGk=", mime_type="image/png")
    message = MESSAGE.validate_python({"role": "assistant", "content": [image], "timestamp": 1})
    assert isinstance(message.content[0], OtherBlock)
    assert as_json(message)["content"] == [as_json(image)]
    with pytest.raises(ValidationError):
        MESSAGE.validate_python({"role": "user", "content": [{"no": "type"}], "timestamp": 1})


def test_a_validation_error_does_not_quote_its_input() -> None:
    odd = {"role": "user", "content": {"SECRET": "SECRET"}}
    for validate, value in ((UserMessage.model_validate, odd), (Context.model_validate, {"messages": [odd]})):
        with pytest.raises(ValidationError) as caught:
            validate(value)
        assert "SECRET" not in str(caught.value)


def test_defaults_for_what_a_person_would_not_type() -> None:
    before = now_ms()
    message = AssistantMessage.model_validate({"content": "Hello"})
    assert before <= message.timestamp <= now_ms()
    assert message.content == [TextContent(text="Hello")]
    assert (message.api, message.provider, message.stop_reason) == (API, "mistral", "stop")
    assert not message.usage.reported
    assert message.usage.cost is None
    assert AssistantMessage.model_validate({"content": ""}).content == []
    result = ToolResultMessage.model_validate({"tool_call_id": "a", "tool_name": "f", "content": "42"})
    assert result.content == [TextContent(text="42")]


def test_the_parts_of_a_message() -> None:
    message = AssistantMessage(
        content=[
            ThinkingContent(thinking="a"),
            TextContent(text="b"),
            CALL,
            ThinkingContent(thinking="c"),
            TextContent(text="d"),
        ]
    )
    assert (message.text, message.thinking, message.tool_calls) == ("bd", "ac", [CALL])


# ---- context ----


def test_system_prompt_is_shorthand_for_a_first_system_message() -> None:
    context = Context(system_prompt="Be brief.", messages=[UserMessage(content="Hi", timestamp=1)])
    first, second = context.messages
    assert isinstance(first, SystemMessage)
    assert (first.content, second) == ("Be brief.", UserMessage(content="Hi", timestamp=1))
    assert set(as_json(context)) == {"messages"}
    assert Context.model_validate_json(context.model_dump_json(by_alias=True)) == context
    assert Context.model_validate({"systemPrompt": ""}).messages[0].content == ""
    assert Context().messages == []


def test_append_gives_a_new_context() -> None:
    context = Context(system_prompt="Be brief.", tools=[Tool(name="f")])
    longer = context.append(UserMessage(content="Hi"), AssistantMessage(content=[CALL]), tool_result(CALL, "42"))
    assert len(context.messages) == 1
    assert [message.role for message in longer.messages] == ["system", "user", "assistant", "toolResult"]
    assert longer.tools == context.tools
    assert longer.append().messages == longer.messages


def test_tool_result_answers_its_call() -> None:
    image = ImageContent(data="aGk=", mime_type="image/png")
    result = tool_result(CALL, "42", is_error=True)
    assert (result.tool_call_id, result.tool_name, result.is_error) == (CALL.id, "f", True)
    assert result.content == [TextContent(text="42")]
    assert tool_result(CALL, [TextContent(text="see"), image]).content == [TextContent(text="see"), image]


@pytest.mark.parametrize("content", [{"a": 1}, 42, None, ("a",), b"a"], ids=repr)
def test_a_tool_result_of_a_value_says_how_it_becomes_text(content: Any) -> None:
    with pytest.raises(ConfigurationError, match=rf"not {type(content).__name__}; json.dumps\(\) makes text"):
        tool_result(CALL, content)


def test_an_image_does_not_fill_a_repr() -> None:
    assert "aGk=" not in repr(ImageContent(data="aGk=", mime_type="image/png"))
