"""Streams of tool call fragments, in short."""

from __future__ import annotations

from typing import Any

from nodrop.testing.wire import call_part, finish, tool_calls
from tests.core.driving import Outcome, run

Part = dict[str, Any]


def calls(*deltas: Part | list[Part], finish_reason: str | None = "tool_calls", **options: Any) -> Outcome:
    """A stream with one delta per argument: a fragment, or several."""
    chunks = [tool_calls(*(delta if isinstance(delta, list) else [delta])) for delta in deltas]
    return run(*chunks, *([finish(finish_reason)] if finish_reason else []), **options)


def facts(outcome: Outcome) -> list[tuple[str, str, str]]:
    return [(call.id, call.name, call.raw_arguments) for call in outcome.message.tool_calls]


def part(index: int | None, call_id: str | None, name: str | None, arguments: str) -> Part:
    """A fragment with the keys that are not None."""
    found = call_part(arguments=arguments)
    found |= {} if index is None else {"index": index}
    found |= {} if call_id is None else {"id": call_id}
    found["function"] |= {} if name is None else {"name": name}
    return found


A, B, C = "aaaaaaaa1", "bbbbbbbb2", "cccccccc3"
