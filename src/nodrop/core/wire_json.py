"""The JSON of one event → a wire chunk, or the error that names the culprit.

The fast path is one call, straight from the bytes into the generated models, and a check that no key of an object is
there twice. The slow path runs only when one of them fails. It walks the parsed JSON item by item, in the order of
mapping, stops at the first thing that is rejected, unknown or malformed, and gives back the chunk as it is
*before* that culprit, together with the error. So one odd item never costs its neighbours, and exactness costs next to
nothing while all is well.

Strict validation is meant: a ``true`` among reference ids must not become the citation ``[1]``.
"""

from __future__ import annotations

import itertools
import json
from typing import Any, Final, NamedTuple, cast

from pydantic import ValidationError

from nodrop.core.culprits import before_culprit
from nodrop.core.odd_json import BEFORE_DATA, MAX_DEPTH, is_nested_deeper
from nodrop.core.rejections import json_kind, malformed_frame, path_of, repeated_key
from nodrop.core.repeated_keys import first_repeat, has_repeats, object_of, surely_has_none, without
from nodrop.core.server_errors import error_in_frame
from nodrop.core.shapes import as_object, validated
from nodrop.core.surrogates import without_surrogates
from nodrop.errors import NodropError, StreamProtocolError
from nodrop.wire import (
    AssistantMessage,
    ChatCompletionResponse,
    CompletionChunk,
    DeltaMessage,
    TextChunk,
    ThinkChunk,
)

JSON = dict[str, Any]
_QUOTED: Final = 200


class Walked(NamedTuple):
    """What the slow path found: the chunk before the culprit, the error that names it, and oddities worth a note.

    With ``lone_surrogates`` the strings of the content still hold them, for the assembler to join.
    """

    chunk: CompletionChunk | ChatCompletionResponse | None
    error: NodropError | None
    oddities: list[str]
    lone_surrogates: bool


def read_chunk(data: bytes) -> CompletionChunk | None:
    """The fast path: the chunk; ``None`` when the models refuse it, or a key is there twice: :func:`walk` tells why."""
    try:
        # What model_validate_json calls, without its own frame: this runs for every event.
        chunk: CompletionChunk = CompletionChunk.__pydantic_validator__.validate_json(data, strict=True)
    except ValidationError:
        return None
    return chunk if surely_has_none(data, chunk) or not has_repeats(data) else None


def read_whole(body: bytes) -> ChatCompletionResponse | None:
    """The fast path for a whole completion. A choice without any message is none: a chunk, say, in place of a body."""
    try:
        response = ChatCompletionResponse.model_validate_json(body, strict=True)
    except ValidationError:
        return None
    has_message = all({"message", "messages"} & choice.model_fields_set for choice in response.choices)
    return response if has_message and not has_repeats(body) else None


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
        value: object = json.loads(text, object_pairs_hook=object_of)
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
    repeat = first_repeat(raw)
    twice: NodropError | None = None
    if repeat is not None and repeat.differs:
        twice = repeated_key(path_of(repeat.steps))
        raw = without(raw, repeat.steps)  # which of the two is meant, nobody knows
    elif repeat is not None:
        oddities.append("repeated_key")
    clean: JSON = without_surrogates(raw)
    failure = error_in_frame(clean, data)
    if failure is not None and not raw.get("choices"):
        raise failure
    lone = clean != raw
    if lone:
        oddities.append("lone_surrogate")
    whole = _is_whole(clean, body=body)
    pruned, culprit = before_culprit(clean, whole=whole, every_type=every_type)
    chunk, fault = validated(pruned, ChatCompletionResponse if whole else CompletionChunk)
    if chunk is not None and lone:
        _restore_surrogates(chunk, raw)
    return Walked(chunk, failure or twice or culprit or fault, oddities, lone)


def _is_whole(value: JSON, *, body: bool) -> bool:
    choices = value.get("choices")
    first = cast("list[object]", choices)[0] if isinstance(choices, list) and choices else None
    return isinstance(first, dict) and ("message" in first or "messages" in first) and (body or "delta" not in first)


def _restore_surrogates(chunk: CompletionChunk | ChatCompletionResponse, raw: JSON) -> None:
    """Puts the lone surrogates back into the strings of the content, where the assembler joins them over deltas.

    What of ``raw`` was malformed is not in ``chunk``, and is passed by.
    """
    choices: Any = chunk.choices or ()
    for choice, raw_choice in zip(choices, _objects(raw.get("choices")), strict=False):
        pairs: list[tuple[Any, JSON]] = [
            (getattr(choice, key, None), as_object(raw_choice.get(key)) or {}) for key in ("delta", "message")
        ]
        messages = getattr(choice, "messages", None)  # of a chunk it may be a field that nobody knows
        if isinstance(messages, list):
            pairs += zip(cast("list[object]", messages), _objects(raw_choice.get("messages")), strict=False)
        for message, raw_message in pairs:
            if isinstance(message, DeltaMessage | AssistantMessage):
                _restore_message(message, raw_message)


def _restore_message(message: DeltaMessage | AssistantMessage, raw: JSON) -> None:
    if isinstance(message.content, str):
        message.content = raw["content"]
    for item, raw_item in zip(message.content or (), _objects(raw.get("content")), strict=False):
        if isinstance(item, TextChunk):
            item.text = raw_item["text"]
        elif isinstance(item, ThinkChunk):
            for part, raw_part in zip(item.thinking, _objects(raw_item["thinking"]), strict=False):
                if isinstance(part, TextChunk):
                    part.text = raw_part["text"]
    for call, raw_call in zip(message.tool_calls or (), _objects(raw.get("tool_calls")), strict=False):
        if isinstance(call.function.arguments, str):
            call.function.arguments = raw_call["function"]["arguments"]


def _objects(value: object) -> list[JSON]:
    """The list ``value`` up to its first item that is no object, which ended the walk; nothing when it is no list."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [cast(JSON, item) for item in itertools.takewhile(lambda item: isinstance(item, dict), items)]
