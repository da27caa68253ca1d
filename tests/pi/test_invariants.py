"""The protocol's invariants (pi-messages of pi 1.4.0), for any answer of the server, cut and failed ones included."""

from __future__ import annotations

import json
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from nodrop import Decoder
from nodrop.errors import AbortedError
from nodrop.pi.events import frame, pi_event
from nodrop.testing import content, finish, image_part, reference_part, start, text, text_part, thinking, usage
from nodrop.testing.wire import call_part, encode_item, tool_calls
from tests.pi.gateway import MODEL, read_events

JSON = dict[str, Any]
_WORDS: Final = st.text(st.characters(codec="utf-8"), max_size=12)
_ITEMS: Final = st.one_of(
    _WORDS.map(text),
    _WORDS.map(thinking),
    st.tuples(_WORDS, st.integers(0, 9)).map(lambda pair: content(text_part(pair[0]), reference_part(pair[1]))),
    st.tuples(st.integers(0, 2), st.sampled_from([None, "null", "aB3dE5gH7", "call_long|id"]), _WORDS).map(
        lambda three: tool_calls(call_part(three[1], "read", json.dumps({"path": three[2]}), index=three[0]))
    ),
    st.tuples(st.integers(0, 2), _WORDS).map(lambda pair: tool_calls(call_part(arguments=pair[1], index=pair[0]))),
    st.just(content(image_part("data:image/png;base64,aGk="))),
    st.just({"error": {"message": "overloaded", "type": "internal_server_error"}}),
)
_ENDINGS: Final = st.sampled_from(["stop", "length", "tool_calls", "error", None])
_USAGE_KEYS: Final = {"input", "output", "cacheRead", "cacheWrite", "totalTokens", "cost"}
_OURS: Final = {"rawArguments", "complete", "citations", "unmapped", "reported", "raw", "partial", "message", "error"}


def played(items: list[JSON], ending: str | None, *, abort: bool) -> list[JSON]:
    """The events as pi reads them."""
    decoder = Decoder(model=MODEL)
    body = b"".join(encode_item(item) for item in [start(), *items])
    if ending is not None:
        body += encode_item(finish(ending, usage=usage(10, 3))) + b"data: [DONE]\n\n"
    events = decoder.feed(body)
    if not events or events[-1].type not in ("done", "error"):
        events += decoder.fail(AbortedError()) if abort else decoder.close()
    wire = b"".join(frame(pi_event(event, effort="high")) for event in events)
    for block in wire.split(b"\n\n"):
        assert block.count(b"\n") == 0, "pi reads one data line for each event"
    return read_events(wire.decode())


@settings(max_examples=300)
@given(st.lists(_ITEMS, max_size=8), _ENDINGS, st.booleans())
def test_invariants(items: list[JSON], ending: str | None, abort: bool) -> None:
    events = played(items, ending, abort=abort)
    kinds = [event["type"] for event in events]
    assert kinds[-1] in ("done", "error")
    assert not {"done", "error"} & set(kinds[:-1])
    if len(events) > 1:
        assert kinds[0] == "start"
        assert "start" not in kinds[1:]
    blocks: dict[int, str] = {}
    ended: set[int] = set()
    for event in events[1:-1]:
        index = event["contentIndex"]
        match event["type"].split("_"):
            case [_, "start"]:
                assert index == len(blocks), "contentIndex runs from 0 without gaps"
                blocks[index] = ""
                if event["type"] == "toolcall_start":
                    assert isinstance(event["id"], str)
                    assert event["id"]
                    assert event["toolName"] == "read"
            case [_, "delta"]:
                assert index in blocks
                assert index not in ended
                blocks[index] += event["delta"]
            case ["toolcall", "end"]:
                assert index not in ended
                ended.add(index)
                assert event["toolCall"]["type"] == "toolCall"
                assert event["toolCall"]["id"]
                assert isinstance(event["toolCall"]["arguments"], dict)
            case [_, "end"]:
                assert index not in ended
                ended.add(index)
                assert event["content"] == blocks[index]
            case other:
                raise AssertionError(other)
    last = events[-1]
    assert set(last["usage"]) >= _USAGE_KEYS
    assert set(last["usage"]["cost"]) == {"input", "output", "cacheRead", "cacheWrite", "total"}
    if last["type"] == "done":
        assert last["reason"] in ("stop", "length", "toolUse")
        assert ended == set(blocks)
    else:
        assert last["reason"] in ("error", "aborted")
        assert last["errorMessage"]
    assert not keys_of(events) & (_OURS - {"error"})


def keys_of(value: Any) -> set[str]:
    """Every key of our own making: what is inside arguments is the model's."""
    if isinstance(value, dict):
        return set(value).union(*(keys_of(inner) for key, inner in value.items() if key != "arguments"))
    if isinstance(value, list):
        return set().union(*(keys_of(inner) for inner in value))
    return set()
