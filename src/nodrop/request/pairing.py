"""Which result belongs to which call.

A result goes to the last answer before it that has a call of its id without a result; within that answer, to the first
such call. So an id that a provider used again in a later turn, or twice in one, finds its own result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from nodrop.content import AssistantMessage, Message, ToolCall, ToolResultMessage
from nodrop.errors import ConfigurationError
from nodrop.request.tool_ids import shown_id


@dataclass(slots=True, eq=False)
class Slot:
    """A call of the history and its result, if it has one. ``turn`` is the place of its message, ``failed`` whether
    that ended in error or was aborted."""

    call: ToolCall
    turn: int
    failed: bool
    result: ToolResultMessage | None = None

    @property
    def sent(self) -> bool:
        return not self.failed and (self.call.complete or self.result is not None)


@dataclass(slots=True)
class Pairs:
    """The calls of a history, each with its result, by the place of their message."""

    turns: dict[int, list[Slot]] = field(default_factory=dict[int, list[Slot]])

    def at(self, place: int) -> list[Slot]:
        return self.turns.get(place, [])

    @property
    def sent(self) -> list[Slot]:
        return [slot for slots in self.turns.values() for slot in slots if slot.sent]

    @property
    def incomplete(self) -> int:
        """How many calls of answers that did not fail are not sent."""
        return sum(not slot.failed and not slot.sent for slots in self.turns.values() for slot in slots)


def failed(message: AssistantMessage) -> bool:
    """Whether an answer ended in error, was aborted, or has not ended: a snapshot taken while it streams."""
    return message.stop_reason in ("error", "aborted", "pending")


def paired(messages: Sequence[Message]) -> Pairs:
    """Raises :class:`nodrop.ConfigurationError` naming the id of a result that no call before it waits for."""
    pairs = Pairs()
    by_id: dict[str, list[Slot]] = {}
    for place, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            slots = [Slot(call, place, failed(message)) for call in message.tool_calls]
            if slots:
                pairs.turns[place] = slots
            for slot in slots:
                by_id.setdefault(slot.call.id, []).append(slot)
        elif isinstance(message, ToolResultMessage):
            _slot_of(message, by_id.get(message.tool_call_id, [])).result = message
    return pairs


def _slot_of(result: ToolResultMessage, slots: list[Slot]) -> Slot:
    waiting = [slot for slot in slots if slot.result is None]
    if not waiting:
        why = "its call has a result already" if slots else "no answer before it has such a call"
        raise ConfigurationError(f"the tool result with the id {shown_id(result.tool_call_id)} cannot be sent: {why}")
    return next(slot for slot in waiting if slot.turn == waiting[-1].turn)
