"""A key that stands twice in one JSON object: readers of JSON keep the last value, and the first one is gone.

So every event that the models take is looked at once more. Most have as many colons as the chunk that was read has
keys, which none with a repeated key has; any other is read again, with a check of each object.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, cast

from nodrop.wire import CompletionChunk, ThinkChunk


class ObjectWithRepeats(dict[str, Any]):
    """A JSON object that has a key twice; like any reader of JSON it holds the last value of each.

    ``differs`` says whether some key has two different values: then something is lost, and ``repeated`` is that key.
    """

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.repeated = ""
        self.differs = False
        first: dict[str, Any] = {}
        for key, value in pairs:
            if key in first and not self.differs:
                self.repeated = key
                self.differs = not _same(first[key], value)
            first.setdefault(key, value)


def _same(one: object, other: object) -> bool:
    """Whether two JSON values are one: in JSON, ``true`` is not ``1``, and nowhere inside of them either."""
    if type(one) is not type(other):
        return False
    return json.dumps(one) == json.dumps(other) if isinstance(one, dict | list) else one == other


def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The ``object_pairs_hook`` that keeps what a plain ``dict`` forgets."""
    found = dict(pairs)
    return found if len(found) == len(pairs) else ObjectWithRepeats(pairs)


class Repeat(NamedTuple):
    """Where a key stands twice in one object, and whether with different values."""

    steps: tuple[int | str, ...]
    differs: bool


def first_repeat(value: object) -> Repeat | None:
    """The first repeated key of a value read with :func:`object_of`: one that differs, if there is one."""
    found: Repeat | None = None
    for repeat in _repeats(value, ()):
        if repeat.differs:
            return repeat
        found = found or repeat
    return found


def _repeats(value: object, steps: tuple[int | str, ...]) -> Iterator[Repeat]:
    if isinstance(value, ObjectWithRepeats):
        yield Repeat((*steps, value.repeated), value.differs)
    inside: Iterable[tuple[int | str, object]] = ()
    if isinstance(value, dict):
        inside = cast("dict[str, object]", value).items()
    elif isinstance(value, list):
        inside = enumerate(cast("list[object]", value))
    for step, inner in inside:
        if isinstance(inner, dict | list):
            yield from _repeats(inner, (*steps, step))  # pyright: ignore[reportUnknownArgumentType]


def without(value: Any, steps: Sequence[int | str]) -> Any:
    """``value`` without the key that ``steps`` lead to. Objects and lists on the way are new ones."""
    step, *rest = steps
    if not rest:
        return {key: inner for key, inner in value.items() if key != step}
    copy = value.copy()
    copy[step] = without(value[step], rest)
    return copy


class _Repeated(ValueError):
    """Some object has a key twice."""


def _refuse_repeats(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) != len(pairs):
        raise _Repeated


_REFUSING: Final = json.JSONDecoder(object_pairs_hook=_refuse_repeats, parse_int=str, parse_float=str)


def has_repeats(data: bytes) -> bool:
    """Whether some object in ``data``, which is known to be JSON, has a key twice."""
    try:
        _REFUSING.decode(data.decode())
    except (_Repeated, RecursionError):  # read near the end of the caller's stack: whoever looks closer says why
        return True
    return False


def surely_has_none(data: bytes, chunk: CompletionChunk) -> bool:
    """Whether a count tells already that ``data``, of which ``chunk`` was read, has no key twice.

    Each key in the bytes has a colon, and the chunk has each key at most once. Objects that are not counted here, and
    strings that hold a colon, only make it less sure.
    """
    keys = len(chunk.model_fields_set)
    for choice in chunk.choices or ():
        delta = choice.delta
        keys += len(choice.model_fields_set) + len(delta.model_fields_set)
        if isinstance(delta.content, list):
            for item in delta.content:
                keys += len(item.model_fields_set)
                if isinstance(item, ThinkChunk):
                    keys += sum(len(part.model_fields_set) for part in item.thinking)
        for call in delta.tool_calls or ():
            keys += len(call.model_fields_set) + len(call.function.model_fields_set)
    return data.count(b":") == keys
