"""A history in another form, or with keys of another version, loses nothing in silence."""

from __future__ import annotations

from typing import Any

import pytest

from nodrop.content import Context, SystemMessage, Tool, UserMessage
from nodrop.errors import ConfigurationError
from nodrop.rate_card import RateCard
from nodrop.request import BuiltRequest, as_context, build_request
from tests.request.support import MODEL

SECRET = "SECRET-VALUE"


def built(*messages: dict[str, Any]) -> BuiltRequest:
    history: Any = [*messages]
    return build_request(MODEL, as_context(history), {}, rates=RateCard.default())


@pytest.mark.parametrize(
    ("key", "value", "way_out"),
    [
        ("tool_calls", [{"id": "aB3dE5gH7", "function": {"name": "f", "arguments": SECRET}}], "nodrop.ToolCall"),
        ("function_call", {"name": "f", "arguments": SECRET}, "nodrop.ToolCall"),
        ("reasoning_content", SECRET, "nodrop.ThinkingContent"),
        ("prefix", True, "option prefix"),
        ("tool_call_id", SECRET, "nodrop.tool_result"),
    ],
)
@pytest.mark.parametrize("content", ["I call", ""])
def test_a_message_in_the_wires_form_is_refused_by_key(key: str, value: object, way_out: str, content: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"messages\[1\]\.{key}") as caught:
        built({"role": "user", "content": "q"}, {"role": "assistant", "content": content, key: value})
    assert way_out in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("empty", [None, [], "", False])
def test_a_wire_key_that_holds_nothing_is_only_told_of(empty: object) -> None:
    request = built({"role": "user", "content": "q"}, {"role": "assistant", "content": "a", "tool_calls": empty})
    assert [note.type for note in request.diagnostics] == ["unknown_keys_not_sent"]


def test_other_unknown_keys_are_told_of_by_path() -> None:
    request = built(
        {"role": "user", "content": [{"type": "text", "text": "q", "zork": SECRET}], "images": [SECRET]},
        {"role": "user", "content": "x", "a key that is no name": SECRET},
    )
    [note] = request.diagnostics
    assert note.details is not None
    assert note.details["count"] == 3
    assert note.details["paths"] == sorted(
        ["messages.user.images", "messages.user.content.text.zork", "messages.user.<a key that is no name>"]
    )
    assert SECRET not in note.model_dump_json()


def test_unknown_keys_of_a_system_message_and_of_a_tool_are_told_of() -> None:
    context = as_context(
        [SystemMessage.model_validate({"content": [{"type": "text", "text": "s", "cache": SECRET}]})],
        tools=[Tool.model_validate({"name": "f", "strict": True})],
    ).append(UserMessage(content="q"))
    [note] = build_request(MODEL, context, {}, rates=RateCard.default()).diagnostics
    assert note.details == {"paths": ["messages.system.content.text.cache", "tools.strict"], "count": 2}


def test_what_is_no_message_in_a_context_is_a_mistake_of_the_call_and_not_quoted() -> None:
    history: Any = as_context("q").append(SECRET)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=r"messages\[1\]: a message is a UserMessage") as caught:
        build_request(MODEL, as_context(history), {}, rates=RateCard.default())
    assert SECRET not in str(caught.value)


def test_a_role_that_is_none_names_those_that_are() -> None:
    with pytest.raises(ConfigurationError, match="system, user, assistant, toolResult"):
        built({"role": "tool", "content": "42"})


def test_a_history_of_ours_has_nothing_to_tell() -> None:
    assert built({"role": "user", "content": "q"}).diagnostics == ()


@pytest.mark.parametrize("model", [None, 5, "", " "])
def test_a_model_that_is_none_is_a_mistake_of_the_call(model: Any) -> None:
    with pytest.raises(ConfigurationError, match="no model" if isinstance(model, str) else "model is a model's id"):
        build_request(model, as_context("q"), {}, rates=RateCard.default())


CALL = {"id": "aB3dE5gH7", "type": "function", "function": {"name": "f", "arguments": "{}"}}
WRONG: dict[str, tuple[Any, str]] = {
    "a wire tool result": (
        {"role": "tool", "tool_call_id": "a", "content": "r"},
        r"messages\[0\]\.tool_call_id is the wire",
    ),
    "wire calls": (
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        r"messages\[0\]\.tool_calls is the wire",
    ),
    "wire calls alone": ({"role": "assistant", "tool_calls": [CALL]}, r"messages\[0\]\.tool_calls is the wire"),
    "a block without its key": (
        {"role": "user", "content": [{"type": "image", "data": "aGk="}]},
        r"^messages\[0\]\.content\[0\]\.mimeType is missing$",
    ),
    "a block of the wrong kind": (
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": 5}]},
        r"^messages\[0\]\.content\[1\]\.text is not what the content model has there",
    ),
    "a block without a type": (
        {"role": "user", "content": [{"typ": "text"}]},
        r"^messages\[0\]\.content\[0\]\.type is missing$",
    ),
    "a block that is a string": ({"role": "user", "content": ["x"]}, r"^messages\[0\]\.content\[0\]: a block is"),
    "content that is a number": ({"role": "user", "content": 5}, r"^messages\[0\]\.content is not"),
    "no content": ({"role": "user"}, r"^messages\[0\]\.content is missing$"),
    "no message": ("x", r"^messages\[0\]: a message is"),
    "a role that nobody has": ({"role": "narrator", "content": "x"}, r"^messages\[0\]: a role is one of"),
}


@pytest.mark.parametrize(("message", "words"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_message_is_named_by_its_place_and_what_is_wrong(message: Any, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        as_context([message])


def test_one_message_is_not_a_list_of_messages() -> None:
    with pytest.raises(ConfigurationError, match="a list of messages \\(also of one\\)"):
        as_context(UserMessage(content="x"))  # type: ignore[arg-type]


@pytest.mark.parametrize(("key", "near"), [("system", "system_prompt"), ("tool", "tools"), ("mesages", "messages")])
def test_a_misspelt_key_of_a_context_is_a_mistake(key: str, near: str) -> None:
    more: dict[str, Any] = {key: SECRET}
    context = Context(messages=[UserMessage(content="x")], **more)
    with pytest.raises(ConfigurationError, match=f"a context has no {key}; did you mean {near}\\?"):
        build_request(MODEL, as_context(context), {}, rates=RateCard.default())


def test_a_key_of_a_newer_context_is_told_of() -> None:
    context = Context.model_validate({"messages": [{"role": "user", "content": "x"}], "branchId": 5})
    [note] = build_request(MODEL, as_context(context), {}, rates=RateCard.default()).diagnostics
    assert note.details == {"paths": ["branchId"], "count": 1}
