"""Wire models against parsed JSON: what a model refuses, where, and the frame without it.

Reasons come from the shape alone, never from a value: a validation error quotes what it refuses.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from pydantic import BaseModel, ValidationError

from nodrop.core.rejections import (
    malformed_frame,
    path_key,
)
from nodrop.errors import NodropError
from nodrop.wire import (
    ChatCompletionResponse,
    CompletionChunk,
)

JSON = dict[str, Any]
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


def as_object(value: object) -> JSON | None:
    return cast(JSON, value) if isinstance(value, dict) else None


class Fault(NamedTuple):
    path: str
    reason: str


def fault_of(model: type[BaseModel], value: object) -> Fault | None:
    """The first thing that ``model`` refuses in a parsed JSON value: where, and why, without the value."""
    try:
        model.model_validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        return Fault(real_path(first["loc"], value), _reason(first["type"]))
    return None


def _reason(kind: str) -> str:
    """A validation error's kind in words. Its own message is not used: some of them quote what they refuse."""
    return "it is missing" if kind == "missing" else f"wrong shape ({kind})"


def real_path(loc: tuple[int | str, ...], value: object) -> str:
    """A pydantic location as a path into ``value``, without the labels that it adds for members of a union."""
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


def joined_path(base: str, rest: str) -> str:
    return f"{base}{rest}" if rest.startswith("[") or not rest else f"{base}.{rest}"


_Whole = type[CompletionChunk] | type[ChatCompletionResponse]


def validated(value: JSON, model: _Whole) -> tuple[CompletionChunk | ChatCompletionResponse | None, NodropError | None]:
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
        first = first or malformed_frame(real_path(problem["loc"], value), _reason(problem["type"]))
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
