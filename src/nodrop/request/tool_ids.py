"""Tool-call ids as Mistral takes them: exactly nine of a-z, A-Z, 0-9 (the server's words: error 3280)."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import Final, Protocol, TypeVar

from nodrop.content import ToolCall
from nodrop.core.tool_calls import ID_LENGTH, made_up_id

_FITS: Final = re.compile(rf"[a-zA-Z0-9]{{{ID_LENGTH}}}", re.ASCII)
_SHOWN: Final = re.compile(r"[!-~]{1,64}", re.ASCII)


class CallOfTurn(Hashable, Protocol):
    """A call, and the place of the message that it is in."""

    @property
    def call(self) -> ToolCall: ...
    @property
    def turn(self) -> int: ...


_Call = TypeVar("_Call", bound=CallOfTurn)


def fits(call_id: str) -> bool:
    """Whether Mistral takes this id."""
    return _FITS.fullmatch(call_id) is not None


def wire_ids(calls: Sequence[_Call]) -> dict[_Call, str]:
    """The id of each call of a request, in the order of the history.

    An id that fits stays. Any other becomes nine alphanumerics made from it: the same in every request, and no other
    id of this one. Two calls of one answer with one id are told apart, for their results have to be; an id that comes
    again in a later answer is the same id again.
    """
    taken = {call.call.id for call in calls if fits(call.call.id)}
    made: dict[str, str] = {}
    ids: dict[_Call, str] = {}
    seen: dict[tuple[int, str], int] = {}
    for call in calls:
        call_id = call.call.id
        before = seen.get((call.turn, call_id), 0)
        seen[call.turn, call_id] = before + 1
        seed = f"{call_id}#{before}" if before else call_id
        if fits(seed):
            ids[call] = seed
            continue
        # With the length, so that an id that ends like a seed is another seed.
        seed = f"{len(call_id)}:{seed}"
        if seed not in made:
            made[seed] = made_up_id(seed, taken)
            taken.add(made[seed])
        ids[call] = made[seed]
    return ids


def shown_id(call_id: str) -> str:
    """An id, fit to be shown in an error: whole when it is short and printable, else its beginning and length."""
    if _SHOWN.fullmatch(call_id):
        return repr(call_id)
    beginning = _SHOWN.match(call_id[:24])
    return f"{beginning.group()!r}… ({len(call_id)} characters)" if beginning else f"of {len(call_id)} characters"
