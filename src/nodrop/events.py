"""The events of a streamed answer, in pi's words.

Order: ``start`` first; then per block ``*_start``, its ``*_delta``s, ``*_end``; one terminal event, ``done`` or
``error``, last. Text and thinking blocks come one at a time, tool calls may interleave; ``content_index`` is the place
of the block in ``message.content`` and runs from 0 without gaps. A block that a failure left open has no ``*_end``;
what it holds is in the message of the terminal event.

An event holds its delta and never a copy of the message so far: that is ``stream.message``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from nodrop.content import AssistantMessage, ToolCall
from nodrop.errors import NodropError


@dataclass(frozen=True, slots=True)
class Start:
    """The server has accepted the request: a 2xx head has arrived."""

    type: ClassVar[Literal["start"]] = "start"


@dataclass(frozen=True, slots=True)
class TextStart:
    content_index: int
    type: ClassVar[Literal["text_start"]] = "text_start"


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of a text block. A citation marker comes as a delta of its own."""

    content_index: int
    delta: str
    type: ClassVar[Literal["text_delta"]] = "text_delta"


@dataclass(frozen=True, slots=True)
class TextEnd:
    content_index: int
    content: str
    type: ClassVar[Literal["text_end"]] = "text_end"


@dataclass(frozen=True, slots=True)
class ThinkingStart:
    content_index: int
    type: ClassVar[Literal["thinking_start"]] = "thinking_start"


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    content_index: int
    delta: str
    type: ClassVar[Literal["thinking_delta"]] = "thinking_delta"


@dataclass(frozen=True, slots=True)
class ThinkingEnd:
    content_index: int
    content: str
    content_signature: str | None = None
    type: ClassVar[Literal["thinking_end"]] = "thinking_end"


@dataclass(frozen=True, slots=True)
class ToolCallStart:
    """A tool call opens. ``id`` is ``None`` while the server has not named it; ``ToolCallEnd`` always has one."""

    content_index: int
    tool_name: str
    id: str | None = None
    type: ClassVar[Literal["toolcall_start"]] = "toolcall_start"


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of the JSON text of the arguments."""

    content_index: int
    delta: str
    type: ClassVar[Literal["toolcall_delta"]] = "toolcall_delta"


@dataclass(frozen=True, slots=True)
class ToolCallEnd:
    """A tool call is finished. Run it only if ``tool_call.complete``."""

    content_index: int
    tool_call: ToolCall
    type: ClassVar[Literal["toolcall_end"]] = "toolcall_end"


@dataclass(frozen=True, slots=True)
class Done:
    """The terminal event of an answer that came to its end. ``reason`` is ``message.stop_reason``."""

    reason: Literal["stop", "length", "toolUse"]
    message: AssistantMessage
    type: ClassVar[Literal["done"]] = "done"


@dataclass(frozen=True, slots=True)
class Failed:
    """The terminal event (``error`` in JSON) of an answer that did not: ``message`` holds what had arrived.

    ``exception`` is the typed error, the one that ``final_message()`` raises. It is not part of the JSON.
    """

    reason: Literal["error", "aborted"]
    message: AssistantMessage
    exception: NodropError = field(repr=False, compare=False)
    type: ClassVar[Literal["error"]] = "error"


Event = (
    Start
    | TextStart
    | TextDelta
    | TextEnd
    | ThinkingStart
    | ThinkingDelta
    | ThinkingEnd
    | ToolCallStart
    | ToolCallDelta
    | ToolCallEnd
    | Done
    | Failed
)


def event_to_json(event: Event) -> dict[str, Any]:
    """The JSON object of an event: pi's camelCase keys, optional ones omitted, no ``partial``."""
    match event:
        case Start():
            return {"type": event.type}
        case TextStart() | ThinkingStart():
            return {"type": event.type, "contentIndex": event.content_index}
        case TextDelta() | ThinkingDelta() | ToolCallDelta():
            return {"type": event.type, "contentIndex": event.content_index, "delta": event.delta}
        case TextEnd():
            return {"type": event.type, "contentIndex": event.content_index, "content": event.content}
        case ThinkingEnd():
            signature = {} if event.content_signature is None else {"contentSignature": event.content_signature}
            return {"type": event.type, "contentIndex": event.content_index, "content": event.content, **signature}
        case ToolCallStart():
            call_id = {} if event.id is None else {"id": event.id}
            return {"type": event.type, "contentIndex": event.content_index, **call_id, "toolName": event.tool_name}
        case ToolCallEnd():
            return {"type": event.type, "contentIndex": event.content_index, "toolCall": _dumped(event.tool_call)}
        case Done():
            return {"type": event.type, "reason": event.reason, "message": _dumped(event.message)}
        case Failed():
            return {"type": event.type, "reason": event.reason, "error": _dumped(event.message)}


def _dumped(model: ToolCall | AssistantMessage) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True)
