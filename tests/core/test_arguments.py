"""Contract 3 on arguments: when a call is complete, and what stays of one that is not."""

from __future__ import annotations

import re

import pytest

from nodrop.events import ToolCallEnd
from nodrop.testing.wire import call_part, finish, tool_calls
from tests.core.driving import run
from tests.core.fragments import A, calls, part

NOT_OBJECTS = [
    '{"a":',
    "[1]",
    "1",
    '"x"',
    "null",
    "true",
    '{"a":1}{"b":2}',
    "{'a': 1}",
    '{"a": NaN}',
    '{"a": 1e999}',
    '{"a":1',
    "x",
]


@pytest.mark.parametrize("raw", NOT_OBJECTS)
@pytest.mark.parametrize("reason", ["tool_calls", "stop", "length"])
def test_arguments_that_are_no_object_make_an_incomplete_call(raw: str, reason: str) -> None:
    (call,) = calls(part(0, A, "f", raw), finish_reason=reason).message.tool_calls
    assert not call.complete
    assert call.arguments == {}
    assert call.raw_arguments == raw
    assert call.arguments_error


@pytest.mark.parametrize("raw", ["", " ", "\n"])
@pytest.mark.parametrize(
    ("reason", "complete"), [("tool_calls", True), ("stop", True), ("length", False), ("model_length", False)]
)
def test_empty_arguments(raw: str, reason: str, complete: bool) -> None:
    (call,) = calls(part(0, A, "f", raw), finish_reason=reason).message.tool_calls
    assert (call.complete, call.arguments, call.raw_arguments) == (complete, {}, raw)
    assert (call.arguments_error is None) is complete


@pytest.mark.parametrize("raw", ["", '{"a":'])
def test_half_a_call_is_never_a_finished_one(raw: str) -> None:
    outcome = calls(part(0, A, "f", raw), finish_reason=None)
    (call,) = outcome.message.tool_calls
    assert outcome.message.stop_reason == "error"
    assert not call.complete
    assert call.raw_arguments == raw
    assert call.arguments_error
    assert not any(isinstance(event, ToolCallEnd) for event in outcome.events)
    failed = calls(part(0, A, "f", raw), finish_reason="error")
    assert [(call.complete, call.raw_arguments) for call in failed.message.tool_calls] == [(False, raw)]


@pytest.mark.parametrize("reason", ["length", None])
def test_whole_arguments_are_complete_however_the_answer_ended(reason: str | None) -> None:
    (call,) = calls(part(0, A, "f", '{"a":null}'), finish_reason=reason).message.tool_calls
    assert (call.complete, call.arguments) == (True, {"a": None})


def test_an_empty_object_is_complete_after_length() -> None:
    (call,) = calls(call_part(A, "f", {}, index=0), finish_reason="length").message.tool_calls
    assert (call.complete, call.raw_arguments) == (True, "{}")


def test_arguments_error_says_what_was_wrong_without_quoting_it() -> None:
    (call,) = calls(part(0, A, "f", '{"mode": SECRETgrid"}')).message.tool_calls
    assert call.arguments_error is not None
    assert "SECRET" not in call.arguments_error
    assert "JSON" in call.arguments_error


@pytest.mark.parametrize("raw", ["[" * 100_000, '{"a":' * 100_000, '{"a":' + "9" * 5000 + "}"])
def test_monstrous_arguments_are_only_incomplete(raw: str) -> None:
    (call,) = calls(part(0, A, "f", raw)).message.tool_calls
    assert (call.complete, call.raw_arguments) == (False, raw)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ('{"a":1,"a":2}', "a: this key stands twice, with different values"),
        ('{"a":[{"b":true,"b":1}]}', r"a\[0\]\.b: this key stands twice"),
        ('{"a":NaN}', "not readable: NaN is no JSON"),
        ('{"a":-Infinity}', "not readable: -Infinity is no JSON"),
        ('{"a":1e999}', "not readable: a number is too large"),
    ],
)
def test_arguments_that_readers_disagree_about_are_not_to_be_run(raw: str, reason: str) -> None:
    [call] = run(tool_calls(call_part("aaaaaaaa1", "f", raw)), finish("tool_calls")).message.tool_calls
    assert not call.complete
    assert (call.arguments, call.raw_arguments) == ({}, raw)
    assert call.arguments_error is not None
    assert re.match(reason, call.arguments_error)


def test_a_key_twice_with_the_same_value_is_no_doubt() -> None:
    [call] = run(tool_calls(call_part("aaaaaaaa1", "f", '{"a":1,"a":1}')), finish("tool_calls")).message.tool_calls
    assert call.complete
    assert call.arguments == {"a": 1}


@pytest.mark.parametrize(("depth", "complete"), [(150, True), (300, False), (600, False), (5000, False)])
def test_arguments_that_are_nested_deep(depth: int, complete: bool) -> None:
    raw = '{"a":' + "[" * depth + "]" * depth + "}"
    outcome = run(tool_calls(call_part("aaaaaaaa1", "f", raw)), finish("tool_calls"))
    [call] = outcome.message.tool_calls
    assert (call.complete, call.raw_arguments) == (complete, raw)
    assert raw[4:] in outcome.message.model_dump_json(by_alias=True)
