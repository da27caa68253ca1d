"""What may be wrong with a text that should be JSON, apart from its grammar."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final, NamedTuple, cast

BEFORE_DATA: Final = re.compile(r"\A[\s\x00-\x1f\x7f\ufeff\ufffd]+")
"""What can hide that a text starts like JSON: a byte order mark, blanks, control characters, broken UTF-8."""
MAX_DEPTH: Final = 200
"""The bound of the fast path's parser; what walks JSON recursively must not go deeper either."""


def is_nested_deeper(value: object, depth: int) -> bool:
    """Whether a JSON value has more than ``depth`` levels: what walks it recursively must not."""
    level: list[object] = [value]
    for _ in range(depth + 1):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return cast("dict[str, object]", value).values()
    return cast("list[object]", value) if isinstance(value, list) else ()


class ObjectWithRepeats(dict[str, Any]):
    """A JSON object that has a key twice; like any reader of JSON it holds the last value of each.

    ``repeated`` is the first such key, preferably one whose values differ: then something is lost, and ``differs``.
    """

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.repeated = ""
        self.differs = False
        first: dict[str, Any] = {}
        for key, value in pairs:
            if key in first and not self.differs:
                self.repeated = key
                self.differs = json.dumps(first[key]) != json.dumps(value)  # in JSON, true is not 1
            first.setdefault(key, value)


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
    pending: list[tuple[object, tuple[int | str, ...]]] = [(value, ())]
    while pending:
        inner, steps = pending.pop()
        if isinstance(inner, ObjectWithRepeats):
            repeat = Repeat((*steps, inner.repeated), inner.differs)
            if repeat.differs:
                return repeat
            found = found or repeat
        if isinstance(inner, dict):
            members = [(member, (*steps, key)) for key, member in cast("dict[str, object]", inner).items()]
            pending += reversed(members)
        elif isinstance(inner, list):
            items = [(item, (*steps, place)) for place, item in enumerate(cast("list[object]", inner))]
            pending += reversed(items)
    return found


class _Repeated(ValueError):
    """Some object has a key twice."""


def _refuse_repeats(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) != len(pairs):
        raise _Repeated


_REFUSING: Final = json.JSONDecoder(object_pairs_hook=_refuse_repeats, parse_int=str, parse_float=str)


def has_repeats(data: bytes) -> bool:
    """Whether some object in ``data``, which is known to be JSON, has a key twice. Readers of JSON do not tell."""
    try:
        _REFUSING.decode(data.decode())
    except _Repeated:
        return True
    return False
