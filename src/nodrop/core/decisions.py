"""What becomes of everything that Mistral can send: one decision per wire type, and the reason.

    what arrives                           decided in        carried out in
    a content chunk, by its ``type``       CONTENT           assembler.py, ``match chunk.type``
    a part of a thinking chunk             THINKING_PART     assembler.py, ``match part.type``
    a finish reason                        FINISH_REASON     assembler.py, at the end of the stream
    a role, a tool call's type             ROLE, CALL_TYPE   open strings: looked up when they arrive
    a field of any of these                fields.py         the ledger

The rule of the house: **map or reject, never drop.** ``mapped`` puts content into the message. ``rejected`` ends the
stream with an error that names the type, its path and the reason below, and keeps what came before it. ``ignored`` is
for things that carry nothing, such as padding. What no table names is rejected as unknown, by name.

``make check`` compares these tables with the vendored document, and the type checkers compare the ``match`` statements
with the generated unions: a new wire type fails the build until it has a line here and an arm there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

from nodrop.wire import ContentType, FinishReasonValue, ThinkingPartType


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of one wire thing. ``reason`` is shown to users: in errors, in ``nodrop coverage``, in the docs."""

    action: Literal["mapped", "rejected", "ignored"]
    reason: str


@dataclass(frozen=True, slots=True)
class Finish(Decision):
    """A finish reason, and the stop reason of the message that it becomes; ``None``: the answer is not finished."""

    stop_reason: Literal["stop", "length", "toolUse", "error"] | None


def mapped(reason: str) -> Decision:
    return Decision("mapped", reason)


def rejected(reason: str) -> Decision:
    return Decision("rejected", reason)


CONTENT: Final[Mapping[ContentType, Decision]] = {
    "text": mapped("joins the current text block, or opens one"),
    "thinking": mapped("its parts join the current thinking block, or open one; its signature is kept on the block"),
    "reference": mapped("becomes a citation marker such as [0, 1] in the current text block, and a citation"),
    "image_url": rejected("an assistant's image has no place in pi's content model"),
    "document_url": rejected("a document has no place in pi's content model"),
    "file": rejected("a file has no place in pi's content model"),
    "input_audio": rejected("blocked by pi 1.4.0, which has no audio content"),
    "resource": rejected("known from the specification only, and has no place in pi's content model"),
    "resource_link": rejected("known from the specification only, and has no place in pi's content model"),
}

THINKING_PART: Final[Mapping[ThinkingPartType, Decision]] = {
    "text": mapped("joins the thinking block"),
    "reference": mapped("becomes a citation marker in the thinking block, and a citation"),
    "tool_reference": rejected("a tool's reference has no place in a thinking block"),
}

FINISH_REASON: Final[Mapping[FinishReasonValue, Finish]] = {
    "stop": Finish("mapped", "the answer is whole", "stop"),
    "length": Finish("mapped", "the answer reached the token limit of the request", "length"),
    "model_length": Finish("mapped", "the answer reached the model's context length", "length"),
    "tool_calls": Finish("mapped", "the model waits for the results of its tool calls", "toolUse"),
    "error": Finish("mapped", "the server failed while it generated", "error"),
    "": Finish("ignored", "not finished, as null is", None),
}

# Open strings in the document (the build gate checks that they still are): decided by value when they arrive.
ROLE: Final[Mapping[str, Decision]] = {
    "assistant": mapped("the answer"),
    "": Decision("ignored", "no role, as null is"),
    "tool": rejected("a tool that the server ran has no place in a chat; a document query keeps it"),
}
CALL_TYPE: Final[Mapping[str, Decision]] = {
    "function": mapped("a tool call"),
    "": Decision("ignored", "no type, as null is: a function"),
    "null": Decision("ignored", "no type, in a word: a function"),
}

SECOND_CANDIDATE: Final = rejected("one message is the whole surface; ask for n=1, or read client.wire.stream")
MALFORMED_REFERENCE: Final = rejected("reference_ids is no list of integers and strings")

_Key = TypeVar("_Key", bound=str)
_Made = TypeVar("_Made", bound=Decision)


def decision_for(table: Mapping[_Key, _Made], name: object) -> _Made | None:
    """The decision for a name that came from the wire, or ``None`` when no table names it: then it is unknown."""
    return next((decision for key, decision in table.items() if key == name), None)
