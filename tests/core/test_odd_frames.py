"""Odd things around the content: named, no payload shown, and the content beside them kept."""

from __future__ import annotations

from typing import Any

import pytest

from nodrop.core.wire_sink import WireSink
from nodrop.errors import APIError, ContentRejectedError, StreamProtocolError
from nodrop.testing.wire import (
    call_part,
    chunk,
    completion,
    encode_json,
    finish,
    message,
    text,
    text_part,
    thinking_part,
    tool_calls,
)
from tests.core.driving import run, run_whole
from tests.core.hiding import MARK, SECRET, check_hidden

OTHERS: dict[str, tuple[Any, type[APIError], list[str]]] = {
    "unknown finish reason": (
        finish("content_filter"),
        ContentRejectedError,
        ["content_filter", "choices[0].finish_reason"],
    ),
    "a finish reason that is a payload": (finish(SECRET), ContentRejectedError, ["choices[0].finish_reason"]),
    "a finish reason that is no string": (
        finish() | {"choices": [{"index": 0, "delta": {}, "finish_reason": [SECRET]}]},
        ContentRejectedError,
        ["choices[0].finish_reason"],
    ),
    "unknown role": (
        chunk({"role": "narrator", "content": SECRET}),
        ContentRejectedError,
        ["narrator", "choices[0].delta"],
    ),
    "role user": (chunk({"role": "user", "content": SECRET}), ContentRejectedError, ["user", "choices[0].delta"]),
    "role tool": (chunk({"role": "tool", "content": SECRET}), ContentRejectedError, ["tool", "choices[0].delta"]),
    "a role that is a payload": (
        chunk({"role": SECRET, "content": SECRET}),
        ContentRejectedError,
        ["choices[0].delta"],
    ),
    "a role that is no string": (
        chunk({"role": [SECRET], "content": ""}),
        StreamProtocolError,
        ["choices[0].delta.role"],
    ),
    "second candidate": (text(SECRET, index=1), ContentRejectedError, ["choices[1]"]),
    "reasoning_content": (chunk({"reasoning_content": SECRET}), ContentRejectedError, ["reasoning_content"]),
    "reasoning": (chunk({"reasoning": {"a": SECRET}}), ContentRejectedError, ["reasoning", "choices[0].delta"]),
    "refusal": (chunk({"refusal": SECRET}), ContentRejectedError, ["refusal", "choices[0].delta.refusal"]),
    "content that is an object": (
        chunk({"content": {"a": SECRET}}),
        ContentRejectedError,
        ["choices[0].delta.content"],
    ),
    "content that is a number": (chunk({"content": 7}), ContentRejectedError, ["choices[0].delta.content"]),
    "a delta that is a string": (
        chunk() | {"choices": [{"index": 0, "delta": SECRET, "finish_reason": None}]},
        StreamProtocolError,
        ["choices[0].delta"],
    ),
    "a choice that is a string": (chunk() | {"choices": [SECRET]}, StreamProtocolError, ["choices[0]"]),
    "choices that are an object": (chunk() | {"choices": {SECRET: SECRET}}, StreamProtocolError, ["choices"]),
    "a candidate's index that is a payload": (
        chunk() | {"choices": [{"index": SECRET, "delta": {}, "finish_reason": None}]},
        StreamProtocolError,
        ["choices[0].index"],
    ),
    "a usage that is a payload": (
        chunk() | {"usage": {"prompt_tokens": SECRET}},
        StreamProtocolError,
        ["usage.prompt_tokens"],
    ),
    "a model that is no string": (chunk() | {"model": [SECRET]}, StreamProtocolError, ["model"]),
    "a chunk without id and model": ({"choices": [], "note": SECRET}, StreamProtocolError, ["id"]),
    "tool calls that are an object": (
        chunk({"tool_calls": {"a": SECRET}}),
        StreamProtocolError,
        ["choices[0].delta.tool_calls"],
    ),
    "a tool call that is a string": (tool_calls(SECRET), ContentRejectedError, ["choices[0].delta.tool_calls[0]"]),
    "a tool call without a function": (tool_calls({"id": SECRET}), ContentRejectedError, ["tool_calls[0].function"]),
    "a tool call without arguments": (
        tool_calls(call_part("aaaaaaaa1", SECRET)),
        ContentRejectedError,
        ["tool_calls[0].function.arguments"],
    ),
    "arguments that are a list": (
        tool_calls(call_part("aaaaaaaa1", "f") | {"function": {"name": "f", "arguments": [SECRET]}}),
        ContentRejectedError,
        ["tool_calls[0].function.arguments"],
    ),
    "a call type that is a payload": (
        tool_calls(call_part(SECRET, SECRET, SECRET, type=SECRET)),
        ContentRejectedError,
        ["type"],
    ),
    "an event that is a list": (encode_json([SECRET]).decode(), StreamProtocolError, ["array"]),
    "an event that is a string": (encode_json(SECRET).decode(), StreamProtocolError, ["string"]),
    "an event that is null": ("null", StreamProtocolError, ["null"]),
    "an event that is a number": ("12345", StreamProtocolError, ["number"]),
    "broken JSON": ('{"id": "' + SECRET, StreamProtocolError, ["JSON", "character"]),
    "broken JSON after blanks": ('   \t{"id": "' + SECRET, StreamProtocolError, ["JSON", "character"]),
    "broken JSON after a byte order mark": ('\ufeff{"id": "' + SECRET, StreamProtocolError, ["JSON", "character"]),
    "JSON after a byte order mark": ("\ufeff" + encode_json(text(SECRET)).decode(), StreamProtocolError, ["JSON"]),
    "broken JSON after a control character": ('\x00\x1f{"id": "' + SECRET, StreamProtocolError, ["JSON"]),
    "a broken list": ('["' + SECRET, StreamProtocolError, ["JSON"]),
    "a broken string": ('"' + SECRET, StreamProtocolError, ["JSON"]),
}


@pytest.mark.parametrize(("item", "kind", "words"), OTHERS.values(), ids=OTHERS.keys())
def test_other_things(item: Any, kind: type[APIError], words: list[str]) -> None:
    outcome = run(text("a"), item, text("never"), finish())
    assert type(outcome.error) is kind
    for word in words:
        assert word in str(outcome.error)
    check_hidden(outcome)
    assert outcome.text == "a"
    assert MARK not in repr(outcome.message.content)


BESIDE = {
    "index": {"index": "x"},
    "finish_reason missing": {"finish_reason": ...},
    "finish_reason": {"finish_reason": "content_filter"},
    "logprobs": {"logprobs": SECRET},
    "logprobs inside": {"logprobs": {"content": [{"token": SECRET}]}},
    "padding": {"p": [SECRET]},
}
BESIDE_IN_DELTA = {
    "role": {"role": [SECRET]},
    "metadata": {"metadata": SECRET},
    "tool_call_id": {"tool_call_id": [SECRET]},
    "delta index": {"index": SECRET},
    "tool calls": {"tool_calls": SECRET},
    "a tool call": {"tool_calls": [SECRET]},
    "reasoning_content": {"reasoning_content": SECRET},
}
BESIDE_IN_FRAME: dict[str, Any] = {
    "usage": {"usage": SECRET},
    "usage inside": {"usage": {"prompt_tokens_details": {"cached_tokens": SECRET}}},
    "id": {"id": None},
    "model": {"model": {"a": SECRET}},
    "created": {"created": SECRET},
    "object": {"object": [SECRET]},
    "padding": {"p": {"a": SECRET}},
    "error": {"error": {"message": "down", "type": "server_error"}},
    "second choice": {"choices": [{"index": 0, "delta": {"content": "b"}, "finish_reason": None}, SECRET]},
}


@pytest.mark.parametrize("odd", BESIDE.values(), ids=BESIDE.keys())
def test_content_beside_an_odd_choice_is_kept(odd: dict[str, Any]) -> None:
    choice = {"index": 0, "delta": {"content": "b"}, "finish_reason": None} | odd
    choice = {key: value for key, value in choice.items() if value is not ...}
    outcome = run(text("a"), chunk(choices=[choice]), finish())
    assert outcome.text == "ab"
    assert f"choices[0].{next(iter(odd))}" in str(outcome.error)
    check_hidden(outcome)


@pytest.mark.parametrize("odd", BESIDE_IN_DELTA.values(), ids=BESIDE_IN_DELTA.keys())
def test_content_beside_an_odd_field_of_the_delta_is_kept(odd: dict[str, Any]) -> None:
    outcome = run(text("a"), chunk({"content": "b"} | odd), finish())
    assert outcome.text == "ab"
    assert f"choices[0].delta.{next(iter(odd))}" in str(outcome.error)
    check_hidden(outcome)


@pytest.mark.parametrize("odd", BESIDE_IN_FRAME.values(), ids=BESIDE_IN_FRAME.keys())
def test_content_beside_an_odd_field_of_the_frame_is_kept(odd: dict[str, Any]) -> None:
    outcome = run(text("a"), text("b") | odd, finish())
    assert outcome.text == "ab"
    assert "down" in str(outcome.error) or next(iter(odd)) in str(outcome.error)
    check_hidden(outcome)


def test_content_beside_an_odd_field_of_a_whole_completion_is_kept() -> None:
    outcome = run_whole(completion("b", usage={"prompt_tokens": SECRET}))
    assert outcome.text == "b"
    assert "usage.prompt_tokens" in str(outcome.error)
    check_hidden(outcome)


def test_a_culprit_in_a_message_is_not_forgotten_over_a_delta_beside_it() -> None:
    culprit = {"index": 0, "message": message([text_part("a"), {"type": "video_url"}]), "finish_reason": "stop"}
    beside: list[dict[str, Any]] = [
        {},
        {"delta": {}},
        {"delta": {"content": "b"}},
        {"messages": []},
        {"messages": None},
    ]
    for extra in beside:
        assert run_whole(completion(choices=[culprit | extra])).error is not None


@pytest.mark.parametrize("text_", ["Number of choices must be greater than 0.", "  upstream is down", "x" * 500])
def test_data_that_is_plain_text_is_quoted_up_to_200_characters(text_: str) -> None:
    outcome = run(text("a"), text_)
    assert isinstance(outcome.error, StreamProtocolError)
    assert text_.strip()[:200] in str(outcome.error)
    assert len(str(outcome.error)) < 300
    assert outcome.text == "a"


@pytest.mark.parametrize("place", ["frame", "choice", "delta", "item", "part", "call", "function"])
def test_rejected_unknown_fields_hide_a_payload_in_the_place_of_a_name(place: str) -> None:
    odd = {SECRET: SECRET}
    item = text_part("b") | (odd if place == "item" else {})
    part = thinking_part(text_part("t") | (odd if place == "part" else {}))
    call = call_part("aaaaaaaa1", "f", "{}")
    call |= odd if place == "call" else {}
    call["function"] |= odd if place == "function" else {}
    delta = {"content": [part, item], "tool_calls": [call]} | (odd if place == "delta" else {})
    choice = {"index": 0, "delta": delta, "finish_reason": None} | (odd if place == "choice" else {})
    outcome = run(chunk(choices=[choice]) | (odd if place == "frame" else {}), finish(), unknown_fields="reject")
    assert isinstance(outcome.error, ContentRejectedError)
    assert outcome.thinking == "t"
    assert outcome.text == ("" if place == "part" else "b")
    check_hidden(outcome)
    kept = run(chunk(choices=[choice]) | (odd if place == "frame" else {}), finish())
    assert kept.error is None
    assert MARK in kept.message.model_dump_json(by_alias=True)  # on unmapped, on purpose
    assert MARK not in repr(kept.message.diagnostics)


def repeating(path: str, first: object, second: object) -> bytes:
    """A chunk in which the key at ``path`` stands twice."""
    whole: Any = text("b") | {"usage": {"prompt_tokens": 1}}
    *steps, key = path.split("/")
    place = whole
    for step in steps:
        place = place[int(step) if step.isdigit() else step]
    place[key] = "TWICE"
    pair = b",".join(b'"%b":%b' % (key.encode(), encode_json(value)) for value in (first, second))
    return encode_json(whole).replace(b'"%b":"TWICE"' % key.encode(), pair)


REPEATED: dict[str, tuple[str, object, object]] = {
    "choices/0/delta/content": ("choices[0].delta.content", SECRET, "b"),
    "choices/0/delta": ("choices[0].delta", {"content": SECRET}, {"content": "b"}),
    "choices/0/delta/note": ("choices[0].delta.note", True, 1),
    "choices": ("choices", [], text("b")["choices"]),
    "usage/prompt_tokens": ("usage.prompt_tokens", 1, 2),
    "note": ("note", {"a": [1, {"b": SECRET}]}, {"a": [1, {"b": "c"}]}),
}


@pytest.mark.parametrize(("path", "wanted"), REPEATED.items(), ids=REPEATED.keys())
def test_a_key_that_stands_twice_with_different_values_is_an_error(
    path: str, wanted: tuple[str, object, object]
) -> None:
    named, first, second = wanted
    outcome = run(text("a"), repeating(path, first, second).decode(), text("never"), finish())
    assert isinstance(outcome.error, ContentRejectedError)
    assert f"{named}: this key stands twice" in str(outcome.error)
    assert outcome.error.path == named
    assert outcome.text == ("a" if named in ("choices", "choices[0].delta", "choices[0].delta.content") else "ab")
    check_hidden(outcome)


@pytest.mark.parametrize("path", REPEATED)
def test_a_key_that_stands_twice_with_the_same_value_is_a_note(path: str) -> None:
    same = REPEATED[path][2]
    outcome = run(text("a"), repeating(path, same, same).decode(), finish())
    assert outcome.error is None
    assert outcome.text == "ab"
    assert "repeated_key" in outcome.notes


def test_keys_that_stand_twice_are_found_behind_an_escape_and_inside_lists() -> None:
    escaped = encode_json(text("b")).replace(b'"content":', b'"\\u0063ontent":"x","content":')
    assert "choices[0].delta.content: this key" in str(run(escaped.decode()).error)
    item = encode_json(chunk({"content": [text_part("b")]})).replace(b'"text":"b"', b'"text":"x","text":"b"')
    assert "choices[0].delta.content[0].text: this key" in str(run(item.decode()).error)


def test_of_two_repeated_keys_the_one_that_differs_is_named() -> None:
    data = encode_json(text("b")).replace(b"{", b'{"p":"x","p":"x",', 1).replace(b'"model":', b'"model":"x","model":')
    outcome = run(data.decode())
    assert "at model: this key" in str(outcome.error)
    assert outcome.notes == []


def test_a_key_that_stands_twice_in_a_whole_completion_is_an_error() -> None:
    body = encode_json(completion("b")).replace(b'"content":"b"', b'"content":"x","content":"b"')
    assert "choices[0].message.content: this key" in str(run_whole(body).error)
    same = body.replace(b'"x"', b'"b"')
    assert run_whole(same).notes == ["repeated_key"]


def test_the_wire_level_does_not_lose_the_first_of_two_values() -> None:
    sink = WireSink(max_event_bytes=10_000)
    assert sink.feed(b"data: " + repeating("choices/0/delta/content", "x", "b") + b"\n\n") == []
    assert isinstance(sink.error, ContentRejectedError)
    assert sink.error.path == "choices[0].delta.content"
    assert sink.error.raw == repeating("choices/0/delta/content", "x", "b")
