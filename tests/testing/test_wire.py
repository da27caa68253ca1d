"""The builders write the wire's own JSON, and only the keys that were given."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nodrop.testing import (
    Reply,
    big_event,
    call_part,
    chunk,
    completion,
    content,
    error_body,
    finish,
    image_part,
    message,
    reference,
    reference_part,
    start,
    text,
    text_part,
    thinking,
    thinking_part,
    tool_call,
    tool_calls,
    tool_message,
    usage,
)
from nodrop.testing.wire import encode_item


def choice(of: dict[str, Any]) -> dict[str, Any]:
    assert of["object"] == "chat.completion.chunk"
    (only,) = of["choices"]
    assert isinstance(only, dict)
    return only


@pytest.mark.parametrize(
    ("built", "delta"),
    [
        (start(), {"role": "assistant", "content": ""}),
        (text("Hel"), {"content": "Hel"}),
        (thinking("Hm."), {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]}),
        (
            thinking("Hm.", signature="s", closed=True),
            {
                "content": [
                    {
                        "type": "thinking",
                        "thinking": [{"type": "text", "text": "Hm."}],
                        "signature": "s",
                        "closed": True,
                    }
                ]
            },
        ),
        (reference(0, "panel"), {"content": [{"type": "reference", "reference_ids": [0, "panel"]}]}),
        (
            content(text_part("a"), reference_part(), None),
            {"content": [{"type": "text", "text": "a"}, {"type": "reference", "reference_ids": []}, None]},
        ),
        (content(image_part("x:y")), {"content": [{"type": "image_url", "image_url": {"url": "x:y"}}]}),
        (
            content(thinking_part("a", reference_part(1))),
            {
                "content": [
                    {
                        "type": "thinking",
                        "thinking": [{"type": "text", "text": "a"}, {"type": "reference", "reference_ids": [1]}],
                    }
                ]
            },
        ),
        (
            tool_call("aB3dE5gH7", "look_up", '{"a', index=0, type="function"),
            {
                "tool_calls": [
                    {
                        "id": "aB3dE5gH7",
                        "type": "function",
                        "function": {"name": "look_up", "arguments": '{"a'},
                        "index": 0,
                    }
                ]
            },
        ),
        (tool_call(arguments="x"), {"tool_calls": [{"function": {"arguments": "x"}}]}),
        (
            tool_call(None, None, {"a": None}, index=None, type=None),
            {
                "tool_calls": [
                    {"id": None, "type": None, "function": {"name": None, "arguments": {"a": None}}, "index": None}
                ]
            },
        ),
        (
            tool_calls(call_part("a", "f", "{}"), 3),
            {"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}, 3]},
        ),
        (tool_message("found", tool_call_id="a"), {"role": "tool", "content": "found", "tool_call_id": "a"}),
        (tool_message([text_part("found")]), {"role": "tool", "content": [{"type": "text", "text": "found"}]}),
        (chunk(), {}),
    ],
)
def test_deltas(built: dict[str, Any], delta: dict[str, Any]) -> None:
    assert choice(built) == {"index": 0, "delta": delta, "finish_reason": None}
    assert "usage" not in built


def test_the_finish_carries_reason_and_usage() -> None:
    built = finish("length", usage=usage(12, 5, cached_tokens=8, service_tier="standard"))
    assert choice(built) == {"index": 0, "delta": {"content": ""}, "finish_reason": "length"}
    assert built["usage"] == {
        "prompt_tokens": 12,
        "completion_tokens": 5,
        "total_tokens": 17,
        "prompt_tokens_details": {"cached_tokens": 8},
        "service_tier": "standard",
    }
    assert finish(usage=None)["usage"] is None


def test_members_of_the_chunk_can_be_set_replaced_and_added() -> None:
    built = chunk({"content": "a"}, id="i", model="m", index=1, p="pad")
    assert (built["id"], built["model"], built["p"], choice(built)["index"]) == ("i", "m", "pad", 1)
    assert chunk(choices=[], usage=usage(1, 2))["choices"] == []
    assert text("a", model="m")["model"] == "m"


def test_a_completion_of_a_completion_is_a_mistake() -> None:
    for build in (completion, Reply.whole):
        with pytest.raises(ValueError, match=r"goes into Reply\.json"):
            build(completion("Hello"))


def test_a_whole_completion() -> None:
    built = completion("Hello", usage=usage(1, 2), model="m")
    assert built["object"] == "chat.completion"
    assert built["model"] == "m"
    assert built["choices"] == [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello"}}
    ]
    assert built["usage"]["total_tokens"] == 3


def test_a_whole_choice_with_messages_in_place_of_message() -> None:
    several = [message("a"), message("found", role="tool", tool_call_id="x"), message(["b"])]
    (only,) = completion(messages=several)["choices"]
    assert only == {"index": 0, "finish_reason": "stop", "messages": several}
    (both,) = completion(message("c", tool_calls=[]), messages=[])["choices"]
    assert both["message"] == {"role": "assistant", "content": "c", "tool_calls": []}
    assert both["messages"] == []
    (neither,) = completion()["choices"]
    assert neither["message"] == {"role": "assistant", "content": None}


def test_the_error_envelope() -> None:
    assert error_body("Rate limit exceeded", type="rate_limited", code="1300", raw_status_code=429) == {
        "object": "error",
        "message": "Rate limit exceeded",
        "type": "rate_limited",
        "param": None,
        "code": "1300",
        "raw_status_code": 429,
    }


@pytest.mark.parametrize(
    ("item", "encoded"),
    [
        ({"a": "é"}, 'data: {"a":"é"}\n\n'.encode()),
        ("[DONE]", b"data: [DONE]\n\n"),
        ("two\nlines", b"data: two\ndata: lines\n\n"),
        ("", b"data: \n\n"),
        (b"event: x\r\ndata: \xff", b"event: x\r\ndata: \xff"),
    ],
)
def test_items_of_a_stream(item: dict[str, Any] | str | bytes, encoded: bytes) -> None:
    assert encode_item(item) == encoded


@pytest.mark.parametrize("size", [1 << 20, 1000])
def test_a_big_event_has_the_size_asked_for(size: int) -> None:
    event = big_event(size)
    assert len(event) == size
    assert set(choice(json.loads(event.removeprefix(b"data: ")))["delta"]["content"]) == {"x"}


def test_an_event_smaller_than_its_frame_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be smaller"):
        big_event(10)
