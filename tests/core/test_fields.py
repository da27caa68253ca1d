"""Contract 2 on fields: what nobody knows is kept, joined, bounded, noted once by path, or rejected."""

from __future__ import annotations

from typing import Any

import pytest

from nodrop.errors import ContentRejectedError
from nodrop.testing.wire import (
    call_part,
    chunk,
    completion,
    finish,
    message,
    text,
    text_part,
    thinking_part,
    tool_calls,
    usage,
)
from tests.core.driving import Outcome, run, run_whole


def kept(outcome: Outcome) -> dict[str, list[Any]]:
    return {path: field.values for path, field in outcome.message.unmapped.items()}


def odd_chunk(odd: dict[str, Any]) -> dict[str, Any]:
    """A chunk that holds ``odd`` at every level."""
    call = call_part("aaaaaaaa1", "f", "{}", index=0) | odd
    call["function"] |= odd
    item = thinking_part(text_part("t") | odd) | odd
    delta = {"content": [item, text_part("a") | odd], "tool_calls": [call]} | odd
    return chunk(choices=[{"index": 0, "delta": delta, "finish_reason": None} | odd]) | odd


PATHS = [
    "choices.colour",
    "choices.delta.colour",
    "choices.delta.content.colour",
    "choices.delta.content.thinking.colour",
    "choices.delta.tool_calls.colour",
    "choices.delta.tool_calls.function.colour",
    "colour",
]


def test_unknown_fields_of_every_level_are_kept_and_kill_nothing() -> None:
    outcome = run(odd_chunk({"colour": 7}), finish())
    assert outcome.error is None
    assert sorted(kept(outcome)) == PATHS
    assert kept(outcome)["choices.delta.content.colour"] == [7, 7]
    assert (outcome.thinking, outcome.text, len(outcome.message.tool_calls)) == ("t", "a", 1)


def test_each_is_noted_once_by_path_and_never_by_value() -> None:
    outcome = run(odd_chunk({"colour": "SECRET"}), odd_chunk({"colour": "SECRET"}), finish())
    notes = [note.details for note in outcome.message.diagnostics if note.type == "unknown_field"]
    assert sorted(note["path"] for note in notes if note) == PATHS
    assert "SECRET" not in repr(outcome.message.diagnostics)
    assert "SECRET" not in repr(outcome.message.unmapped)


@pytest.mark.parametrize("place", ["frame", "choice", "delta", "item", "part", "call", "function", "usage", "details"])
def test_unknown_fields_reject_makes_each_an_error_that_names_it(place: str) -> None:
    odd = {"colour": "SECRET"}
    at = {place: odd}
    call = call_part("aaaaaaaa1", "f", "{}", index=0) | at.get("call", {})
    call["function"] |= at.get("function", {})
    item = thinking_part(text_part("t") | at.get("part", {})) | at.get("item", {})
    delta = {"content": [item], "tool_calls": [call]} | at.get("delta", {})
    counters = usage(1, 2, cached_tokens=1) | at.get("usage", {})
    counters["prompt_tokens_details"] |= at.get("details", {})
    choice = {"index": 0, "delta": delta, "finish_reason": None} | at.get("choice", {})
    chunk_ = chunk(choices=[choice], usage=counters) | at.get("frame", {})
    outcome = run(chunk_, finish(), unknown_fields="reject")
    assert isinstance(outcome.error, ContentRejectedError)
    assert outcome.error.wire_type == "colour"
    assert outcome.error.path.endswith("colour")
    assert "SECRET" not in str(outcome.error)
    assert outcome.thinking == "t"


@pytest.mark.parametrize("empty", ["reject", "keep"])
def test_known_fields_are_never_unknown(empty: str) -> None:
    counters = usage(1, 2, cached_tokens=1, service_tier="standard", num_cached_tokens=None)
    outcome = run(text("a", p="x", usage=counters), finish(), unknown_fields=empty)
    assert outcome.error is None
    assert outcome.notes == []


def test_strings_on_a_delta_are_joined_and_others_kept_in_order() -> None:
    values: list[Any] = ["a", "b", 1, None, {"x": None}, "c", "d", [], "e"]
    outcome = run(*(chunk({"colour": value}) | {"shade": value} for value in values), finish())
    assert kept(outcome) == {
        "choices.delta.colour": ["ab", 1, None, {"x": None}, "cd", [], "e"],
        "shade": values,
    }


def test_fields_of_whole_completions() -> None:
    outcome = run_whole(completion(message([text_part("a") | {"x": 1}], colour=2), top=3))
    assert kept(outcome) == {
        "choices.message.colour": [2],
        "choices.message.content.x": [1],
        "top": [3],
    }


def test_a_name_that_is_no_name_is_kept_with_its_value_and_shown_nowhere_else() -> None:
    names = ["a b", "日本", "x" * 100, "", "data:image/png;base64,SECRET"]
    outcome = run(chunk({name: place for place, name in enumerate(names)}), finish())
    values = [value for field in outcome.message.unmapped.values() for value in field.values]
    assert values == [{name: place} for place, name in enumerate(names)]
    assert "SECRET" not in repr(outcome.message.diagnostics)
    assert "SECRET" not in repr(outcome.message.unmapped)


def test_unknown_fields_of_usage_are_kept_even_when_it_is_no_report() -> None:
    outcome = run(text("a", usage={"joules": 1}), text("b", usage=usage(1, 2, joules=2)), finish())
    assert kept(outcome)["usage.joules"] == [1, 2]
    assert outcome.message.usage.raw == usage(1, 2, joules=2)


def test_metadata_and_tool_call_id_of_a_delta_are_kept() -> None:
    outcome = run(chunk({"metadata": {"a": 1}, "tool_call_id": "x"}), chunk({"metadata": {}}), finish())
    assert kept(outcome) == {"choices.delta.metadata": [{"a": 1}, {}], "choices.delta.tool_call_id": ["x"]}
    assert outcome.error is None


# ---- bounds ----


def omitted(outcome: Outcome) -> int:
    return sum(field.omitted for field in outcome.message.unmapped.values())


def test_values_are_bounded_then_counted() -> None:
    outcome = run(*(chunk({"colour": place}) for place in range(1500)), finish())
    assert kept(outcome) == {"choices.delta.colour": list(range(1000))}
    assert omitted(outcome) == 500


def test_long_values_are_bounded_then_counted() -> None:
    outcome = run(*(chunk({"colour": "x" * 1000}) for _ in range(100)), finish())
    (joined,) = kept(outcome)["choices.delta.colour"]
    assert len(joined) <= 65536
    assert len(joined) + 1000 * omitted(outcome) == 100_000
    assert len(outcome.message.model_dump_json()) < 70_000


def test_paths_are_bounded_then_counted() -> None:
    outcome = run(*(chunk({f"c{place}": place}) for place in range(400)), finish())
    values = [value for field in outcome.message.unmapped.values() for value in field.values]
    assert len(values) + omitted(outcome) == 400
    assert len(outcome.message.unmapped) <= 257
    assert len(outcome.message.diagnostics) <= 257


def test_long_names_are_bounded_too() -> None:
    outcome = run(*(chunk({f"{place}" + "x" * 1000: 1}) for place in range(400)), finish())
    assert len(outcome.message.model_dump_json()) < 70_000
    assert omitted(outcome) > 0


# ---- fields of other APIs ----


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "refusal"])
@pytest.mark.parametrize("empty", [None, "", [], {}])
def test_empty_fields_of_other_apis_are_nothing(name: str, empty: object) -> None:
    outcome = run(chunk({"content": "a", name: empty}), finish(), unknown_fields="reject")
    assert outcome.error is None
    assert outcome.text == "a"


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "refusal"])
@pytest.mark.parametrize("value", ["x", ["x"], {"text": "x"}, 0, False])
def test_content_in_fields_of_other_apis_is_rejected_by_name(name: str, value: object) -> None:
    for outcome, path in (
        (run(chunk({"content": "a", name: value}), finish()), f"choices[0].delta.{name}"),
        (run_whole(completion(message("a") | {name: value})), f"choices[0].message.{name}"),
    ):
        assert isinstance(outcome.error, ContentRejectedError)
        assert (outcome.error.wire_type, outcome.error.path) == (name, path)
        assert outcome.text == "a"


def test_logprobs_are_carried() -> None:
    token = {"token": "a", "token_id": 1, "logprob": -0.5, "bytes": [97], "top_logprobs": None, "extra": 1}
    first, second = text("a"), finish()
    first["choices"][0]["logprobs"] = {"content": [token]}
    second["choices"][0] |= {"logprobs": None, "prompt_logprobs": {"content": [token, token]}}
    outcome = run(first, second)
    assert outcome.error is None
    assert [each.model_dump() for each in outcome.message.logprobs] == [token]
    assert len(outcome.message.prompt_logprobs) == 2


def test_tool_call_extras_stay_beside_the_call() -> None:
    outcome = run(tool_calls(call_part("aaaaaaaa1", "f", "{}") | {"thought": "x"}), finish("tool_calls"))
    assert kept(outcome) == {"choices.delta.tool_calls.thought": ["x"]}
