"""The JSON of one event → a wire chunk, or the error that names the culprit.

The fast path is one call: straight from the bytes into the generated models. The slow path runs only when that fails.
It walks the parsed JSON item by item, in the order in which content is mapped, stops at the first thing that is
rejected, unknown or malformed, and gives back the chunk as it is *before* that culprit, together with the error. So
one odd item never costs its neighbours, and exactness costs nothing while all is well.

Strict validation is meant: a ``true`` among reference ids must not become the citation ``[1]``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, cast

from pydantic import BaseModel, ValidationError

from nodrop.core.decisions import (
    CONTENT,
    FINISH_REASON,
    MALFORMED_REFERENCE,
    ROLE,
    THINKING_PART,
    Decision,
    decision_for,
)
from nodrop.core.odd_json import BEFORE_DATA, MAX_DEPTH, is_nested_deeper
from nodrop.core.rejections import (
    json_kind,
    malformed,
    malformed_frame,
    missing_type,
    path_key,
    rejected_type,
    unknown_type,
)
from nodrop.core.server_errors import error_in_frame
from nodrop.core.surrogates import without_surrogates
from nodrop.errors import NodropError, StreamProtocolError
from nodrop.wire import (
    AssistantMessage,
    AudioChunk,
    ChatCompletionResponse,
    CompletionChunk,
    DeltaMessage,
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
Form = Literal["delta", "message"]
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
_QUOTED: Final = 200
_EMPTY: Final[Mapping[str, Any]] = {
    "choices": [],
    "created": 0,
    "delta": {},
    "finish_reason": None,
    "id": "",
    "index": 0,
    "model": "",
    "object": "",
    "usage": None,
}
"""What stands in for a field of the frame that is wrong, so that the content beside it is still mapped."""
_REPAIRS: Final = 50  # of one frame, at most


class Walked(NamedTuple):
    """What the slow path found: the chunk before the culprit, the error that names it, and oddities worth a note.

    With ``lone_surrogates`` the strings of the content still hold them, for the assembler to join.
    """

    chunk: CompletionChunk | ChatCompletionResponse | None
    error: NodropError | None
    oddities: list[str]
    lone_surrogates: bool


def read_chunk(data: bytes) -> CompletionChunk | None:
    """The fast path: the chunk, or ``None`` when the models refuse it and :func:`walk` must tell why."""
    try:
        # What model_validate_json calls, without its own frame: this runs for every event.
        chunk: CompletionChunk = CompletionChunk.__pydantic_validator__.validate_json(data, strict=True)
        return chunk
    except ValidationError:
        return None


def read_whole(data: bytes) -> ChatCompletionResponse | None:
    """The fast path for a whole completion. A choice without any message is none: a chunk, say, in place of a body."""
    try:
        response = ChatCompletionResponse.model_validate_json(data, strict=True)
    except ValidationError:
        return None
    has_message = all({"message", "messages"} & choice.model_fields_set for choice in response.choices)
    return response if has_message else None


def parse(data: bytes) -> tuple[object, list[str]]:
    """The JSON value in ``data`` and what was odd about its text.

    Raises :class:`StreamProtocolError` when it is no JSON.
    """
    oddities: list[str] = []
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        oddities.append("invalid_utf8")
        text = data.decode("utf-8", "replace")
    fault: str
    try:
        value: object = json.loads(text)
        if not is_nested_deeper(value, MAX_DEPTH):
            return value, oddities
        fault = "it is nested too deeply"
    except json.JSONDecodeError as error:
        fault = f"{error.msg} at character {error.pos} of {len(text)}"
    except RecursionError:
        fault = "it is nested too deeply"
    except ValueError:
        fault = "it holds a number that is too long"
    stripped = BEFORE_DATA.sub("", text)
    if stripped[:1] in ("{", "[", '"'):
        raise StreamProtocolError(f"the server sent data that is no JSON: {fault}")
    quoted = stripped[:_QUOTED] + ("…" if len(stripped) > _QUOTED else "")
    raise StreamProtocolError(f"the server sent data that is no JSON: {without_surrogates(quoted)}")


def walk(data: bytes, *, body: bool = False, every_type: bool = False) -> Walked:
    """The slow path, for an event or a whole ``body``. With ``every_type``, at the wire level, what a chat rejects
    passes like the rest: only what nobody knows, or what is malformed, is a culprit then.

    Raises what :func:`parse` raises, and the error that an error frame without choices tells of.
    """
    value, oddities = parse(data)
    if not isinstance(value, dict):
        raise malformed_frame("", f"it is {json_kind(value)}, not an object")
    raw = cast(JSON, value)
    clean: JSON = without_surrogates(raw)
    failure = error_in_frame(clean, data)
    if failure is not None and not raw.get("choices"):
        raise failure
    lone = clean != raw
    if lone:
        oddities.append("lone_surrogate")
    whole = _is_whole(clean, body=body)
    pruned, culprit = _prune_choices(clean, whole=whole, every_type=every_type)
    chunk, fault = _validated(pruned, ChatCompletionResponse if whole else CompletionChunk)
    if chunk is not None and lone:
        _restore_surrogates(chunk, raw)
    return Walked(chunk, failure or culprit or fault, oddities, lone)


def _is_whole(value: JSON, *, body: bool) -> bool:
    choices = value.get("choices")
    first = cast("list[object]", choices)[0] if isinstance(choices, list) and choices else None
    return isinstance(first, dict) and ("message" in first or "messages" in first) and (body or "delta" not in first)


def _prune_choices(value: JSON, *, whole: bool, every_type: bool) -> tuple[JSON, NodropError | None]:
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
            fault = _fault(ToolCall, call)
            if fault is not None:
                where = _joined_path(f"{path}.tool_calls[{place}]", fault.path)
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
    tag: object = as_object.get("type") if (as_object := _as_object(item)) is not None else None
    if not isinstance(tag, str):
        return missing_type(thing, item, path)
    decision = decision_for(table, tag)
    if decision is None:
        return unknown_type(thing, tag, path)
    return rejected_type(thing, tag, path, decision) if decision.action == "rejected" and not every_type else None


def _misshapen(thing: str, item: JSON, path: str) -> NodropError | None:
    """What is wrong with the shape of an item whose type is known."""
    tag: str = item["type"]
    fault = _fault(_CHUNKS[tag], item)
    if fault is None:
        return None
    if tag == "reference" and fault.path.startswith("reference_ids"):
        return malformed(thing, tag, path, MALFORMED_REFERENCE.reason)
    return malformed(thing, tag, _joined_path(path, fault.path), fault.reason)


def _as_object(value: object) -> JSON | None:
    return cast(JSON, value) if isinstance(value, dict) else None


class _Fault(NamedTuple):
    path: str
    reason: str


def _fault(model: type[BaseModel], value: object) -> _Fault | None:
    """The first thing that ``model`` refuses in a parsed JSON value: where, and why, without the value."""
    try:
        model.model_validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        return _Fault(_real_path(first["loc"], value), _reason(first["type"]))
    return None


def _reason(kind: str) -> str:
    """A validation error's kind in words. Its own message is not used: some of them quote what they refuse."""
    return "it is missing" if kind == "missing" else f"wrong shape ({kind})"


def _real_path(loc: tuple[int | str, ...], value: object) -> str:
    """A pydantic location as a path into ``value``: without the labels that it adds for union members."""
    path = ""
    for place, step in enumerate(loc):
        last = place == len(loc) - 1
        if isinstance(step, int) and isinstance(value, list):
            items = cast("list[object]", value)
            path += f"[{step}]"
            value = items[step] if step < len(items) else None
        elif isinstance(step, str) and isinstance(value, dict) and (step in value or last):
            path += f".{path_key(step)}" if path else path_key(step)
            value = cast(JSON, value).get(step)
    return path


def _joined_path(base: str, rest: str) -> str:
    return f"{base}{rest}" if rest.startswith("[") or not rest else f"{base}.{rest}"


_Whole = type[CompletionChunk] | type[ChatCompletionResponse]


def _validated(
    value: JSON, model: _Whole
) -> tuple[CompletionChunk | ChatCompletionResponse | None, NodropError | None]:
    """``value`` as a wire model; fields of the envelope that it refuses are taken out and named.

    Content was checked item by item before, so what is refused here is the frame around it.
    """
    first: NodropError | None = None
    repaired = value
    for _ in range(_REPAIRS):
        try:
            return model.model_validate_json(json.dumps(repaired), strict=True), first
        except ValidationError as error:
            problem = error.errors(include_input=False, include_url=False, include_context=False)[0]
        first = first or malformed_frame(_real_path(problem["loc"], value), _reason(problem["type"]))
        better = _repaired(repaired, problem["loc"])
        if better is None:
            break
        repaired = better
    return None, first


def _repaired(value: JSON, steps: Sequence[int | str]) -> JSON | None:
    """``value`` without the field that ``steps`` leads to, or with what stands in for it; ``None``: nothing helps."""
    key = steps[0] if steps else None
    if not isinstance(key, str):
        return None
    inner, rest = value.get(key), steps[1:]
    better: JSON | None = None
    if key in ("delta", "message") and isinstance(inner, dict):
        better = _repaired(cast(JSON, inner), rest)
        if better is not None:
            return {**value, key: better}
    elif key in ("choices", "messages") and isinstance(inner, list) and rest and isinstance(rest[0], int):
        items = list(cast("list[object]", inner))
        if isinstance(items[rest[0]], dict):
            better = _repaired(cast(JSON, items[rest[0]]), rest[1:])
        if better is not None:
            items[rest[0]] = better
            return {**value, key: items}
    if key in _EMPTY:
        return None if value.get(key, ...) == _EMPTY[key] else {**value, key: _EMPTY[key]}
    return {name: kept for name, kept in value.items() if name != key} if key in value else None


def _restore_surrogates(chunk: CompletionChunk | ChatCompletionResponse, raw: JSON) -> None:
    """Puts the lone surrogates back into the strings of the content, where the assembler joins them over deltas."""
    choices: Any = chunk.choices or ()
    for choice, raw_choice in zip(choices, raw.get("choices") or (), strict=False):
        pairs: list[tuple[Any, Any]] = [
            (getattr(choice, key, None), raw_choice.get(key)) for key in ("delta", "message")
        ]
        pairs += zip(getattr(choice, "messages", None) or (), raw_choice.get("messages") or (), strict=False)
        for message, raw_message in pairs:
            if isinstance(message, DeltaMessage | AssistantMessage):
                _restore_message(message, raw_message)


def _restore_message(message: DeltaMessage | AssistantMessage, raw: JSON) -> None:
    if isinstance(message.content, str):
        message.content = raw["content"]
    raw_items: list[Any] = raw.get("content") or []
    for item, raw_item in zip(message.content or (), raw_items, strict=False):
        if isinstance(item, TextChunk):
            item.text = raw_item["text"]
        elif isinstance(item, ThinkChunk):
            raw_parts: list[JSON] = raw_item["thinking"]
            for part, raw_part in zip(item.thinking, raw_parts, strict=False):
                if isinstance(part, TextChunk):
                    part.text = raw_part["text"]
    for call, raw_call in zip(message.tool_calls or (), raw.get("tool_calls") or (), strict=False):
        if isinstance(call.function.arguments, str):
            call.function.arguments = raw_call["function"]["arguments"]
