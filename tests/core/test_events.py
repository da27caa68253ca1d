"""The invariants of contract 1 as properties. ``driving`` checks those of the event order in every single run."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nodrop.core.decoder import Decoder
from nodrop.errors import APIError, ContentRejectedError, StreamProtocolError, StreamTruncatedError
from nodrop.events import Event, Failed
from nodrop.testing.wire import DONE, completion, finish, text
from tests.core.driving import NOW, run, run_blocks, run_whole
from tests.core.strategies import (
    ANY_JSON,
    CONTENT_CHUNKS,
    ITEMS,
    JSON,
    NAMES,
    as_chunk,
    as_events,
    chunk_lists,
    found,
    read_by_oracle,
)

CUTS = st.lists(st.integers(0, 4000), max_size=10)


@given(chunk_lists())
def test_conservation(chunks: list[JSON]) -> None:
    outcome = run_blocks([*as_events(chunks), DONE])
    oracle = read_by_oracle(chunks)
    assert outcome.error is None
    assert found(outcome.message) == oracle.expected()
    assert [citation.ids for citation in outcome.message.citations] == oracle.markers


@given(chunk_lists(), st.integers(0, 10_000))
def test_a_cut_anywhere_keeps_what_had_arrived(chunks: list[JSON], place: int) -> None:
    events = as_events(chunks)
    stream = b"".join(events)
    place %= len(stream)
    outcome = run_blocks([stream[:place]])
    size, whole = 0, 0
    for event in events:
        whole += size + len(event) - 2 <= place  # its blank line is not needed
        size += len(event)
    assert found(outcome.message) == read_by_oracle(chunks[:whole]).expected()
    if whole < len(chunks):
        assert isinstance(outcome.error, StreamTruncatedError)
        assert outcome.error.partial == outcome.message


@given(chunk_lists(), CUTS, st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_any_split_of_the_bytes_gives_the_same_events(chunks: list[JSON], cuts: list[int], end: bytes) -> None:
    stream = b"".join([*as_events(chunks), DONE]).replace(b"\n", end)
    places = [0, *sorted(cut % len(stream) for cut in cuts), len(stream)]
    blocks = [stream[start:stop] for start, stop in zip(places, places[1:], strict=False)]  # noqa: RUF007
    assert run_blocks(blocks).events == run_blocks([stream]).events


@given(chunk_lists(), st.integers(0, 5))
def test_a_whole_completion_is_the_stream_in_one_piece(chunks: list[JSON], extra: int) -> None:
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    reason = chunks[-1]["choices"][0]["finish_reason"]
    whole = run_whole(completion(messages=deltas, finish_reason=reason))
    streamed = run_blocks([*as_events(chunks), DONE])
    assert whole.events[1:-1] == streamed.events[1:-1]
    assert whole.message.content == streamed.message.content


@given(chunk_lists(), st.integers(0, 10_000))
def test_an_abort_at_any_moment_keeps_what_had_arrived(chunks: list[JSON], place: int) -> None:
    events = as_events(chunks)
    count = place % len(events)
    decoder = Decoder(now=lambda: NOW)
    given_out: list[Event] = [event for data in events[:count] for event in decoder.feed(data)]
    given_out += decoder.abort()
    assert isinstance(given_out[-1], Failed)
    assert decoder.message.stop_reason == "aborted"
    assert found(decoder.message) == read_by_oracle(chunks[:count]).expected()


# ---- odd things: an event or an error, never neither ----


@given(st.lists(ITEMS, max_size=3), NAMES, ANY_JSON, st.booleans())
def test_an_unknown_tag_is_an_error_that_names_it_and_keeps_what_came_before(
    before: list[JSON], tag: str, value: Any, inside: bool
) -> None:
    odd = {"type": f"new_{tag}", "value": value}
    culprit = {"type": "thinking", "thinking": [odd]} if inside else odd
    outcome = run_blocks([*as_events([as_chunk({"content": [*before, culprit]}, "stop")]), DONE])
    assert isinstance(outcome.error, ContentRejectedError)
    assert outcome.error.wire_type == f"new_{tag}"
    assert f"content[{len(before)}]" in outcome.error.path
    assert found(outcome.message) == read_by_oracle([as_chunk({"content": before})]).expected()


@given(ANY_JSON)
def test_any_json_as_a_content_item_is_an_event_or_an_error(item: Any) -> None:
    outcome = run_blocks([*as_events([as_chunk({"content": [item]}, "stop")]), DONE])
    assert outcome.error is not None


@given(ANY_JSON)
@example({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
@example({"choices": None})
@example({"error": "\ud800"})
def test_any_json_as_a_chunk_never_raises(value: Any) -> None:
    data = json.dumps(value).encode()
    for outcome in (run(text("a"), b"data: " + data + b"\n\n", finish()), run(text("a"), data + b"\n", finish())):
        assert outcome.text.startswith("a")
    run_whole(data)


@given(st.lists(st.binary(max_size=12), max_size=6), st.booleans())
def test_any_bytes_never_raise(blocks: list[bytes], framed: bool) -> None:
    run_blocks([b"data: " + block + b"\n\n" for block in blocks] if framed else blocks)
    run_whole(b"".join(blocks))


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The paths of all values inside a JSON value."""
    inner: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [path, *(found for key, each in inner for found in places(each, (*path, key)))]


def put(value: Any, path: tuple[str | int, ...], new: Any) -> Any:
    """A copy of a JSON value with ``new`` at ``path``."""
    if not path:
        return new
    copied = value.copy()
    copied[path[0]] = put(value[path[0]], path[1:], new)
    return copied


FULL = as_chunk(
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "a"},
            {
                "type": "thinking",
                "thinking": [{"type": "text", "text": "b"}, {"type": "reference", "reference_ids": [1]}],
            },
            {"type": "reference", "reference_ids": ["x"]},
        ],
        "tool_calls": [
            {"id": "aaaaaaaa1", "index": 0, "type": "function", "function": {"name": "f", "arguments": "{}"}},
            {"id": "bbbbbbbb2", "index": 1, "function": {"name": "g", "arguments": {"k": [None]}}},
        ],
        "metadata": {"m": 1},
    },
    usage={"prompt_tokens": 1, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 1}},
)
FULL["choices"][0]["logprobs"] = {"content": [{"token": "a", "token_id": 1, "logprob": -1.0, "bytes": [1]}]}
PLACES = places(FULL)


@given(CONTENT_CHUNKS, st.sampled_from(PLACES), ANY_JSON)
def test_any_json_anywhere_never_raises_and_keeps_what_came_before(
    before: JSON, path: tuple[str | int, ...], new: Any
) -> None:
    outcome = run_blocks([*as_events([before, put(FULL, path, new), as_chunk({}, "stop")]), DONE])
    before_it = "".join(value for kind, value in read_by_oracle([before]).expected() if kind == "T")
    assert outcome.text.startswith(before_it)


IGNORED = {"p", "object"}  # padding, and the kind of the JSON


@pytest.mark.parametrize("path", PLACES, ids=[".".join(map(str, path)) or "." for path in PLACES])
def test_a_string_in_any_place_is_in_the_message_or_an_error(path: tuple[str | int, ...]) -> None:
    """Nothing vanishes: a value that replaces another, and a field that is added beside it."""
    rest = as_chunk({}, "stop", id="", model="")
    events = [as_events([put(FULL, path, "MARK"), rest])]
    at = FULL
    for key in path:
        at = at[key]  # type: ignore[index]
    if isinstance(at, dict):
        events.append(as_events([put(FULL, path, at | {"new_field": "MARK"}), rest]))
        events.append(as_events([put(FULL, path, {"MARK": 1} | at), rest]))
    for stream in events:
        outcome = run_blocks([*stream, DONE])
        kept = outcome.message.model_dump_json(by_alias=True)
        assert isinstance(outcome.error, APIError) or "MARK" in kept or path[-1] in IGNORED


MONSTERS = {
    "a counter of 400 digits": '{"prompt_tokens": ' + "9" * 400 + "}",
    "a counter that is infinite": '{"prompt_tokens": 1e999}',
    "a counter that is not a number": '{"prompt_tokens": NaN}',
    "negative counters": '{"prompt_tokens": -5, "completion_tokens": -7, "num_cached_tokens": -9}',
}


@pytest.mark.parametrize("monster", MONSTERS.values(), ids=MONSTERS.keys())
def test_monstrous_counters_never_raise(monster: str) -> None:
    usage = json.loads(monster)
    outcome = run(text("a"), json.dumps(as_chunk({}, "stop", usage=usage)), model="mistral-small-latest")
    assert outcome.text == "a"
    assert outcome.message.usage.cache_read >= 0


def test_a_number_of_5000_digits_is_an_error_that_keeps_what_came_before() -> None:
    outcome = run(text("a"), '{"id":"x","model":"m","created":' + "9" * 5000 + "}", finish())
    assert isinstance(outcome.error, StreamProtocolError)
    assert outcome.text == "a"


@pytest.mark.parametrize("deep", ["[" * 150 + "]" * 150, "[" * 800 + "]" * 800, '{"message":' * 400 + "1" + "}" * 400])
@pytest.mark.parametrize("place", ["chunk", "field", "item", "arguments", "error", "ids"])
def test_deep_json_never_raises(deep: str, place: str) -> None:
    frame = '{"id":"x","model":"m","choices":[{"index":0,"delta":{%s},"finish_reason":"stop"}]}'
    data = {
        "chunk": deep,
        "field": frame % f'"content":"b","x\\ud800":{deep}',
        "item": frame % f'"content":[{{"type":"text","text":"b","x":{deep}}}]',
        "arguments": frame % f'"tool_calls":[{{"id":"a","function":{{"name":"f","arguments":{{"a":{deep}}}}}}}]',
        "error": f'{{"error": {{"message": {deep}}}}}',
        "ids": frame % f'"content":[{{"type":"reference","reference_ids":[{"9" * 5000}, {deep}]}}]',
    }[place]
    assert run(text("a"), data, finish()).text.startswith("a")
    run_whole(data.encode())
