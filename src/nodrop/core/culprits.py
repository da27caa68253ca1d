"""The walk of the slow path: a frame as it is before its first culprit, and the error that names the culprit.

In the order in which content is mapped: role, content items with their parts, tool calls, finish reason. The first
thing that is rejected, unknown or malformed ends it; what comes after it is not mapped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from pydantic import BaseModel

from nodrop.core.decisions import (
    CONTENT,
    FINISH_REASON,
    MALFORMED_REFERENCE,
    ROLE,
    THINKING_PART,
    Decision,
    decision_for,
)
from nodrop.core.rejections import (
    json_kind,
    malformed,
    malformed_frame,
    missing_type,
    rejected_type,
    unknown_type,
)
from nodrop.core.shapes import as_object, fault_of, joined_path
from nodrop.errors import NodropError
from nodrop.wire import (
    AudioChunk,
    DocumentURLChunk,
    FileChunk,
    ImageURLChunk,
    ReferenceChunk,
    ResourceChunk,
    ResourceLinkChunk,
    TextChunk,
    ThinkChunk,
    ToolCall,
    ToolReferenceChunk,
)

JSON = dict[str, Any]
_CHUNKS: Final[Mapping[str, type[BaseModel]]] = {
    "text": TextChunk,
    "thinking": ThinkChunk,
    "reference": ReferenceChunk,
    "image_url": ImageURLChunk,
    "document_url": DocumentURLChunk,
    "file": FileChunk,
    "input_audio": AudioChunk,
    "resource": ResourceChunk,
    "resource_link": ResourceLinkChunk,
    "tool_reference": ToolReferenceChunk,
}


def before_culprit(value: JSON, *, whole: bool, every_type: bool) -> tuple[JSON, NodropError | None]:
    """The frame up to its first culprit, and the error that names it; ``None`` when the choices hold none.

    ``whole``: a completion, with messages in place of deltas. ``every_type``: what only a chat rejects passes.
    """
    choices = value.get("choices")
    if not isinstance(choices, list):
        return value, None  # absent, or wrong: the models say so
    kept: list[JSON] = []
    for place, choice in enumerate(cast("list[object]", choices)[:2]):  # the second one is an error by itself
        path = f"choices[{place}]"
        if not isinstance(choice, dict):
            return {**value, "choices": kept}, malformed_frame(path, f"it is {json_kind(choice)}, not an object")
        pruned, culprit = _prune_choice(cast(JSON, choice), path, whole=whole, every_type=every_type)
        kept.append(pruned)
        if culprit is not None:
            return {**value, "choices": kept}, culprit
    return {**value, "choices": kept}, None


def _prune_choice(choice: JSON, path: str, *, whole: bool, every_type: bool) -> tuple[JSON, NodropError | None]:
    culprit: NodropError | None = None
    pruned = dict(choice)
    key = "message" if whole else "delta"
    message = choice.get(key)
    if isinstance(message, dict):
        pruned[key], culprit = _prune_message(cast(JSON, message), f"{path}.{key}", every_type=every_type)
    messages = choice.get("messages")
    if whole and isinstance(messages, list):
        kept: list[object] = []
        for place, part in enumerate(cast("list[object]", messages)):
            where = f"{path}.messages[{place}]"
            if culprit is not None:
                break
            if isinstance(part, dict):
                pruned_part, culprit = _prune_message(cast(JSON, part), where, every_type=every_type)
                kept.append(pruned_part)
            else:
                culprit = malformed_frame(where, f"it is {json_kind(part)}, not an object")
        pruned["messages"] = kept
    reason = choice.get("finish_reason")
    if culprit is None and reason is not None and decision_for(FINISH_REASON, reason) is None:
        culprit = unknown_type("finish reason", reason, f"{path}.finish_reason")
    if culprit is not None:
        pruned["finish_reason"] = None  # what comes after the culprit is not mapped
    return pruned, culprit


def _prune_message(message: JSON, path: str, *, every_type: bool) -> tuple[JSON, NodropError | None]:
    """The message up to its first culprit: role, content items, tool calls, in this order."""
    role = message.get("role")
    decided = None if role is None else decision_for(ROLE, role)
    if isinstance(role, str) and decided is None:
        return {}, unknown_type("role", role, path)
    if isinstance(role, str) and decided is not None and decided.action == "rejected" and not every_type:
        return {}, rejected_type("role", role, path, decided)
    content = message.get("content")
    culprit: NodropError | None = None
    if isinstance(content, list):
        kept, culprit = _prune_items(cast("list[object]", content), f"{path}.content", every_type=every_type)
        message = {**message, "content": kept}
    elif content is not None and not isinstance(content, str):
        culprit = malformed("content", "content", f"{path}.content", f"it is {json_kind(content)}")
        message = {**message, "content": None}
    if culprit is not None:
        return {**message, "tool_calls": None}, culprit
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        items = cast("list[object]", calls)
        for place, call in enumerate(items):
            fault = fault_of(ToolCall, call)
            if fault is not None:
                where = joined_path(f"{path}.tool_calls[{place}]", fault.path)
                return {**message, "tool_calls": items[:place]}, malformed(
                    "tool call", "tool_call", where, fault.reason
                )
    return message, None


def _prune_items(items: list[object], path: str, *, every_type: bool) -> tuple[list[object], NodropError | None]:
    kept: list[object] = []
    for place, item in enumerate(items):
        where = f"{path}[{place}]"
        culprit = _undecided("content type", CONTENT, item, where, every_type=every_type)
        if culprit is None:
            chunk = cast(JSON, item)
            if chunk["type"] == "thinking" and isinstance(chunk.get("thinking"), list):
                pruned, culprit = _prune_parts(chunk, where, every_type=every_type)
                kept.append(pruned)
            else:
                culprit = _misshapen("content type", chunk, where)
                if culprit is None:
                    kept.append(chunk)
        if culprit is not None:
            return kept, culprit
    return kept, None


def _prune_parts(chunk: JSON, path: str, *, every_type: bool) -> tuple[JSON, NodropError | None]:
    kept: list[object] = []
    for place, part in enumerate(cast("list[object]", chunk["thinking"])):
        where = f"{path}.thinking[{place}]"
        culprit = _undecided("thinking part", THINKING_PART, part, where, every_type=every_type)
        if culprit is None:
            culprit = _misshapen("thinking part", cast(JSON, part), where)
        if culprit is not None:
            return {"type": "thinking", "thinking": kept}, culprit
        kept.append(part)
    culprit = _misshapen("content type", {**chunk, "thinking": kept}, path)
    return ({"type": "thinking", "thinking": kept} if culprit else {**chunk, "thinking": kept}), culprit


def _undecided(
    thing: str, table: Mapping[Any, Decision], item: object, path: str, *, every_type: bool
) -> NodropError | None:
    found = as_object(item)
    tag: object = found.get("type") if found is not None else None
    if not isinstance(tag, str):
        return missing_type(thing, item, path)
    decision = decision_for(table, tag)
    if decision is None:
        return unknown_type(thing, tag, path)
    return rejected_type(thing, tag, path, decision) if decision.action == "rejected" and not every_type else None


def _misshapen(thing: str, item: JSON, path: str) -> NodropError | None:
    """What is wrong with the shape of an item whose type is known."""
    tag: str = item["type"]
    fault = fault_of(_CHUNKS[tag], item)
    if fault is None:
        return None
    if tag == "reference" and fault.path.startswith("reference_ids"):
        return malformed(thing, tag, path, MALFORMED_REFERENCE.reason)
    return malformed(thing, tag, joined_path(path, fault.path), fault.reason)
