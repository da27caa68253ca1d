"""An event that repeats the last one is read by its text alone, and becomes exactly what it would become otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import nodrop.core.message_sink
from nodrop.core.repeats import Repeats
from nodrop.core.wire_json import read_chunk
from nodrop.testing.wire import chunk, encode_json, finish, text, text_part, thinking_part
from tests.core.driving import Outcome, run_blocks
from tests.core.strategies import CONTENT_CHUNKS

END = [b"data: " + encode_json(finish()) + b"\n\n", b"data: [DONE]\n\n"]


def block(data: bytes) -> bytes:
    return b"data: " + data + b"\n\n"


def other_frames(frame: dict[str, Any]) -> list[dict[str, Any]]:
    """The frame and its likes: each has something else beside its text."""
    choice = frame["choices"][0]
    delta = choice["delta"]
    in_choice: list[dict[str, Any]] = [
        {"p": "ab"},
        {"p": "PAD"},
        {"logprobs": None},
        {"note": None},
        {"logprobs": {"content": [{"token": "a", "logprob": -1.0, "bytes": [97], "top_logprobs": []}]}},
        {"note": "n"},
        {"finish_reason": "length"},
        {"index": 1},
    ]
    in_delta: list[dict[str, Any]] = [
        {"role": "assistant"},
        {"role": "user"},
        {"metadata": {"text": "m"}},
        {"metadata": {"m": "m"}},
        {"note": None},
        {"note": "n"},
        {"text": "another text"},
        {"tool_call_id": "t"},
        {"tool_calls": [{"index": 0, "id": "aaaaaaaa1", "function": {"name": "f", "arguments": "1"}}]},
    ]
    return [
        frame,
        frame | {"model": "another"},
        frame | {"id": "another"},
        frame | {"p": "abc"},
        frame | {"p": "PAD"},
        frame | {"note": None},
        frame | {"usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}},
        frame | {"note": {"content": "n"}},
        frame | {"object": "error"},
        *(frame | {"choices": [choice | extra]} for extra in in_choice),
        *(frame | {"choices": [choice | {"delta": delta | extra}]} for extra in in_delta),
    ]


FRAMES = [
    *other_frames(text("WORD")),
    *other_frames(chunk({"content": [thinking_part("WORD")]})),
    *other_frames(chunk({"content": [text_part("WORD")]})),
    chunk({"content": [thinking_part("WORD"), text_part("WORD")]}),
    chunk({"content": [text_part("WORD"), text_part("WORD")]}),
    chunk({"content": [thinking_part("WORD") | {"signature": "S"}]}),
    chunk({"content": [thinking_part("WORD") | {"closed": True}]}),
    chunk({"content": [thinking_part(text_part("WORD") | {"note": "n"})]}),
    chunk({"content": [{"type": "reference", "reference_ids": [1]}]}),
    chunk({"content": "WORD"}, id='"content":"', model="text"),
]
STRINGS: list[bytes] = [
    b"a",
    b" word",
    "é 😀 \u2028".encode(),
    b"",
    b"p",
    b'\\"',
    b"\\n\\t\\u00e9",
    b"\\\\",
    b"\\ud83d\\ude00",
    b"\\ud83d",
    b"\\ude00",
    b"\\x",
    b"\\u12",
    b"\\",
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\x01",
    b"\t",
    b'"',
    b'","content":"b',
    b'"},"finish_reason":"length","delta":{"content":"b',
    b"x" * 5000,
]
Parts = tuple[dict[str, Any], bytes, bytes]
_SOME_STRING = st.sampled_from(STRINGS[:3] * 10 + STRINGS)
EVENTS = st.tuples(st.sampled_from(FRAMES[:2] * 20 + FRAMES), _SOME_STRING, _SOME_STRING)


def event(frame: dict[str, Any], word: bytes, padding: bytes = b"") -> bytes:
    return block(encode_json(frame).replace(b"WORD", word).replace(b"PAD", padding))


def without_repeats(blocks: list[bytes], **options: Any) -> Outcome:
    """Each event goes the whole way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Repeats, "text", lambda *_: None)
        patch.setattr(Repeats, "mapped", lambda *_: None)
        return run_blocks(blocks, **options)


def check_same(blocks: list[bytes]) -> None:
    with_them, without = run_blocks(blocks), without_repeats(blocks)
    assert repr(with_them.events) == repr(without.events)
    assert with_them.message.model_dump() == without.message.model_dump()
    assert (type(with_them.error), str(with_them.error)) == (type(without.error), str(without.error))


@given(st.lists(EVENTS, max_size=12))
def test_a_stream_becomes_the_same_with_repeats_and_without(events: list[Parts]) -> None:
    check_same([*(event(*parts) for parts in events), *END])


@pytest.mark.parametrize("string", STRINGS, ids=repr)
@pytest.mark.parametrize("number", range(len(FRAMES)))
def test_every_string_in_every_frame_after_its_likes(number: int, string: bytes) -> None:
    frame, plain = FRAMES[number], FRAMES[0]
    likes = [event(frame, word, word) for word in (b"a", b"b", b"c")]
    check_same([*likes, event(frame, string), event(frame, b"d"), *END])
    check_same([*likes, event(frame, b"d", string), event(frame, b"e"), *END])
    check_same([event(plain, b"a"), event(plain, b"b"), event(frame, string), event(plain, b"c"), *END])


@given(st.lists(CONTENT_CHUNKS, min_size=1, max_size=4), st.integers(1, 4))
@example([text("a") | {"p": "a"}], 3)
def test_any_chunks_each_a_few_times(chunks: list[dict[str, Any]], times: int) -> None:
    check_same([block(encode_json(item)) for item in chunks for _ in range(times)] + END)


@pytest.fixture
def whole_ways(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The data that took the whole way."""
    seen: list[bytes] = []

    def noted(data: bytes) -> Any:
        seen.append(data)
        return read_chunk(data)

    monkeypatch.setattr(nodrop.core.message_sink, "read_chunk", noted)
    return seen


MISTRALS: dict[str, Callable[[str, int], dict[str, Any]]] = {
    "text": lambda word, _: text(word),
    "text with padding": lambda word, number: text(word) | {"p": "abcdefghijklmnopqrstuvwxyz0123456789"[:number]},
    "thinking": lambda word, _: chunk({"content": [thinking_part(word)]}),
    "thinking with padding": lambda word, number: chunk({"content": [thinking_part(word)]}) | {"p": "ab" * number},
    "text item": lambda word, _: chunk({"content": [text_part(word)]}),
    "role and nulls": lambda word, _: chunk({"role": None, "content": word, "tool_calls": None}) | {"usage": None},
}


@pytest.mark.parametrize("of", MISTRALS.values(), ids=MISTRALS.keys())
def test_mistrals_events_are_repeats_from_the_third_on(
    of: Callable[[str, int], dict[str, Any]], whole_ways: list[bytes]
) -> None:
    words = ["one", " two", ' "three"\n', " vier ü", " fünf\t", "😀", " seven"]
    events = [block(encode_json(of(word, number))) for number, word in enumerate(words)]
    outcome = run_blocks([*events, *END], model="m")
    assert outcome.text + outcome.thinking == "".join(words)
    assert (
        len(whole_ways) == 2 + 2
    )  # the first opens the block, the second is compared with; then the finish and [DONE]


def test_repeats_in_one_block_and_in_many(whole_ways: list[bytes]) -> None:
    events = [block(encode_json(text(word))) for word in "abcdef"]
    one, many = run_blocks([b"".join([*events, *END])]), run_blocks([*events, *END])
    assert one.text == many.text == "abcdef"
    assert len(whole_ways) == 8


def test_an_event_in_another_framing_is_a_repeat_too(whole_ways: list[bytes]) -> None:
    events = [block(encode_json(text(word))).replace(b"\n", b"\r\n") for word in "abcdef"]
    assert run_blocks([*events, *END]).text == "abcdef"
    assert len(whole_ways) == 4


def test_an_error_event_in_the_form_of_the_last_one_is_an_error() -> None:
    data = encode_json(text("a"))
    outcome = run_blocks([block(data)] * 3 + [b"event: error\n" + block(data)])
    assert outcome.error is not None
    assert outcome.text == "aaa"


@pytest.mark.parametrize("between", [text("x"), text(""), chunk({})], ids=["text", "empty text", "nothing"])
def test_what_a_repeat_says_beside_its_text_holds_after_another_event_too(between: dict[str, Any]) -> None:
    frame = text("WORD") | {"model": "m"}
    events = [event(frame, b"a"), event(frame, b"b"), event(between | {"model": "n"}, b""), event(frame, b"c")]
    assert run_blocks(events).message.response_model == "m"
