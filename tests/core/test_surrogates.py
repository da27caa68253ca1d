"""Halves of characters over deltas, and invalid UTF-8."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nodrop.errors import APIError
from nodrop.testing.wire import (
    StreamItem,
    call_part,
    content,
    finish,
    reference,
    text,
    text_part,
    thinking,
    tool_calls,
)
from tests.core.driving import run, run_whole

Part = dict[str, Any]

HIGH, LOW = "\\ud83d", "\\ude00"
SPLITS: dict[str, tuple[list[str], str]] = {
    "a pair over two deltas": ([f"a{HIGH}", f"{LOW}b"], "a😀b"),
    "a pair over empty deltas": ([f"a{HIGH}", "", f"{LOW}b"], "a😀b"),
    "a pair in deltas of their own": (["a", HIGH, LOW, "b"], "a😀b"),
    "a pair in one delta": ([f"a{HIGH}{LOW}b"], "a😀b"),
    "a high one alone": ([f"a{HIGH}", "b"], "a\ufffdb"),
    "a low one alone": ([f"a{LOW}", "b"], "a\ufffdb"),
    "a high one inside": ([f"a{HIGH}b"], "a\ufffdb"),
    "a high one last": (["a", HIGH], "a\ufffd"),
    "two high ones": ([f"{HIGH}", f"{HIGH}{LOW}"], "\ufffd😀"),
    "the wrong way round": ([LOW, HIGH, "x"], "\ufffd\ufffdx"),
}


@pytest.mark.parametrize(("deltas", "expected"), SPLITS.values(), ids=SPLITS.keys())
@pytest.mark.parametrize("place", ["string", "text", "thinking", "arguments"])
@pytest.mark.parametrize("end", ["finish", "cut"])
def test_surrogates(deltas: list[str], expected: str, place: str, end: str) -> None:
    forms = {
        "string": text("@"),
        "text": content(text_part("@")),
        "thinking": thinking("@"),
        "arguments": tool_calls(call_part(None, None, "@", index=0)),
    }
    form = json.dumps(forms[place])
    opening = [tool_calls(call_part("aaaaaaaa1", "f", "", index=0))] if place == "arguments" else []
    items: list[StreamItem] = [
        *opening,
        *(form.replace("@", delta) for delta in deltas),
        *([finish()] if end == "finish" else []),
    ]
    outcome = run(*items)
    (block,) = outcome.message.content
    assert expected in (getattr(block, "text", ""), getattr(block, "thinking", ""), getattr(block, "raw_arguments", ""))
    lone = any(HIGH in delta or LOW in delta for delta in deltas) and deltas != [f"a{HIGH}{LOW}b"]
    assert outcome.notes == (["lone_surrogate"] if lone else [])


def test_a_half_that_waits_stands_before_the_marker_that_ends_it() -> None:
    half = json.dumps(text("@")).replace("@", f"a{HIGH}")
    outcome = run(half, reference(7), json.dumps(text("@")).replace("@", f"{LOW}b"), finish())
    assert outcome.text == "a\ufffd[7]\ufffdb"
    assert [(cite.offset, cite.length) for cite in outcome.message.citations] == [(2, 3)]


@pytest.mark.parametrize(
    "odd",
    [
        '{"id":"\\ud800","model":"m"}',
        '{"id":"a","model":"m","choices":null,"p":"\\ud800"}',
        '{"id":"a","model":"m","choices":[],"usage":{"x\\udfff":"\\ud800"}}',
        '{"id":"a","model":"m","choices":[{"index":0,"delta":{"x\\ud800":"\\ud800"},"finish_reason":null}]}',
    ],
)
def test_lone_surrogates_outside_of_content_harm_nothing(odd: str) -> None:
    outcome = run(text("a"), odd, text("b"), finish())
    assert outcome.error is None
    assert outcome.text == "ab"


def test_invalid_utf8_becomes_replacement_characters_with_one_diagnostic() -> None:
    delta = b'{"content":"a\xff\xc3b"}'
    event = b'data: {"id":"a","model":"m","choices":[{"index":0,"delta":' + delta + b',"finish_reason":null}]}\n\n'
    outcome = run(event, event, finish())
    assert outcome.text == "a\ufffd\ufffdb" * 2
    assert outcome.notes == ["invalid_utf8"]


LONE = '"lone":"\\ud83d"'


@pytest.mark.parametrize(
    "choices",
    [
        '[{"index":0,"finish_reason":null,"delta":null}]',
        '[{"index":0,"finish_reason":null,"delta":5}]',
        '[{"index":0,"finish_reason":null,"delta":{"content":5}}]',
        '[{"index":0,"finish_reason":null,"delta":{"content":["x"]}}]',
        '[{"index":0,"finish_reason":null,"delta":{"content":[{"type":"thinking","thinking":5}]}}]',
        '[{"index":0,"finish_reason":null,"delta":{"tool_calls":5}}]',
        '[{"index":0,"finish_reason":null,"delta":{"tool_calls":[5]}}]',
        '[{"index":0,"finish_reason":null,"messages":5,"delta":{}}]',
        "[5]",
        "[null]",
        "5",
    ],
)
def test_a_lone_surrogate_beside_something_malformed(choices: str) -> None:
    event = f'{{"id":"x","model":"m",{LONE},"choices":{choices}}}'
    outcome = run(text("a"), event, text("never"))
    assert isinstance(outcome.error, APIError)
    assert outcome.text == ("anever" if "messages" in choices else "a")  # a field that nobody knows is no error
    whole = run_whole(event.replace('"delta"', '"message"').encode())
    assert isinstance(whole.error, APIError)
