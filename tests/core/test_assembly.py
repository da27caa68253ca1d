"""Contract 2, sentence by sentence: content of every shape → blocks, markers, citations, signatures."""

from __future__ import annotations

from typing import Any

import pytest

from nodrop.content import TextContent, ThinkingContent
from nodrop.errors import ContentRejectedError, NodropError, StreamProtocolError, StreamTruncatedError
from nodrop.events import ThinkingEnd
from nodrop.testing.wire import (
    call_part,
    chunk,
    completion,
    content,
    finish,
    message,
    reference,
    reference_part,
    start,
    text,
    text_part,
    thinking,
    thinking_part,
    tool_calls,
)
from tests.core.driving import Outcome, run, run_whole


def blocks(outcome: Outcome) -> list[str]:
    """The content in short: ``T:text``, ``R:thinking`` (with ``|signature``), ``C:name``."""
    found: list[str] = []
    for block in outcome.message.content:
        match block:
            case TextContent():
                found.append(f"T:{block.text}")
            case ThinkingContent(thinking_signature=None):
                found.append(f"R:{block.thinking}")
            case ThinkingContent():
                found.append(f"R:{block.thinking}|{block.thinking_signature}")
            case _:
                found.append(f"C:{getattr(block, 'name', '?')}")
    return found


Part = dict[str, Any]
CALL = call_part("aaaaaaaa1", "f", "{}", index=0)


def signed(value: str, signature: str | None) -> Part:
    return thinking_part(*([value] if value else []), signature=signature)


TABLE: dict[str, tuple[list[Part], list[str]]] = {
    "strings join": ([start(), text("a"), text("b")], ["T:ab"]),
    "a list with text joins a string": ([text("a"), content(text_part("b"), text_part("c")), text("d")], ["T:abcd"]),
    "null content": ([text("a"), chunk({"content": None}), chunk({}), text("b")], ["T:ab"]),
    "empty strings and lists open nothing": (
        [text(""), content(), content(text_part("")), content(thinking_part()), content(thinking_part(""))],
        [],
    ),
    "empty strings and lists close nothing": (
        [text("a"), content(thinking_part()), content(thinking_part("")), content(text_part("")), text("b")],
        ["T:ab"],
    ),
    "empty text does not close thinking": ([thinking("a"), text(""), content(), thinking("b")], ["R:ab"]),
    "an empty reference opens and closes nothing": (
        [content(reference_part()), thinking("a"), content(reference_part()), thinking("b")],
        ["R:ab"],
    ),
    "contiguous thinking is one block": (
        [thinking("a"), content(thinking_part("b", "c"), thinking_part("d")), thinking("e"), text("f")],
        ["R:abcde", "T:f"],
    ),
    "thinking that resumes after text is a new block": (
        [thinking("a"), text("b"), thinking("c"), text("d")],
        ["R:a", "T:b", "R:c", "T:d"],
    ),
    "several chunks of one delta keep their order": (
        [content(text_part("a"), thinking_part("b"), text_part("c"), reference_part(1), thinking_part("d"))],
        ["T:a", "R:b", "T:c[1]", "R:d"],
    ),
    "a call ends text": ([text("a"), tool_calls(CALL), text("b")], ["T:a", "C:f", "T:b"]),
    "a call ends thinking": ([thinking("a"), tool_calls(CALL), thinking("b")], ["R:a", "C:f", "R:b"]),
    "content comes before calls of the same delta": (
        [chunk({"tool_calls": [CALL], "content": "a"})],
        ["T:a", "C:f"],
    ),
    "a reference joins the open text": ([text("a"), reference(0, 1), text("b")], ["T:a[0, 1]b"]),
    "a reference opens text": ([reference(0)], ["T:[0]"]),
    "a reference ends thinking": ([thinking("a"), reference(0), thinking("b")], ["R:a", "T:[0]", "R:b"]),
    "string ids as they are": ([reference("web_search", "a b", "7", 7)], ["T:[web_search, a b, 7, 7]"]),
    "an id may be empty or negative": ([reference("", -1)], ["T:[, -1]"]),
    "a reference in thinking": (
        [content(thinking_part("a", reference_part(3), "b")), content(thinking_part(reference_part("x")))],
        ["R:a[3]b[x]"],
    ),
    "a reference in thinking opens a block": (
        [text("a"), content(thinking_part(reference_part(3)))],
        ["T:a", "R:[3]"],
    ),
    "closed never splits": (
        [content(thinking_part(value, closed=closed)) for value, closed in [("a", True), ("b", False), ("c", True)]],
        ["R:abc"],
    ),
    "a signature is the block's": (
        [content(signed("a", "S")), content(signed("b", "S")), text("c")],
        ["R:ab|S", "T:c"],
    ),
    "a signature that comes late": ([thinking("a"), content(signed("", "S")), thinking("b")], ["R:ab|S"]),
    "null and empty signatures are none": ([content(signed("a", "")), content(signed("b", None))], ["R:ab"]),
    "a signature opens a block": ([text("a"), content(signed("", "S")), text("b")], ["T:a", "R:|S", "T:b"]),
    "a signature alone": ([content(signed("", "S"))], ["R:|S"]),
    "a second, different signature": (
        [content(signed("a", "S")), thinking("b"), content(signed("c", "Z")), thinking("d")],
        ["R:ab|S", "R:cd|Z"],
    ),
    "a second, different signature with no text": (
        [content(signed("a", "S")), content(signed("", "Z")), text("b")],
        ["R:a|S", "R:|Z", "T:b"],
    ),
    "roles null, empty and repeated": (
        [chunk({"role": role, "content": "a"}) for role in (None, "", "assistant", "assistant")],
        ["T:aaaa"],
    ),
    "choices missing, null and empty": (
        [text("a"), {"id": "", "model": "m"}, chunk(choices=None), chunk(choices=[]), text("b")],
        ["T:ab"],
    ),
    "padding and index are ignored": (
        [chunk({"content": "a", "index": 0}, p="xyz"), chunk({"index": 5}), text("b", p=None)],
        ["T:ab"],
    ),
}


@pytest.mark.parametrize(("chunks", "expected"), TABLE.values(), ids=TABLE.keys())
def test_blocks(chunks: list[Part], expected: list[str]) -> None:
    outcome = run(*chunks, finish())
    assert outcome.error is None
    assert blocks(outcome) == expected
    assert outcome.notes == []
    assert outcome.message.unmapped == {}


@pytest.mark.parametrize(("chunks", "expected"), TABLE.values(), ids=TABLE.keys())
def test_whole_completions_are_identical_to_streamed_ones(chunks: list[Part], expected: list[str]) -> None:
    deltas = [{"role": "assistant"} | choice["delta"] for each in chunks for choice in each.get("choices") or ()]
    whole = run_whole(completion(messages=deltas, finish_reason="stop"))
    streamed = run(*chunks, finish())
    assert blocks(whole) == expected
    assert whole.events[1:-1] == streamed.events[1:-1]
    assert whole.message.content == streamed.message.content
    assert whole.message.citations == streamed.message.citations


def test_events_of_a_reasoning_answer() -> None:
    outcome = run(start(), thinking("hm"), content(signed("", "S")), text("a"), reference(1), finish())
    assert outcome.short == [
        "thinking_start 0",
        "thinking_delta 0 'hm'",
        "thinking_end 0",
        "text_start 1",
        "text_delta 1 'a'",
        "text_delta 1 '[1]'",
        "text_end 1",
    ]
    assert [event.content_signature for event in outcome.events if isinstance(event, ThinkingEnd)] == ["S"]


def test_citations_say_where_their_marker_stands_in_code_points() -> None:
    outcome = run(
        content(thinking_part("é😀", reference_part(7))),
        text("e\u0301😀 "),
        content(reference_part(0, "doc"), reference_part(2), text_part("x")),
        finish(),
    )
    found = [(cite.ids, cite.content_index, cite.offset, cite.length) for cite in outcome.message.citations]
    assert found == [([7], 0, 2, 3), ([0, "doc"], 1, 4, 8), ([2], 1, 12, 3)]
    assert outcome.text == "e\u0301😀 [0, doc][2]x"
    assert [type(cite_id) for cite_id in outcome.message.citations[1].ids] == [int, str]


# ---- whole completions ----


def test_a_whole_message() -> None:
    outcome = run_whole(completion([thinking_part("a"), text_part("b")], usage={"prompt_tokens": 3}))
    assert blocks(outcome) == ["R:a", "T:b"]
    assert outcome.message.usage.input == 3
    assert outcome.notes == []


@pytest.mark.parametrize("empty", [message(None), message(""), message([])])
def test_messages_beside_an_empty_message(empty: Part) -> None:
    outcome = run_whole(completion(empty, messages=[message("a"), message([text_part("b")])]))
    assert blocks(outcome) == ["T:ab"]


@pytest.mark.parametrize("full", [message("x"), message([thinking_part("x")]), message(None, tool_calls=[CALL])])
def test_both_message_and_messages_is_an_error(full: Part) -> None:
    outcome = run_whole(completion(full, messages=[message("a")]))
    assert isinstance(outcome.error, StreamProtocolError)
    assert "choices[0]" in str(outcome.error)


def test_a_tool_among_messages_is_rejected_by_name() -> None:
    outcome = run_whole(completion(messages=[message("a"), message("x", role="tool"), message("b")]))
    assert isinstance(outcome.error, ContentRejectedError)
    assert (outcome.error.wire_type, outcome.error.path) == ("tool", "choices[0].messages[1]")
    assert outcome.text == "a"


def test_a_whole_completion_inside_a_stream_and_a_chunk_as_a_body() -> None:
    assert blocks(run(completion([thinking_part("a"), text_part("b")]))) == ["R:a", "T:b"]
    assert blocks(run_whole(chunk({"content": "a"}, finish_reason="stop"))) == ["T:a"]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", StreamTruncatedError),
        (b" \n", StreamTruncatedError),
        (b'{"id": "x", "choices": [', StreamTruncatedError),
        (b"[1]", StreamProtocolError),
        (b"not JSON", StreamProtocolError),
        (b"{}", StreamProtocolError),
    ],
)
def test_bodies_that_are_no_completion(body: bytes, kind: type[NodropError]) -> None:
    assert type(run_whole(body).error) is kind


@pytest.mark.parametrize("reason", [None, ""])
def test_a_whole_completion_without_a_finish_reason_is_cut(reason: str | None) -> None:
    outcome = run_whole(completion("a", finish_reason=reason))
    assert isinstance(outcome.error, StreamTruncatedError)
    assert outcome.text == "a"
