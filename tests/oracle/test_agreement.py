"""Random streams, read by the oracle and decoded by nodrop: the same blocks, the same calls, or both refuse."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nodrop.content import TextContent, ThinkingContent, ToolCall
from nodrop.core.decoder import Decoder
from tests.oracle.reading import Reading, read_body

JSON = dict[str, Any]

texts = st.sampled_from(["", " ", "a", "b", "é\u2028", "\U0001f600", '{"x":1}', "[0]"])
halves = st.sampled_from(["", "a", "\ud83d", "\ude00"])  # halves of a pair, which meet or stay alone
references = st.lists(st.integers(0, 3) | st.sampled_from(["web", ""]), max_size=2).map(
    lambda ids: {"type": "reference", "reference_ids": ids}
)


def parts(text: st.SearchStrategy[str]) -> st.SearchStrategy[JSON]:
    return text.map(lambda value: {"type": "text", "text": value}) | references


def items(text: st.SearchStrategy[str]) -> st.SearchStrategy[JSON]:
    thinking = st.fixed_dictionaries(
        {"type": st.just("thinking"), "thinking": st.lists(parts(text), max_size=2)},
        optional={"signature": st.sampled_from(["", "s", "t"]), "closed": st.booleans()},
    )
    return parts(text) | thinking


def contents(text: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    return st.none() | text | st.lists(items(text), max_size=3)


refused = st.sampled_from(
    [
        {"type": "image_url", "image_url": "x"},
        {"type": "video_url"},
        {"text": "no type"},
        {"type": "text", "text": 7},
        {"type": "reference", "reference_ids": "0"},
        {"type": "thinking", "thinking": "flat"},
        {"type": "thinking", "thinking": [{"type": "tool_reference", "tool": "web_search", "title": "t"}]},
        None,
    ]
)
fragments = st.fixed_dictionaries(
    {
        "function": st.fixed_dictionaries(
            {
                "name": st.sampled_from(["f", "g", "", None]),
                "arguments": st.sampled_from(["", "{", "}", "1", {"a": [1, "é"]}]),
            }
        )
    },
    optional={
        "index": st.integers(0, 2),
        "id": st.sampled_from(["aaaaaaaaa", "bbbbbbbbb", "null", "", None]),
    },
)


def body(deltas: list[JSON]) -> bytes:
    chunks = [
        {
            "id": "1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": "stop" if last else None}],
        }
        for delta, last in [*((delta, False) for delta in deltas), ({"content": ""}, True)]
    ]
    return b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks) + b"data: [DONE]\n\n"


def compare(deltas: list[JSON]) -> Reading:
    reading = read_body(body(deltas), whole=False)
    decoder = Decoder(now=lambda: 0)
    decoder.feed(body(deltas))
    decoder.close()
    assert (decoder.error is not None) == bool(reading.rejected or reading.unnamed)
    if decoder.error is not None:
        return reading
    blocks: list[tuple[str, str]] = []
    for block in decoder.message.content:
        match block:
            case TextContent(text=text):
                blocks.append(("text", text))
            case ThinkingContent(thinking=text):
                blocks.append(("thinking", text))
            case ToolCall(raw_arguments=text):
                blocks.append(("toolCall", text))
            case _:
                raise AssertionError(f"an answer holds no {type(block).__name__}")
    assert blocks == reading.blocks
    calls = decoder.message.tool_calls
    assert [call.name for call in calls] == [call.name for call in reading.tool_calls]
    for call, expected in zip(calls, reading.tool_calls, strict=True):
        assert expected.id in (None, call.id)
    return reading


@given(st.lists(st.fixed_dictionaries({}, optional={"content": contents(texts)}), max_size=6))
def test_content(deltas: list[JSON]) -> None:
    assert compare(deltas).rejected == []


@given(st.lists(st.fixed_dictionaries({"content": contents(halves)}), max_size=5))
def test_halves_of_characters(deltas: list[JSON]) -> None:
    assert compare(deltas).rejected == []


@given(
    st.lists(
        st.fixed_dictionaries(
            {}, optional={"content": contents(texts), "tool_calls": st.lists(fragments, min_size=1, max_size=3)}
        ),
        max_size=6,
    )
)
def test_tool_calls_beside_content(deltas: list[JSON]) -> None:
    compare(deltas)


@given(contents(texts), refused, contents(texts))
def test_what_is_refused_keeps_what_came_before(before: Any, culprit: Any, after: Any) -> None:
    deltas = [{"content": before}, {"content": [{"type": "text", "text": "beside"}, culprit]}, {"content": after}]
    assert compare(deltas).rejected != []
    decoder = Decoder(now=lambda: 0)
    decoder.feed(body(deltas))
    decoder.close()
    kept = read_body(body([{"content": before}, {"content": [{"type": "text", "text": "beside"}]}]), whole=False)
    assert decoder.message.text == kept.text
    assert decoder.message.thinking == kept.thinking
