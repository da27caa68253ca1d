"""What becomes of each message of a history."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from nodrop.content import (
    Citation,
    Context,
    ImageContent,
    OtherBlock,
    SystemMessage,
    TextContent,
    ThinkingContent,
    Tool,
    ToolCall,
    ToolName,
    ToolResultMessage,
)
from nodrop.errors import ConfigurationError, UnsupportedContentError
from nodrop.options import RequestOptions
from nodrop.rate_card import RateCard
from nodrop.request import as_context, build_request
from tests.request.support import MODEL, TEXT_MODEL, answer, build, call, result, sent, user

TEXT = TextContent(text="look")
IMAGE = ImageContent(data="QUJD", mime_type="image/png")
THINKING = ThinkingContent(thinking="hm", thinking_signature="sig")
IMAGE_CHUNK = {"type": "image_url", "image_url": "data:image/png;base64,QUJD"}
OMITTED = {"type": "text", "text": "[image omitted: the model takes no images]"}
LONE = "a\ud800b"


def chunk(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


# ---- users ----


@pytest.mark.parametrize(
    ("content", "wire"),
    [
        ("hello", "hello"),
        (LONE, "a\ufffdb"),
        (" ", " "),
        ([TEXT], [chunk("look")]),
        ([TEXT, IMAGE, TextContent(text="and?")], [chunk("look"), IMAGE_CHUNK, chunk("and?")]),
        ([TextContent(text=""), TEXT], [chunk("look")]),
        ([TextContent(text=LONE)], [chunk("a\ufffdb")]),
    ],
)
def test_user_content(content: Any, wire: Any) -> None:
    assert sent([user(content)]) == [{"role": "user", "content": wire}]


@pytest.mark.parametrize("empty", ["", [], [TextContent(text="")]])
def test_an_empty_user_message_is_not_sent(empty: Any) -> None:
    assert sent([user("one"), user(empty), user("two")]) == [
        {"role": "user", "content": "one"},
        {"role": "user", "content": "two"},
    ]
    with pytest.raises(ConfigurationError, match="nothing to send"):
        build([user(empty)])


@pytest.mark.parametrize("history", [[], [answer()], [answer(TEXT, stop_reason="stop"), user("")][1:]])
def test_a_history_with_nothing_to_send_is_an_error(history: Any) -> None:
    with pytest.raises(ConfigurationError, match="nothing to send"):
        build(history)


# ---- images ----


@pytest.mark.parametrize(
    ("model", "takes_images", "goes_out"),
    [
        (MODEL, None, True),
        (TEXT_MODEL, None, False),
        ("a-model-of-mine", None, True),
        (TEXT_MODEL, True, True),
        (MODEL, False, False),
    ],
)
def test_images_go_only_to_models_that_take_them(model: str, takes_images: bool | None, goes_out: bool) -> None:
    history = [user([TEXT, IMAGE]), answer(call("aaaaaaaaa")), result("aaaaaaaaa")]
    history[2] = ToolResultMessage(tool_call_id="aaaaaaaaa", tool_name="read", content=[IMAGE], timestamp=1)
    built = build(history, model=model, takes_images=takes_images)
    first, _, last = built.body["messages"]
    if goes_out:
        assert first["content"] == [chunk("look"), IMAGE_CHUNK]
        assert last["content"] == [chunk("(see attached image)"), IMAGE_CHUNK]
        assert built.diagnostics == ()
    else:
        assert first["content"] == [chunk("look"), OMITTED]
        assert last["content"] == OMITTED["text"]
        [note] = built.diagnostics
        assert (note.type, note.details) == ("images_omitted", {"count": 2, "model": model})
        assert "QUJD" not in json.dumps(built.body)


@pytest.mark.parametrize("data", ["data:image/png;base64,U0VDUkVU", "U0VDUkVU\ud800"])
def test_image_data_that_is_no_plain_base64_is_refused_without_its_data(data: str) -> None:
    with pytest.raises(ConfigurationError, match="plain base64") as caught:
        build([user([ImageContent(data=data, mime_type="image/png")])])
    assert "U0VDUkVU" not in repr(caught.value)


def everywhere(text: str) -> dict[str, Any]:
    """The body of a request with ``text`` in every place that a caller can put a text."""
    history: list[Any] = [
        SystemMessage(content=text, sections={"a": text}),
        user([TextContent(text=text), ImageContent(data="QUJD", mime_type="image/" + text)]),
        answer(
            ThinkingContent(thinking=text, thinking_signature=text), call("aaaaaaaaa", text, **{text: text}), model=""
        ),
        result("aaaaaaaaa", text),
    ]
    tool = Tool(name=text, description=text, parameters={text: [text]})
    options = {"metadata": {text: text}, "extra_body": {"more": {text: text}}, "prefix": text, "replay_thinking": True}
    context = Context(messages=history, tools=[tool])
    return build(context, cast(RequestOptions, options), model="m" + text).body


def test_no_lone_surrogate_is_sent_from_anywhere() -> None:
    assert everywhere(LONE) == everywhere("a\ufffdb")


# ---- blocks that cannot be sent ----

OTHERS = ["document_url", "file", "input_audio", "image", "thinking", "toolCall", "a_new_one"]
HELD = {"system": [], "user": ["image"], "assistant": ["thinking", "toolCall"], "toolResult": ["image"]}


@pytest.mark.parametrize(("role", "block_type"), [(role, b) for role in HELD for b in OTHERS if b not in HELD[role]])
def test_every_other_block_is_refused_by_type_and_role(role: str, block_type: str) -> None:
    block = OtherBlock.model_validate({"type": block_type, "data": "SECRET"})
    match role:
        case "system":
            history: list[Any] = [SystemMessage(content=[block]), user()]
        case "user":
            history = [user([TEXT, block])]
        case "assistant":
            history = [user(), answer(TEXT, block)]
        case _:
            answered = ToolResultMessage(tool_call_id="aaaaaaaaa", tool_name="read", content=[block])
            history = [answer(call("aaaaaaaaa")), answered]
    with pytest.raises(UnsupportedContentError) as caught:
        build(history)
    error = caught.value
    assert (error.block_type, error.role) == (block_type, role)
    assert repr(block_type) in str(error)
    assert role in str(error)
    assert "SECRET" not in repr(error)


@pytest.mark.parametrize(
    ("role", "block", "named"),
    [("user", THINKING, "thinking"), ("user", call("a"), "toolCall"), ("assistant", IMAGE, "image")],
)
def test_a_block_in_a_role_that_cannot_hold_it_is_refused(role: str, block: Any, named: str) -> None:
    history: list[Any] = [user([block])] if role == "user" else [answer(block)]
    with pytest.raises(UnsupportedContentError) as caught:
        build(history)
    assert (caught.value.block_type, caught.value.role) == (named, role)


def test_a_block_type_that_is_no_name_is_not_quoted() -> None:
    with pytest.raises(UnsupportedContentError) as caught:
        build([user([OtherBlock(type="data:image/png;base64,SECRET")])])
    assert "SECRET" not in repr(caught.value) + caught.value.block_type


# ---- answers ----


def test_an_answers_text_goes_back_as_stored_and_its_citations_do_not() -> None:
    message = answer(TextContent(text="It is blue [0, 1].\n", text_signature="s"))
    message.citations = [Citation(ids=[0, 1], content_index=0, offset=11, length=6)]
    assert sent([message]) == [{"role": "assistant", "content": "It is blue [0, 1].\n"}]


def test_several_text_blocks_stay_apart() -> None:
    message = answer(TextContent(text="144"), TextContent(text=""), TextContent(text="."))
    assert sent([message]) == [{"role": "assistant", "content": [chunk("144"), chunk(".")]}]


@pytest.mark.parametrize("content", [[], [TextContent(text="")], [TextContent(text=" \n")], [THINKING]])
@pytest.mark.parametrize("stop_reason", ["stop", "length", "error", "aborted", "pending"])
def test_an_empty_answer_is_not_sent(content: list[Any], stop_reason: Any) -> None:
    history = [user("one"), answer(*content, stop_reason=stop_reason), user("two")]
    assert [message["role"] for message in sent(history)] == ["user", "user"]


def test_blank_text_beside_a_call_stays() -> None:
    [first, _] = sent([answer(TextContent(text="\n"), call("aaaaaaaaa")), result("aaaaaaaaa")])
    assert first["content"] == "\n"


def test_thinking_is_not_sent() -> None:
    assert sent([answer(THINKING, TEXT)]) == [{"role": "assistant", "content": "look"}]
    assert sent([answer(THINKING, TEXT)], {"replay_thinking": False}) == [{"role": "assistant", "content": "look"}]


@pytest.mark.parametrize(
    ("thinking", "wire"),
    [
        (THINKING, [{"type": "thinking", "thinking": [chunk("hm")], "closed": True, "signature": "sig"}]),
        (ThinkingContent(thinking="hm"), [{"type": "thinking", "thinking": [chunk("hm")], "closed": True}]),
        (
            ThinkingContent(thinking="", thinking_signature="sig"),
            [{"type": "thinking", "thinking": [], "closed": True, "signature": "sig"}],
        ),
        (ThinkingContent(thinking=""), []),
    ],
)
def test_thinking_is_replayed_as_chunks(thinking: ThinkingContent, wire: list[Any]) -> None:
    [message] = sent([answer(thinking, TEXT, TEXT)], {"replay_thinking": True})
    assert message["content"] == [*wire, chunk("look"), chunk("look")]


@pytest.mark.parametrize(("model", "replayed"), [(MODEL, True), ("", True), ("magistral-medium-latest", False)])
def test_thinking_is_replayed_for_the_same_model_only(model: str, replayed: bool) -> None:
    [message] = sent([answer(THINKING, TEXT, model=model)], {"replay_thinking": True})
    assert isinstance(message["content"], list) is replayed


@pytest.mark.parametrize("stop_reason", ["error", "aborted", "pending"])
def test_of_a_failed_answer_only_the_text_is_sent(stop_reason: Any) -> None:
    failed = answer(THINKING, TextContent(text="so far"), call("aaaaaaaaa"), call("b"), stop_reason=stop_reason)
    history = [user(), failed, result("b"), user("go on")]
    assert sent(history, {"replay_thinking": True})[1:] == [
        {"role": "assistant", "content": "so far"},
        {"role": "user", "content": "go on"},
    ]


# ---- calls and results ----


def test_results_stand_after_their_calls_in_order() -> None:
    history = [
        answer(TEXT, call("aaaaaaaaa", path="a"), call("bbbbbbbbb", path="b"), stop_reason="toolUse"),
        result("bbbbbbbbb", "B"),
        SystemMessage(content="later"),
        user("meanwhile"),
        result("aaaaaaaaa", "A"),
    ]
    system, first, *rest = sent(history)
    assert system == {"role": "system", "content": "later"}
    assert first == {
        "role": "assistant",
        "content": "look",
        "tool_calls": [
            {"id": "aaaaaaaaa", "type": "function", "function": {"name": "read", "arguments": '{"path":"a"}'}},
            {"id": "bbbbbbbbb", "type": "function", "function": {"name": "read", "arguments": '{"path":"b"}'}},
        ],
    }
    assert rest == [
        {"role": "tool", "tool_call_id": "aaaaaaaaa", "name": "read", "content": "A"},
        {"role": "tool", "tool_call_id": "bbbbbbbbb", "name": "read", "content": "B"},
        {"role": "user", "content": "meanwhile"},
    ]


def test_a_call_without_a_result_gets_an_error_result() -> None:
    _, first, second, _ = sent([answer(call("aaaaaaaaa"), call("bbbbbbbbb")), result("aaaaaaaaa"), user()])
    assert (first["tool_call_id"], first["content"]) == ("aaaaaaaaa", "fine")
    assert (second["tool_call_id"], second["content"]) == ("bbbbbbbbb", "[tool error] No result provided")


def test_an_id_that_comes_again_finds_its_own_result() -> None:
    history = [
        answer(call("aaaaaaaaa", turn=1)),
        user(),
        answer(call("aaaaaaaaa", turn=2), call("aaaaaaaaa", turn=2)),
        result("aaaaaaaaa", "2a"),
        result("aaaaaaaaa", "2b"),
        answer(call("aaaaaaaaa", turn=3)),
        user(),
        result("aaaaaaaaa", "3"),
    ]
    results = [message["content"] for message in sent(history) if message["role"] == "tool"]
    assert results == ["[tool error] No result provided", "2a", "2b", "3"]


@pytest.mark.parametrize(
    ("history", "why"),
    [
        ([user(), result("call_1")], "no answer before it"),
        ([result("call_1"), answer(call("call_1"))], "no answer before it"),
        ([answer(call("call_1")), result("call_1"), result("call_1")], "a result already"),
    ],
)
def test_a_result_that_answers_no_call_is_an_error(history: list[Any], why: str) -> None:
    with pytest.raises(ConfigurationError, match=why) as caught:
        build(history)
    assert "'call_1'" in str(caught.value)


def test_the_id_in_an_error_is_bounded() -> None:
    for call_id, shown in [("x" * 500, "(500 characters)"), ("line\nbreak", "10 characters"), ("\n", "1 characters")]:
        with pytest.raises(ConfigurationError) as caught:
            build([user(), result(call_id)])
        assert shown in str(caught.value)
        assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("content", "is_error", "wire"),
    [
        ("out", False, "out"),
        ("  indented\n", False, "  indented\n"),
        ("out", True, "[tool error] out"),
        ("", False, "(no tool output)"),
        (" \n", True, "[tool error] (no tool output)"),
        ([], False, "(no tool output)"),
        ([TEXT, TEXT], False, "look\nlook"),
        ([TEXT, IMAGE], False, [chunk("look"), IMAGE_CHUNK]),
        ([TEXT, IMAGE], True, [chunk("[tool error] look"), IMAGE_CHUNK]),
        ([IMAGE, TEXT], True, [chunk("[tool error]"), IMAGE_CHUNK, chunk("look")]),
        ([IMAGE], False, [chunk("(see attached image)"), IMAGE_CHUNK]),
        ([IMAGE, TextContent(text=" ")], True, [chunk("[tool error] (see attached image)"), IMAGE_CHUNK]),
        (LONE, False, "a\ufffdb"),
    ],
)
def test_result_content(content: Any, is_error: bool, wire: Any) -> None:
    blocks = [TextContent(text=content)] if isinstance(content, str) else content
    answered = ToolResultMessage(tool_call_id="aaaaaaaaa", tool_name="read", content=blocks, is_error=is_error)
    _, last = sent([answer(call("aaaaaaaaa")), answered])
    assert last["content"] == wire


BROKEN = ToolCall(id="aaaaaaaaa", name="read", raw_arguments='{"pa', complete=False, arguments_error="not JSON")


def test_an_incomplete_call_that_nobody_answered_is_left_out() -> None:
    built = build([answer(TEXT, BROKEN, call("bbbbbbbbb"), stop_reason="length"), result("bbbbbbbbb"), user()])
    first, second, _ = built.body["messages"]
    assert [each["id"] for each in first["tool_calls"]] == ["bbbbbbbbb"]
    assert second["tool_call_id"] == "bbbbbbbbb"
    [note] = built.diagnostics
    assert (note.type, note.details) == ("incomplete_tool_calls_not_sent", {"count": 1})
    assert [m["role"] for m in sent([user(), answer(BROKEN, stop_reason="length"), user()])] == ["user", "user"]


def test_an_incomplete_call_that_was_answered_is_sent_with_empty_arguments() -> None:
    first, second = sent([answer(BROKEN), result("aaaaaaaaa", "write JSON", is_error=True)])
    assert first["tool_calls"][0]["function"] == {"name": "read", "arguments": "{}"}
    assert second["content"] == "[tool error] write JSON"


@pytest.mark.parametrize(
    ("arguments", "raw", "wire"),
    [
        ({}, "", "{}"),
        ({"a": 1}, "", '{"a":1}'),
        ({"a": None, "b": "é"}, "", '{"a":null,"b":"é"}'),
        ({"a": 1}, '{ "a" : 1 }', '{ "a" : 1 }'),
        ({"a": 2}, '{"a": 1}', '{"a":2}'),
        ({"a": 1}, '{"a": true}', '{"a":1}'),
        ({"a": 1}, '{"a": 1.0}', '{"a":1}'),
        ({"a": 1}, '{"a"', '{"a":1}'),
        ({"a": float("inf")}, '{"a": 1e999}', '{"a": 1e999}'),
        ({"a": LONE}, "", '{"a":"a\ufffdb"}'),
    ],
)
def test_arguments_are_the_models_own_text_while_it_is_what_they_say(
    arguments: dict[str, Any], raw: str, wire: str
) -> None:
    block = ToolCall(id="aaaaaaaaa", name="read", arguments=arguments, raw_arguments=raw)
    [first, _] = sent([answer(block)])
    assert first["tool_calls"][0]["function"]["arguments"] == wire


@pytest.mark.parametrize("value", [float("nan"), object(), {1: 2}])
def test_arguments_that_are_no_json_are_refused_without_their_content(value: Any) -> None:
    with pytest.raises(ConfigurationError, match="arguments of a call of 'read'"):
        build([answer(ToolCall(id="aaaaaaaaa", name="read", arguments={"a": value}))])


# ---- prefix ----


def test_prefix() -> None:
    prefixed = {"role": "assistant", "content": "look", "prefix": True}
    assert sent([user(), answer(TEXT, stop_reason="aborted")], {"prefix": True})[1:] == [prefixed]
    assert sent([user()], {"prefix": "look"})[1:] == [prefixed]
    assert "prefix" not in sent([user(), answer(TEXT)], {"prefix": False})[1]
    for history in ([user()], [answer(TEXT), user("")], [answer(TEXT), answer()], [answer(TEXT, call("aaaaaaaaa"))]):
        with pytest.raises(ConfigurationError, match="option prefix"):
            build(history, {"prefix": True})
    for bad in ("", 3):
        with pytest.raises(ConfigurationError, match="option prefix"):
            build([user()], cast(RequestOptions, {"prefix": bad}))


# ---- the system message and the tools in force ----


def names(body: dict[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in body.get("tools", [])]


def test_system_messages_are_folded_and_tools_replayed() -> None:
    built = build(
        Context(
            system_prompt="Be brief.",
            tools=[Tool(name="mine")],
            messages=[
                SystemMessage(
                    content=[TextContent(text="two"), TextContent(text="lines")],
                    sections={"rules": "old rules", "cwd": "here", "docs": "docs"},
                    tools_added=[Tool(name="read"), Tool(name="bash", description="old")],
                ),
                answer(call("aaaaaaaaa")),
                SystemMessage(
                    sections={"rules": "new rules", "docs": None},
                    tools_removed=[ToolName(name="read"), ToolName(name="never there")],
                    tools_added=[Tool(name="bash", description="new")],
                ),
                result("aaaaaaaaa"),
                SystemMessage(content="last"),
            ],
        )
    )
    first, second, third = built.body["messages"]
    assert first == {"role": "system", "content": "Be brief.\n\ntwo\nlines\n\nlast\n\nnew rules\n\nhere"}
    assert (second["role"], third["role"]) == ("assistant", "tool")
    assert names(built.body) == ["mine", "bash"]
    assert built.body["tools"][1]["function"]["description"] == "new"


def test_a_section_that_was_taken_away_comes_back_at_the_end() -> None:
    history = [
        SystemMessage(sections={"a": "A", "b": "B"}),
        SystemMessage(sections={"a": None}),
        SystemMessage(sections={"a": "again"}),
        user(),
    ]
    assert sent(history)[0]["content"] == "B\n\nagain"


def test_without_a_prompt_or_tools_there_are_none() -> None:
    body = build([SystemMessage(content=""), user()]).body
    assert [message["role"] for message in body["messages"]] == ["user"]
    assert body.keys() == {"model", "messages"}


def test_two_tools_of_one_name_are_an_error() -> None:
    with pytest.raises(ConfigurationError, match="'read'"):
        build(Context(messages=[user()], tools=[Tool(name="read"), Tool(name="read")]))


# ---- what a context may be given as ----


def test_as_context() -> None:
    tools = [Tool(name="read")]
    made = as_context("hello", system_prompt="Be brief.", tools=tools)
    assert [message.role for message in made.messages] == ["system", "user"]
    assert made.tools == tools
    again = as_context(Context(messages=[user()]), system_prompt="Be brief.", tools=tools)
    assert [message.role for message in again.messages] == ["system", "user"]
    assert again.tools == tools
    assert as_context(again, tools=[Tool(name="more")]).tools == [*tools, Tool(name="more")]
    assert as_context((user(), answer(TEXT))).messages == [user(), answer(TEXT)]


@pytest.mark.parametrize(
    ("value", "more", "why"),
    [
        (3, {}, "not a Python int"),
        (b"hello", {}, "not a Python bytes"),
        (user(), {}, "not a Python UserMessage"),
        (["SECRET"], {}, "messages.0"),
        ([{"role": "user", "content": {"text": "SECRET"}}], {}, "messages.0"),
        (Context(system_prompt="a"), {"system_prompt": "b"}, "system prompt already"),
    ],
)
def test_what_is_no_context_is_refused(value: Any, more: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigurationError, match=why) as caught:
        as_context(value, **more)
    assert "SECRET" not in repr(caught.value)
    assert caught.value.__context__ is None


def test_a_model_must_be_named() -> None:
    with pytest.raises(ConfigurationError, match="no model"):
        build_request(" ", as_context("hi"), {}, rates=RateCard.default())


def test_the_body_is_not_in_the_repr_and_shares_nothing_with_the_callers_objects() -> None:
    metadata: dict[str, Any] = {"tags": ["a"]}
    tool = Tool(name="read")
    built = build_request(MODEL, as_context("hello", tools=[tool]), {"metadata": metadata}, rates=RateCard.default())
    assert "hello" not in repr(built)
    built.body["metadata"]["tags"].append("b")
    built.body["tools"][0]["function"]["parameters"]["properties"]["x"] = {}
    assert metadata == {"tags": ["a"]}
    assert tool.parameters == {"type": "object", "properties": {}}
