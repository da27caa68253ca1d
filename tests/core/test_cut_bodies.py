"""A whole completion that breaks off: what had arrived of its content is kept, and nothing is made up."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodrop.core.cut_json import closed
from nodrop.core.message_sink import MessageSink
from nodrop.core.sse import MAX_EVENT_BYTES
from nodrop.errors import StreamTruncatedError
from nodrop.rate_card import RateCard
from nodrop.testing.wire import (
    call_part,
    completion,
    encode_json,
    message,
    reference_part,
    text_part,
    thinking_part,
    usage,
)
from tests.core.driving import Outcome, run_whole
from tests.core.strategies import ANY_JSON

ITEMS = [thinking_part("Hmm, ü"), text_part('Say "sea": '), reference_part(12, 345), text_part("😀 end")]
CALLS = [call_part("aaaaaaaa1", "look", '{"at": "x"}'), call_part("aaaaaaaa2", "look_up", '{"at": "y"}')]
ANSWER = message(ITEMS) | {"tool_calls": CALLS}
REORDERED = {
    "content": "Hello, wörld",
    "tool_calls": [{"function": {"arguments": "{}", "name": "look"}, "id": "aaaaaaaa1"}],
}
BODIES = [
    encode_json(completion(ANSWER, usage=usage(123, 45))),
    encode_json(completion(REORDERED | {"role": "assistant"}, usage=usage(123, 45))),
    json.dumps(completion(ANSWER), ensure_ascii=True, indent=1).encode(),
    encode_json(completion(messages=[message("one"), message("two")])),
]
WHOLE = [run_whole(body) for body in BODIES]


def check_is_the_beginning(cut: Outcome, whole: Outcome) -> None:
    assert isinstance(cut.error, StreamTruncatedError)
    assert whole.thinking.startswith(cut.thinking)
    assert whole.text.startswith(cut.text.removesuffix("\ufffd"))  # half a character, as in a stream that is cut there
    assert cut.message.citations in ([], whole.message.citations)
    for found, wanted in zip(cut.message.tool_calls, whole.message.tool_calls, strict=False):
        assert wanted.raw_arguments.startswith(found.raw_arguments)
        assert found.name == wanted.name
        assert not found.complete or found.arguments == wanted.arguments
    for fact in ("response_id", "response_model", "raw_stop_reason"):
        assert getattr(cut.message, fact) in (None, "", getattr(whole.message, fact)), fact
    assert cut.message.usage.input in (0, whole.message.usage.input)
    assert cut.message.usage.output in (0, whole.message.usage.output)


@pytest.mark.parametrize("number", range(len(BODIES)))
def test_a_body_that_is_cut_anywhere(number: int) -> None:
    body, whole = BODIES[number], WHOLE[number]
    assert whole.error is None
    longest = 0
    for end in range(1, len(body) - 1):
        cut = run_whole(body[:end])
        check_is_the_beginning(cut, whole)
        arrived = len(cut.text + cut.thinking + "".join(call.raw_arguments for call in cut.message.tool_calls))
        assert arrived >= longest, f"what had arrived at {end - 1} is gone at {end}"
        longest = arrived
    assert longest >= len(whole.text + whole.thinking)


def test_a_cut_body_is_not_delivered_before_its_attempt_was_the_last() -> None:
    sink = MessageSink(
        model="m", rates=RateCard.default(), now=lambda: 0, unknown_fields="keep", max_event_bytes=MAX_EVENT_BYTES
    )
    assert sink.whole(BODIES[0][:300]) == []
    assert not sink.delivered
    assert sink.error is not None
    assert [event.type for event in sink.failed(sink.error)][:2] == ["thinking_start", "thinking_delta"]
    outcome = run_whole(BODIES[0][:300])
    assert outcome.short[0] == "thinking_start 0"
    assert "ended inside its JSON, after 300 bytes" in str(outcome.error)
    assert outcome.error is not None
    assert outcome.error.partial == outcome.message


@pytest.mark.parametrize(
    ("tail", "text"),
    [
        (b'0,"message":{"content":"a\\ud83d', "a\ufffd"),  # as in a stream that is cut there
        (b'0,"message":{"content":"a\\ud83', "a"),
        (b'0,"message":{"content":"a \\ud83d b', "a \ufffd b"),
        (b'0,"message":{"content":"a\\\\ud83d', "a\\ud83d"),
        (b'0,"message":{"content":"a\xff b', "a\ufffd b"),
        (b'0,"message":{"content":"a","content":"b', ""),
        (b'0,"message":{"content":[{"type":"text","text":"a"},{"type":"reference","reference_ids":[1,2', "a"),
        (b'0,"message":{"content":[{"type":"text","text":"a"},{"type":"reference","reference_ids":[1,', "a"),
        (b'0,"message":{"content":[{"type":"text","text":"a"},{"type":"reference","reference_ids":["x', "a"),
        (b'0,"message":{"content":"a\\', "a"),
        (b'0,"message":{"content":"a\xc3', "a"),
        (b'0,"message":{"content":"12', "12"),
        (b'0,"message":{"content":"a","role":"use', "a"),
        (b'0,"message":{"content":"a","role":"user"', ""),
        (b'0,"message":{"content":[{"type":"text","text":"a"},{"type":"vid', "a"),
        (b'1,"message":{"content":"a', ""),
        (b'0,"message":{"content":"a"}},{"index":1', "a"),
        (b"0}],x", ""),
    ],
)
def test_odd_cuts(tail: bytes, text: str) -> None:
    outcome = run_whole(b'{"id":"x","model":"m","choices":[{"index":' + tail)
    assert isinstance(outcome.error, StreamTruncatedError)
    assert outcome.text == text


@pytest.mark.parametrize("body", [b'{"error":{"message":"dow', b"{" * 300, b'{"a" "b"', b"{\x01"])
def test_what_is_no_completion(body: bytes) -> None:
    outcome = run_whole(body)
    assert isinstance(outcome.error, StreamTruncatedError)
    assert outcome.message.content == []


def is_beginning(part: Any, whole: Any) -> bool:
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and is_beginning(part[key], whole[key]) for key in part)
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(map(is_beginning, part, whole))
    if isinstance(part, str) and isinstance(whole, str):
        return whole.startswith(part)
    return repr(part) == repr(whole)


@given(st.dictionaries(st.sampled_from(["content", "text", "arguments", "id", "a:b"]), ANY_JSON), st.integers(1, 200))
def test_what_is_closed_is_a_beginning(value: Any, end: int) -> None:
    data = encode_json(value)
    whole = closed(data[: min(end, len(data) - 1)])
    assert whole is not None
    assert is_beginning(json.loads(whole), value)


def test_oddities_of_a_cut_body_are_noted() -> None:
    start = b'{"id":"x","model":"m","choices":[{"index":0,"message":{"content":"'
    assert run_whole(start + b"a\xff b").notes == ["invalid_utf8"]
    assert run_whole(start + b"a \\ud83d b").notes == ["lone_surrogate"]
