"""A key that stands twice is always found, wherever it stands and however the JSON is written."""

from __future__ import annotations

import itertools
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nodrop.core.repeated_keys import first_repeat, has_repeats, object_of, surely_has_none
from nodrop.testing.wire import call_part, chunk, content, reference_part, text_part, thinking_part, tool_calls, usage
from nodrop.wire import CompletionChunk
from tests.core.strategies import ANY_JSON, CONTENT_CHUNKS

RICH = chunk(
    {
        "content": [thinking_part("a"), thinking_part(text_part("b"), reference_part(1)), text_part("c: d")],
        "tool_calls": [call_part("aaaaaaaa1", "f", "{}", index=0)],
    },
    usage=usage(1, 2),
)
CHUNKS = st.one_of(
    CONTENT_CHUNKS,
    st.just(RICH),
    st.builds(lambda extra: RICH | {"extra": extra}, ANY_JSON),
    st.just(tool_calls(call_part("aaaaaaaa1", "f", {"a": {"b": 1}}))),
    st.just(content(reference_part(1, "2"))),
)


def written(value: Any, counter: itertools.count[int], repeat_in: int | None, colon: str) -> str:
    """``value`` as JSON; the object with the number ``repeat_in`` has its first key twice."""
    if isinstance(value, list):
        return "[" + ",".join(written(item, counter, repeat_in, colon) for item in value) + "]"
    if not isinstance(value, dict):
        return json.dumps(value)
    twice = next(counter) == repeat_in
    members = [f"{json.dumps(key)}{colon}{written(item, counter, repeat_in, colon)}" for key, item in value.items()]
    return "{" + ",".join(members[:1] * twice + members) + "}"


@given(CHUNKS, st.sampled_from([":", ": ", " :", "\t: ", "\n:\n"]), st.integers(0, 12))
def test_every_repeat_is_found(value: dict[str, Any], colon: str, place: int) -> None:
    once = written(value, itertools.count(), None, colon).encode()
    assert not has_repeats(once)
    assert first_repeat(json.loads(once, object_pairs_hook=object_of)) is None
    twice = written(value, itertools.count(), place, colon).encode()
    if twice == once:
        return  # it has fewer objects, or an empty one there
    assert has_repeats(twice)
    assert first_repeat(json.loads(twice, object_pairs_hook=object_of)) is not None
    assert not surely_has_none(twice, CompletionChunk.model_validate_json(twice, strict=True))


def test_mistrals_events_need_no_second_reading() -> None:
    for value in (
        chunk({"content": "a"}),
        chunk({"content": [thinking_part("a")]}),
        tool_calls(call_part("a", "f", "")),
    ):
        data = json.dumps(value).encode()
        assert surely_has_none(data, CompletionChunk.model_validate_json(data, strict=True))
