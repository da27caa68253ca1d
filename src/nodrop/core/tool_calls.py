"""Fragments of tool calls → calls.

The rules, all of them (contract 3), for a fragment with an optional index, id and name:

- ``null``, ``""`` and the text ``"null"`` are no id; ``null`` and ``""`` are no name; an absent index is absent, not 0.
- With an index and a name it opens a call when the index is new, or when its id differs from the id of the call that
  is open at that index. Else it goes on with the call at its index.
- Without an index it goes by its id. An unknown id with a name opens a call; a name alone opens a call.
- With neither name nor id it goes on with the call at its index, else with the call opened last. It opens nothing:
  with no call open it is an error.
- An id without a name at a new index opens a call that must be named before the end; it is not shown until then.
- The first real id wins. A call that never gets one gets nine alphanumerics, the same on every run.
- A call is finished when the stream is: only then is it known whether its arguments are whole.
"""

from __future__ import annotations

import hashlib
import json
import math
import string
from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, NoReturn

from nodrop.content import ToolCall
from nodrop.core.odd_json import MAX_DEPTH, is_nested_deeper
from nodrop.core.rejections import path_of
from nodrop.core.repeated_keys import first_repeat, object_of
from nodrop.core.surrogates import SurrogateJoiner, without_surrogates
from nodrop.errors import StreamProtocolError

_NO_ID: Final = frozenset({None, "", "null"})
_ALPHANUMERICS: Final = string.digits + string.ascii_letters
ID_LENGTH: Final = 9


@dataclass(frozen=True, slots=True)
class Fragment:
    """One fragment as it came. ``arguments`` is a piece of JSON text, or a whole object."""

    index: int | None
    id: str | None
    name: str | None
    arguments: str | dict[str, Any]


@dataclass(slots=True, eq=False)
class OpenCall:
    """A call under way. ``content_index`` is set when it is shown, which is when it has a name."""

    index: int | None
    id: str | None
    name: str | None
    pieces: list[str] = field(default_factory=list[str])
    content_index: int | None = None
    joiner: SurrogateJoiner = field(default_factory=SurrogateJoiner)

    @property
    def raw_arguments(self) -> str:
        return "".join(self.pieces)


class Placed(NamedTuple):
    """Where a fragment went: the call, its piece of argument text, and what was odd about it (or ``None``)."""

    call: OpenCall
    piece: str
    oddity: str | None


class ToolCallTable:
    """The calls of one message. ``calls`` is in order of opening; ``_at`` holds the open call of each index."""

    def __init__(self) -> None:
        self.calls: list[OpenCall] = []
        self._at: dict[int, OpenCall] = {}

    def add(self, fragment: Fragment, path: str) -> Placed:
        """Places a fragment. Raises :class:`StreamProtocolError` when it belongs to no call."""
        call_id = None if fragment.id in _NO_ID else fragment.id
        name = fragment.name or None
        call = self._find(fragment.index, call_id, name)
        oddity = None
        if call is None:
            if call_id is None and name is None:
                raise StreamProtocolError(
                    f"a tool call fragment at {path} has neither a name nor an id, and no tool call is open"
                )
            call = self._open(fragment.index, call_id, name)
        else:
            oddity = self._go_on(call, call_id, name)
        piece = fragment.arguments if isinstance(fragment.arguments, str) else compact_json(fragment.arguments)
        return Placed(call, piece, oddity)

    def in_order(self) -> list[OpenCall]:
        """The calls in order of index; those without one where they were opened."""
        last = -1
        keys: dict[int, int] = {}
        for place, call in enumerate(self.calls):
            last = call.index if call.index is not None else last
            keys[place] = last
        return [self.calls[place] for place in sorted(keys, key=lambda place: (keys[place], place))]

    def _find(self, index: int | None, call_id: str | None, name: str | None) -> OpenCall | None:
        last = self.calls[-1] if self.calls else None
        if index is not None:
            here = self._at.get(index)
            if name is not None:
                differs = here is not None and call_id is not None and here.id is not None and call_id != here.id
                return None if differs else here
            return here if here is not None or call_id is not None else last
        if call_id is not None:
            known = next((call for call in self.calls if call.id == call_id), None)
            return known if known is not None or name is not None else last
        return last if name is None else None

    def _open(self, index: int | None, call_id: str | None, name: str | None) -> OpenCall:
        call = OpenCall(index, call_id, name)
        self.calls.append(call)
        if index is not None:
            self._at[index] = call
        return call

    def _go_on(self, call: OpenCall, call_id: str | None, name: str | None) -> str | None:
        oddity = None
        if call_id is not None:
            if call.id is None:
                call.id = call_id
            elif call.id != call_id:
                oddity = "a later fragment of a tool call has another id; the first id stays"
        if name is not None:
            if call.name is None:
                call.name = name
            elif call.name != name:
                oddity = "a later fragment of a tool call has another name; the first name stays"
        return oddity


def compact_json(value: dict[str, Any]) -> str:
    """The text of arguments that came as an object."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def made_up_id(seed: str, taken: Container[str]) -> str:
    """Nine alphanumerics for ``seed``, the same on every run, none of ``taken``."""
    attempt = 0
    while True:
        digest = hashlib.sha256(f"{seed}:{attempt}".encode("utf-8", "surrogatepass")).digest()
        number = int.from_bytes(digest[:8], "big")
        made = ""
        for _ in range(ID_LENGTH):
            number, rest = divmod(number, len(_ALPHANUMERICS))
            made += _ALPHANUMERICS[rest]
        if made not in taken:
            return made
        attempt += 1


def finished_call(call: OpenCall, call_id: str, *, ended: bool, cut: bool) -> ToolCall:
    """The call as it stands. ``ended``: nothing more comes; ``cut``: it ended by length, error or abort."""
    raw = call.raw_arguments
    name = call.name or ""
    if not raw.strip():
        if ended and not cut:
            return ToolCall(id=call_id, name=name, raw_arguments=raw)
        reason = "the answer ended before any arguments" if ended else "the arguments have not arrived yet"
        return _broken(call_id, name, raw, reason)
    try:
        arguments: object = json.loads(
            raw, parse_constant=_no_json_constant, parse_float=_finite, object_pairs_hook=object_of
        )
        if is_nested_deeper(arguments, MAX_DEPTH):
            return _broken(call_id, name, raw, "not readable: it is nested too deeply")
        repeat = first_repeat(arguments)
    except json.JSONDecodeError as error:
        return _broken(call_id, name, raw, f"not JSON: {error.msg} at character {error.pos} of {len(raw)}")
    except _NoNumber as error:
        return _broken(call_id, name, raw, f"not readable: {error}")
    except (ValueError, RecursionError) as error:
        return _broken(call_id, name, raw, f"not readable as JSON: {type(error).__name__}")
    if not isinstance(arguments, dict):
        return _broken(call_id, name, raw, "the arguments are no JSON object")
    if repeat is not None and repeat.differs:  # which of the two is meant, nobody knows
        return _broken(call_id, name, raw, f"{path_of(repeat.steps)}: this key stands twice, with different values")
    return ToolCall(id=call_id, name=name, arguments=without_surrogates(arguments), raw_arguments=raw)


def _broken(call_id: str, name: str, raw: str, reason: str) -> ToolCall:
    return ToolCall(id=call_id, name=name, raw_arguments=raw, complete=False, arguments_error=reason)


class _NoNumber(ValueError):
    """A number that no reader of JSON need know: a constant of Python's, or one that is too large."""


def _finite(number: str) -> float:
    value = float(number)
    if math.isinf(value):
        raise _NoNumber("a number is too large")
    return value


def _no_json_constant(name: str) -> NoReturn:
    raise _NoNumber(f"{name} is no JSON")
