"""Contract 3, sentence by sentence: fragments of tool calls → events and final calls."""

from __future__ import annotations

import re

import pytest

from nodrop.content import ToolCall
from nodrop.errors import ContentRejectedError, StreamProtocolError
from nodrop.events import ToolCallEnd, ToolCallStart
from nodrop.testing.wire import call_part, completion, content, finish, message, text, text_part, tool_calls
from tests.core.driving import run, run_whole
from tests.core.fragments import A, B, C, Part, calls, facts, part

# What arrives → the calls, in order of content: (id, name, raw arguments).
ASSEMBLED: dict[str, tuple[list[Part | list[Part]], list[tuple[str, str, str]]]] = {
    "one whole call": ([part(0, A, "f", '{"a":1}')], [(A, "f", '{"a":1}')]),
    "pieces by index": (
        [part(0, A, "f", ""), part(0, None, None, '{"a"'), part(0, None, None, ":1}")],
        [(A, "f", '{"a":1}')],
    ),
    "parallel calls interleave, each with its own buffer": (
        [
            [part(0, A, "f", '{"a"'), part(1, B, "g", '{"b"')],
            part(1, None, None, ":2"),
            part(0, None, None, ":1"),
            [part(1, None, None, "}"), part(0, None, None, "}")],
        ],
        [(A, "f", '{"a":1}'), (B, "g", '{"b":2}')],
    ),
    "id null, empty and the text null are no id": (
        [part(0, A, "f", "{"), part(0, "", None, '"a"'), part(0, "null", None, ":1"), part(0, None, None, "}")],
        [(A, "f", '{"a":1}')],
    ),
    "no name in a null or empty name": (
        [part(0, A, "f", "{"), part(0, None, "", '"a":1'), call_part(None, None, "}", index=0)],
        [(A, "f", '{"a":1}')],
    ),
    "an absent index is absent, not 0": (
        [part(0, A, "f", "{}"), part(1, B, "g", "{"), part(None, None, None, "}")],
        [(A, "f", "{}"), (B, "g", "{}")],
    ),
    "an index that is null is absent": (
        [part(0, A, "f", "{}"), part(1, B, "g", "{"), call_part(arguments="}", index=None)],
        [(A, "f", "{}"), (B, "g", "{}")],
    ),
    "a new index with a name opens a call": (
        [part(0, A, "f", "{}"), part(1, None, "g", "{}")],
        [(A, "f", "{}"), ("*", "g", "{}")],
    ),
    "a named fragment with another id at a used index opens a call": (
        [part(0, A, "f", "{}"), part(0, B, "g", "{"), part(0, None, None, "}")],
        [(A, "f", "{}"), (B, "g", "{}")],
    ),
    "the same name with another id opens a call": (
        [part(0, A, "f", "{}"), part(0, B, "f", "{}")],
        [(A, "f", "{}"), (B, "f", "{}")],
    ),
    "a named fragment with the same id goes on": (
        [part(0, A, "f", "{"), part(0, A, "f", "}")],
        [(A, "f", "{}")],
    ),
    "a named fragment without an id at a used index goes on": (
        [part(0, A, "f", "{"), part(0, None, "f", "}")],
        [(A, "f", "{}")],
    ),
    "without an index the id tells calls apart": (
        [[part(None, A, "f", "{"), part(None, B, "g", "{")], part(None, A, None, "}"), part(None, B, "", "}")],
        [(A, "f", "{}"), (B, "g", "{}")],
    ),
    "without an index a repeated id and name go on": (
        [part(None, A, "f", "{"), part(None, B, "g", "{}"), part(None, A, "f", "}")],
        [(A, "f", "{}"), (B, "g", "{}")],
    ),
    "without index and id a name opens a call": (
        [part(None, None, "f", "{}"), part(None, None, "f", "{}")],
        [("*", "f", "{}"), ("*", "f", "{}")],
    ),
    "without index, id and name: the call opened last": (
        [part(None, A, "f", "{}"), part(None, B, "g", "{"), part(None, None, None, "}")],
        [(A, "f", "{}"), (B, "g", "{}")],
    ),
    "neither name nor id at an unknown index: the call opened last": (
        [part(0, A, "f", "{}"), part(1, B, "g", "{"), part(7, None, None, "}")],
        [(A, "f", "{}"), (B, "g", "{}")],
    ),
    "neither name nor id at a known index: the call at that index, not the last": (
        [part(0, A, "f", "{"), part(1, B, "g", "{}"), part(0, None, None, "}")],
        [(A, "f", "{}"), (B, "g", "{}")],
    ),
    "an id without a name at a new index opens a call that is named later": (
        [part(0, A, None, '{"a"'), part(0, None, None, ":1"), part(0, None, "f", "}")],
        [(A, "f", '{"a":1}')],
    ),
    "a call that is named later keeps its own buffer beside others": (
        [part(0, A, None, "{"), part(1, B, "g", "{"), part(0, A, "f", "}"), part(1, None, None, "}")],
        [(B, "g", "{}"), (A, "f", "{}")],
    ),
    "the first real id wins": (
        [part(0, "null", "f", "{"), part(0, A, None, ""), part(0, B, None, "}")],
        [(A, "f", "{}")],
    ),
    "an object is taken whole": (
        [call_part(A, "f", {"a": [1, None], "é": {"b": "c d"}}, index=0)],
        [(A, "f", '{"a":[1,null],"é":{"b":"c d"}}')],
    ),
    "an unnamed id without an index goes to the call opened last": (
        [part(None, A, "f", "{"), part(None, B, None, "}")],
        [(A, "f", "{}")],
    ),
    "negative and large indices are indices": (
        [part(-1, A, "f", "{"), part(2**40, B, "g", "{}"), part(-1, None, None, "}")],
        [(A, "f", "{}"), (B, "g", "{}")],
    ),
}


@pytest.mark.parametrize(("deltas", "expected"), ASSEMBLED.values(), ids=ASSEMBLED.keys())
def test_assembly(deltas: list[Part | list[Part]], expected: list[tuple[str, str, str]]) -> None:
    outcome = calls(*deltas)
    assert outcome.error is None
    assert outcome.message.stop_reason == "toolUse"
    found = facts(outcome)
    assert [(call[0] if want[0] != "*" else "*", *call[1:]) for call, want in zip(found, expected, strict=True)] == (
        expected
    )
    assert all(call.complete and call.arguments_error is None for call in outcome.message.tool_calls)


def test_events_of_two_interleaved_calls() -> None:
    outcome = calls(
        [part(0, A, "f", ""), part(1, B, "g", "{")], part(0, None, None, "{}"), part(1, None, None, '"b":1}')
    )
    assert outcome.short == [
        f"toolcall_start 0 f {A}",
        f"toolcall_start 1 g {B}",
        "toolcall_delta 1 '{'",
        "toolcall_delta 0 '{}'",
        "toolcall_delta 1 '\"b\":1}'",
        "toolcall_end 0",
        "toolcall_end 1",
    ]


def test_calls_end_at_the_finish_in_order_of_index() -> None:
    outcome = calls(
        part(2, A, "f", "{}"), part(None, None, "no_index", "{}"), part(0, B, "g", "{}"), part(1, C, "h", "{}")
    )
    ends = [event.tool_call.name for event in outcome.events if isinstance(event, ToolCallEnd)]
    assert ends == ["g", "h", "f", "no_index"]
    assert [call.name for call in outcome.message.tool_calls] == ["f", "no_index", "g", "h"]


def test_a_call_that_is_named_later_is_shown_then_with_all_that_was_held_back() -> None:
    outcome = calls(part(0, A, None, '{"a"'), part(0, None, None, ":1"), part(0, None, "f", "}"))
    assert outcome.short == [
        f"toolcall_start 0 f {A}",
        "toolcall_delta 0 '{\"a\"'",
        "toolcall_delta 0 ':1'",
        "toolcall_delta 0 '}'",
        "toolcall_end 0",
    ]


def test_text_around_calls() -> None:
    outcome = run(
        text("before"), tool_calls(part(0, A, "f", "{")), text("after"), tool_calls(part(0, None, None, "}")), finish()
    )
    assert outcome.short == [
        "text_start 0",
        "text_delta 0 'before'",
        "text_end 0",
        f"toolcall_start 1 f {A}",
        "toolcall_delta 1 '{'",
        "text_start 2",
        "text_delta 2 'after'",
        "text_end 2",
        "toolcall_delta 1 '}'",
        "toolcall_end 1",
    ]
    assert outcome.text == "beforeafter"


# ---- oddities ----


def test_a_later_different_id_on_a_nameless_fragment_is_ignored_with_one_diagnostic() -> None:
    outcome = calls(part(0, A, "f", "{"), part(0, B, None, '"a"'), part(0, B, None, ":1}"))
    assert facts(outcome) == [(A, "f", '{"a":1}')]
    assert outcome.notes == ["tool_call"]
    assert B not in repr(outcome.message.diagnostics)
    assert [event.id for event in outcome.events if isinstance(event, ToolCallStart)] == [A]


@pytest.mark.parametrize("fragment", [part(0, None, None, "{}"), part(None, None, None, ""), part(3, "null", "", "x")])
def test_a_continuation_with_no_call_open_is_an_error_and_opens_no_phantom_call(fragment: Part) -> None:
    outcome = run(text("before"), tool_calls(fragment), finish())
    assert isinstance(outcome.error, StreamProtocolError)
    assert "choices[0].delta.tool_calls[0]" in str(outcome.error)
    assert outcome.message.tool_calls == []
    assert outcome.text == "before"


def test_an_id_that_is_never_named_is_an_error_that_keeps_what_arrived() -> None:
    outcome = calls(part(0, A, "f", "{}"), part(1, B, None, '{"b":1}'))
    assert isinstance(outcome.error, StreamProtocolError)
    assert facts(outcome) == [(A, "f", "{}"), (B, "", '{"b":1}')]
    assert not any(isinstance(event, ToolCallEnd) for event in outcome.events)


@pytest.mark.parametrize("failure", [b"data: {broken\n\n", b""], ids=["protocol", "cut"])
def test_a_call_that_had_no_name_yet_is_kept_when_the_stream_fails(failure: bytes) -> None:
    outcome = run(tool_calls(part(0, A, None, '{"b":')), failure, done=False)
    assert outcome.error is not None
    assert facts(outcome) == [(A, "", '{"b":')]


@pytest.mark.parametrize("kind", [None, "", "function", "null"])
def test_types_that_are_a_function(kind: str | None) -> None:
    assert facts(calls(part(0, A, "f", "{}") | {"type": kind})) == [(A, "f", "{}")]


def test_another_type_of_call_is_rejected_by_name() -> None:
    outcome = run(
        content(text_part("before")), tool_calls(part(0, A, "f", "{}"), part(1, B, "g", "{}") | {"type": "mcp"})
    )
    assert isinstance(outcome.error, ContentRejectedError)
    assert (outcome.error.wire_type, outcome.error.path) == ("mcp", "choices[0].delta.tool_calls[1].type")
    assert facts(outcome) == [(A, "f", "{}")]
    assert outcome.text == "before"


# ---- made-up ids ----


def test_a_call_without_an_id_gets_a_deterministic_one_distinct_within_the_message() -> None:
    deltas = [[part(place, None, "f", "{}") for place in range(50)]]
    ids = [call.id for call in calls(*deltas).message.tool_calls]
    assert all(re.fullmatch("[0-9a-zA-Z]{9}", made) for made in ids)
    assert len(set(ids)) == 50
    assert ids == [call.id for call in calls(*deltas).message.tool_calls]
    taken = calls(part(0, ids[0], "g", "{}"), part(1, ids[1], "g", "{}"), part(2, None, "g", "{}"))
    assert len({call.id for call in taken.message.tool_calls}) == 3
    clash = calls(part(0, None, "f", "{}"), part(1, ids[0], "g", "{}"))
    assert [call.name for call in clash.message.tool_calls if call.id == ids[0]] == ["g"]
    assert len({call.id for call in clash.message.tool_calls}) == 2


def test_an_id_that_comes_late_is_the_id_of_the_call() -> None:
    outcome = calls(part(0, None, "f", "{"), part(0, A, None, "}"))
    assert facts(outcome) == [(A, "f", "{}")]
    assert [event.id for event in outcome.events if isinstance(event, ToolCallStart)] == [None]


def test_whole_completions_take_the_same_way() -> None:
    parts = [part(None, A, "f", '{"a":1}'), call_part(B, "g", {"b": 2})]
    whole = run_whole(completion(message(None, tool_calls=parts), finish_reason="tool_calls"))
    assert facts(whole) == [(A, "f", '{"a":1}'), (B, "g", '{"b":2}')]
    assert [type(block) for block in whole.message.content] == [ToolCall, ToolCall]
    assert whole.events[1:-1] == calls(parts).events[1:-1]
