"""What the server's own tools say, and answers that come as several messages: kept, and never in the answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nodrop.document_query.result import ToolResult
from nodrop.testing.wire import (
    call_part,
    chunk,
    completion,
    finish,
    message,
    reference_part,
    text,
    text_part,
    tool_calls,
    tool_message,
)
from tests.document_query.driving import streamed, surface, whole

SOURCES = {"0": {"title": "Pilot book", "url": "https://example.org/pilot"}, "1": {"title": "Tides"}}


def structured(result: ToolResult) -> Any:
    assert result.structured_content is not None
    return result.structured_content


def test_a_tool_message_between_the_deltas() -> None:
    result = streamed([text("Let me look. "), tool_message("found: nothing", tool_call_id="c1"), text("No."), finish()])
    assert result.text == "Let me look. No."
    assert structured(result)["tool_messages"] == [
        {"role": "tool", "tool_call_id": "c1", "content": [text_part("found: nothing")]}
    ]


def test_the_same_as_messages() -> None:
    messages = [
        message("Let me look. "),
        message("found: nothing", role="tool", tool_call_id="c1"),
        message([text_part("No.")]),
    ]
    by_stream = streamed(
        [text("Let me look. "), tool_message("found: nothing", tool_call_id="c1"), text("No."), finish()]
    )
    assert surface(whole(completion(messages=messages))) == surface(by_stream)


def test_deltas_of_one_tool_message_are_joined_by_their_id_and_by_nothing_else() -> None:
    result = streamed([
        tool_message("a", tool_call_id="c1"),
        tool_message([text_part("b")], tool_call_id="c1"),
        tool_message("c", tool_call_id="c2"),
        tool_message("d"),
        tool_message("e"),
        text("Done."),
        tool_message("f", tool_call_id="c1"),
        finish(),
    ])  # fmt: skip
    said = [(each.get("tool_call_id"), each["content"][0]["text"]) for each in structured(result)["tool_messages"]]
    assert said == [("c1", "ab"), ("c2", "c"), (None, "d"), (None, "e"), ("c1", "f")]
    assert result.text == "Done."


def test_text_of_the_answer_ends_a_tool_message() -> None:
    said = [tool_message("a", tool_call_id="c"), text("Yes."), tool_message("b", tool_call_id="c"), finish()]
    assert [each["content"] for each in structured(streamed(said))["tool_messages"]] == [
        [text_part("a")],
        [text_part("b")],
    ]


def test_what_a_tool_message_carries_beside_its_text_is_kept() -> None:
    delta = {"role": "tool", "content": None, "name": "document_library", "metadata": {"took": 3}}
    result = streamed([chunk(delta), text("Yes."), finish()])
    assert structured(result)["tool_messages"] == [
        {"role": "tool", "name": "document_library", "metadata": {"took": 3}, "content": []}
    ]


def test_calls_that_the_server_makes_of_its_own_tools_are_kept_beside_what_the_tools_say() -> None:
    call = call_part("aB3dE5gH7", "document_library", '{"query": "tides"}', index=0, type="function")
    by_stream = streamed([tool_calls(call), tool_message("found", tool_call_id="aB3dE5gH7"), text("So."), finish()])
    messages = [
        message(None, tool_calls=[call]),
        message("found", role="tool", tool_call_id="aB3dE5gH7"),
        message("So."),
    ]
    assert surface(whole(completion(messages=messages))) == surface(by_stream)
    made, said = structured(by_stream)["tool_messages"]
    assert made == {"role": "assistant", "tool_calls": [call]}
    assert said["content"] == [text_part("found")]
    assert by_stream.text == "So."


def test_citations_are_joined_with_the_sources_that_a_tool_message_lists() -> None:
    result = streamed(
        [tool_message(json.dumps(SOURCES)), text("Calm"), chunk({"content": [reference_part(0, 5)]}), finish()]
    )
    assert structured(result)["citations"] == [
        {"ids": [0, 5], "offset": 4, "length": 6, "references": {"0": SOURCES["0"]}}
    ]


def test_of_two_tool_messages_with_the_same_id_the_last_before_the_citation_is_meant() -> None:
    cite = chunk({"content": [reference_part(0)]})
    first, second = json.dumps({"0": {"title": "first"}}), json.dumps({"0": {"title": "second"}})
    result = streamed([tool_message(first), text("A"), cite, tool_message(second), text("B"), cite, finish()])
    titles = [each["references"]["0"]["title"] for each in structured(result)["citations"]]
    assert titles == ["first", "second"]


def test_a_source_that_is_listed_only_afterwards_is_found_too() -> None:
    cite = chunk({"content": [reference_part("b")]})
    result = streamed([text("A"), cite, tool_message(json.dumps({"b": {"title": "late"}})), finish()])
    assert structured(result)["citations"][0]["references"] == {"b": {"title": "late"}}


@pytest.mark.parametrize("said", ["no JSON", "[1]", '{"0": "a string"}', "[" * 100_000, ""])
def test_a_tool_message_that_lists_no_sources_is_kept_and_joins_nothing(said: str) -> None:
    result = streamed([tool_message(said), text("A"), chunk({"content": [reference_part(0)]}), finish()])
    assert structured(result)["citations"][0]["references"] == {}
    [kept] = structured(result)["tool_messages"]
    assert "".join(each["text"] for each in kept["content"]) == said


def test_message_and_messages_at_once_are_an_error_unless_the_message_is_empty() -> None:
    both = completion("Yes.", messages=[message("No.")])
    assert whole(both).is_error
    assert "both a message and messages" in whole(both).text
    assert whole(completion(message(""), messages=[message("No.")])).text == "No."


@pytest.mark.parametrize("role", ["narrator", "user", "system"])
def test_another_role_is_rejected_by_name(role: str) -> None:
    result = streamed([chunk({"role": role, "content": "psst"}), finish()])
    assert result.is_error
    assert role in result.text
    assert "psst" not in result.text


def test_an_unknown_type_is_an_error_that_names_it() -> None:
    result = streamed([text("A"), chunk({"content": [{"type": "hologram", "data": "secret"}]}), finish()])
    assert result.is_error
    assert "hologram" in result.text
    assert "secret" not in result.model_dump_json()
    assert result.structured_content is None


def test_a_second_candidate_is_an_error() -> None:
    result = streamed([text("A"), text("B", index=1), finish()])
    assert result.is_error
    assert "candidate" in result.text


def test_fields_that_have_no_place_are_kept_by_path() -> None:
    items = [
        text("A", service="fast"),
        chunk({"content": "B", "colour": "red", "metadata": {"m": 1}}),
        finish(choices=[{"index": 0, "delta": {}, "finish_reason": "stop", "weight": 2}]),
    ]
    assert streamed(items).details["unmapped"] == {
        "service": {"values": ["fast"]},
        "choices.delta.metadata": {"values": [{"m": 1}]},
        "choices.delta.colour": {"values": ["red"]},
        "choices.weight": {"values": [2]},
    }


def test_they_are_bounded_and_counted() -> None:
    items = [chunk({"content": "A", f"field{number}": "x" * 1000}) for number in range(100)]
    kept = streamed([*items, finish()]).details["unmapped"]
    assert kept["<more fields>"] == {"values": [], "omitted": 100 - (len(kept) - 1)}
    assert 50 < len(kept) < 70


def test_a_finish_reason_that_waits_for_the_caller_is_no_answer() -> None:
    assert "declared no function" in streamed([text("A"), finish("tool_calls")]).text
    assert streamed([text("A"), finish("tool_calls")]).is_error


def test_two_different_finish_reasons_are_an_error() -> None:
    assert streamed([text("A", finish_reason="stop"), finish("length")]).is_error
