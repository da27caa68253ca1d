"""The oracle itself, on bodies small enough to read by eye. It must not agree with a mapper by being blind."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.reading import Reading, read_body, split


def read(*deltas: dict[str, Any], finish: str | None = "stop") -> Reading:
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    return read_body(body.encode(), whole=False)


def call(index: int | None, call_id: str | None, name: str | None, arguments: Any) -> dict[str, Any]:
    fragment = {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}
    return {"tool_calls": [fragment]}


def calls(reading: Reading) -> list[tuple[str | None, str, str]]:
    return [(one.id, one.name, one.arguments) for one in reading.tool_calls]


def test_it_imports_nothing_of_nodrop() -> None:
    tree = ast.parse(Path(__file__).with_name("reading.py").read_text(encoding="utf-8"))
    imported: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(str(node.module))
    assert imported == {"__future__", "json", "dataclasses", "typing"}


@pytest.mark.parametrize(
    ("body", "events"),
    [
        (b"data: a\n\ndata:b\r\n\r\ndata:  c\r\r", ["a", "b", " c"]),
        (b"\xef\xbb\xbfdata: a\ndata: b\n\n", ["a\nb"]),
        ("data: a\u2028b\n\n".encode(), ["a\u2028b"]),
        (b": comment\nevent: x\nid: 1\nretry: 2\ndata: a\n\ndata\n\n", ["a"]),
        (b'data: {"a":1}', ['{"a":1}']),
        (b'data: {"a":', []),
        (b"data: [DONE]", ["[DONE]"]),
        (b'data: x\n\n{"error":\n{"message": "m"}}\n\ndata: y\n\n', ["x", '{"error":\n{"message": "m"}}', "y"]),
        (b"data: a\xff\n\n", ["a\ufffd"]),
    ],
)
def test_split(body: bytes, events: list[str]) -> None:
    assert split(body) == events


def test_text_thinking_and_markers_in_order() -> None:
    thinking = {
        "type": "thinking",
        "thinking": [{"type": "text", "text": "a"}, {"type": "reference", "reference_ids": [3]}],
    }
    empty = {"type": "reference", "reference_ids": []}
    reading = read(
        {"role": "assistant", "content": ""},
        {"content": [thinking, empty, thinking, {"type": "text", "text": "b"}]},
        {"content": [{"type": "reference", "reference_ids": [0, "web"]}]},
        {"content": "c"},
        {"content": [thinking]},
    )
    assert reading.blocks == [("thinking", "a[3]a[3]"), ("text", "b[0, web]c"), ("thinking", "a[3]")]
    assert reading.text == "b[0, web]c"
    assert reading.thinking == "a[3]a[3]a[3]"
    assert reading.finish == "stop"
    assert reading.done
    assert reading.rejected == []


def test_a_second_signature_begins_a_block() -> None:
    def part(text: str, signature: str) -> dict[str, Any]:
        return {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}], "signature": signature}]}

    assert read(part("a", "s"), part("b", "s")).blocks == [("thinking", "ab")]
    assert read(part("a", "s"), part("b", "t")).blocks == [("thinking", "a"), ("thinking", "b")]
    assert read(part("a", ""), part("b", "t")).blocks == [("thinking", "ab")]
    assert read({"content": [{"type": "thinking", "thinking": [], "signature": "s"}]}).blocks == [("thinking", "")]


def test_surrogates_meet_across_deltas_or_are_replaced() -> None:
    assert read({"content": "\ud83d"}, {"content": "\ude00!"}).text == "\U0001f600!"
    assert read({"content": "a\ud83d"}, {"content": "b"}).text == "a\ufffdb"


def test_what_is_refused_is_listed_in_order() -> None:
    reading = read(
        {"content": [{"type": "image_url", "image_url": "x"}, None, {"text": "y"}, {"type": "text", "text": 1}]},
        {"content": [{"type": "reference"}, {"type": "thinking", "thinking": "flat"}, {"type": "video_url"}]},
        {"content": [{"type": "thinking", "thinking": [{"type": "tool_reference"}]}]},
        {"content": 7},
        {"content": "kept", "reasoning_content": "r", "refusal": ""},
        {"role": "tool", "content": "not read"},
    )
    assert reading.rejected == [
        "image_url", "no type", "no type", "text", "reference", "thinking", "video_url", "thinking: tool_reference",
        "content", "reasoning_content", "role tool",
    ]  # fmt: skip
    assert reading.text == "kept"


@pytest.mark.parametrize(
    ("deltas", "expected"),
    [
        # parallel calls that interleave by index
        (
            [call(0, "a", "f", "{"), call(1, "b", "g", "["), call(0, None, None, "}"), call(1, "", "", "]")],
            [("a", "f", "{}"), ("b", "g", "[]")],
        ),
        # no indexes: two ids; then a piece without anything goes to the last
        (
            [call(None, "a", "f", "1"), call(None, "b", "f", "2"), call(None, None, None, "3")],
            [("a", "f", "1"), ("b", "f", "23")],
        ),
        (
            [call(None, "a", "f", "1"), call(None, "b", "g", "2"), call(None, "a", None, "3")],
            [("a", "f", "13"), ("b", "g", "2")],
        ),
        # index 0 for every call: the id tells them apart
        (
            [call(0, "a", "f", "1"), call(0, "b", "g", "2"), call(0, None, None, "3")],
            [("a", "f", "1"), ("b", "g", "23")],
        ),
        # "null" is no id; a later id on a nameless fragment is ignored
        ([call(0, "null", "f", "1"), call(0, "x", "", "2"), call(0, "y", None, "3")], [("x", "f", "123")]),
        # a nameless fragment at an index that nobody opened goes to the last call
        ([call(0, "a", "f", "1"), call(5, None, None, "2")], [("a", "f", "12")]),
        # an id at a new index opens a call, named later
        ([call(0, "a", "f", "1"), call(1, "b", None, ""), call(1, None, "g", "2")], [("a", "f", "1"), ("b", "g", "2")]),
        ([call(0, None, "f", {"a": [1, "é"]})], [(None, "f", '{"a":[1,"é"]}')]),
    ],
)
def test_tool_calls(deltas: list[dict[str, Any]], expected: list[tuple[str | None, str, str]]) -> None:
    assert calls(read(*deltas, finish="tool_calls")) == expected


def test_a_fragment_without_any_call() -> None:
    assert read(call(0, None, None, "1")).rejected == ["tool_calls: a fragment without a call"]
    assert calls(read(call(None, "a", None, "1"), call(None, "a", "f", "2"))) == [("a", "f", "12")]


def test_a_call_stands_where_it_got_its_name() -> None:
    reading = read(call(0, "a", None, "{"), call(1, "b", "g", ""), {"content": "t"}, call(0, None, "f", "}"))
    assert reading.blocks == [("toolCall", ""), ("text", "t"), ("toolCall", "{}")]
    assert calls(reading) == [("b", "g", ""), ("a", "f", "{}")]
    assert reading.unnamed == []
    assert [one.id for one in read(call(0, "a", None, "{")).unnamed] == ["a"]


def test_a_call_ends_the_text() -> None:
    reading = read(
        {"content": "a"}, call(0, "a", "f", "{"), {"content": "b"}, call(0, None, None, "}"), {"content": "c"}
    )
    assert reading.blocks == [("text", "a"), ("toolCall", "{}"), ("text", "b"), ("text", "c")]


def test_usage_candidates_and_ends() -> None:
    chunks: list[dict[str, Any]] = [
        {"usage": {}, "model": "m", "choices": [{"index": 1, "delta": {"content": "other"}, "finish_reason": ""}]},
        {"usage": {"prompt_tokens": 1}, "choices": [{"delta": {"content": "ours"}, "finish_reason": "stop"}]},
        {"usage": {"prompt_tokens": 2}, "choices": []},
        {"usage": {"prompt_tokens": None}},
        {"choices": [{"index": 0, "delta": None, "finish_reason": "length"}]},
    ]
    reading = read_body("".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks).encode(), whole=False)
    assert reading.candidates == [1, 0]
    assert reading.text == "ours"
    assert reading.usage == {"prompt_tokens": 2}
    assert reading.finishes == ["stop", "length"]
    assert reading.models == ["m"]
    assert not reading.done


def test_after_done_nothing_is_read_and_an_error_is_kept() -> None:
    error = {"error": {"message": "m"}}
    assert read_body(f"data: {json.dumps(error)}\n\n".encode(), whole=False).error == error
    assert read_body(f"data: [DONE]\n\ndata: {json.dumps(error)}\n\n".encode(), whole=False).error is None


def test_whole_bodies() -> None:
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": "a"}, {"type": "reference", "reference_ids": [1]}],
    }
    tool = {"role": "tool", "content": "x"}
    body = {
        "model": "m",
        "usage": {"total_tokens": 3},
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }
    reading = read_body(json.dumps(body).encode(), whole=True)
    assert (reading.text, reading.finish, reading.usage) == ("a[1]", "stop", {"total_tokens": 3})
    several = {"choices": [{"index": 0, "messages": [message, tool, message], "finish_reason": "stop"}]}
    reading = read_body(json.dumps(several).encode(), whole=True)
    assert (reading.text, reading.rejected) == ("a[1]a[1]", ["role tool"])
