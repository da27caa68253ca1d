"""nodrop's events in the form that pi 1.4.0 reads (pi-messages, section "response framing").

One JSON object on one ``data:`` line. Usage, with a cost in numbers, is on every terminal event: pi crashes without.
What nodrop keeps beside pi's content model (citations, unmapped fields, raw arguments, ...) is never sent.
"""

from __future__ import annotations

import json
from typing import Any, Final, assert_never

from nodrop.content import AssistantMessage, Cost, ToolCall, Usage
from nodrop.events import (
    Done,
    Event,
    Failed,
    Start,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    event_to_json,
)
from nodrop.pi.wording import error_text

HEARTBEAT: Final = b": heartbeat\n\n"

_OURS_ON_A_CALL: Final = {"raw_arguments", "complete"}


def pi_event(event: Event, *, effort: str | None) -> dict[str, Any]:
    """The JSON object of an event. ``effort`` is the ``reasoning_effort`` that was sent: ``providerThinkingLevel``."""
    match event:
        case (
            Start()
            | TextStart()
            | TextDelta()
            | TextEnd()
            | ThinkingStart()
            | ThinkingDelta()
            | ThinkingEnd()
            | ToolCallDelta()
        ):
            return event_to_json(event)
        case ToolCallStart():
            # pi wants an id at once; that of toolcall_end, which always has the real one, replaces it.
            call_id = f"unnamed{event.content_index}" if event.id is None else event.id
            return {**event_to_json(event), "id": call_id}
        case ToolCallEnd():
            return {"type": event.type, "contentIndex": event.content_index, "toolCall": _call(event.tool_call)}
        case Done():
            return {"type": event.type, "reason": event.reason, **_ending(event.message, effort)}
        case Failed():
            return {
                "type": event.type,
                "reason": event.reason,
                "errorMessage": error_text(event.exception),
                **_ending(event.message, effort),
            }
        case _:
            assert_never(event)


def error_event(text: str, message: AssistantMessage, *, effort: str | None) -> dict[str, Any]:
    """The terminal event of an answer that the gateway itself had to end."""
    return {"type": "error", "reason": "error", "errorMessage": text, **_ending(message, effort)}


def frame(event: dict[str, Any]) -> bytes:
    """The server-sent event of a JSON object."""
    return b"data: " + json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"


def _ending(message: AssistantMessage, effort: str | None) -> dict[str, Any]:
    ending: dict[str, Any] = {"usage": pi_usage(message.usage)}
    if message.response_id:
        ending["responseId"] = message.response_id
    if effort is not None:
        ending["providerThinkingLevel"] = effort
    return ending


def pi_usage(usage: Usage) -> dict[str, Any]:
    """pi's usage: tokens, and a cost in US dollars that is zero where no rate is known or nothing was reported."""
    cost = usage.cost if usage.cost is not None else Cost()
    reasoning = {} if usage.reasoning is None else {"reasoning": usage.reasoning}
    return {
        "input": usage.input,
        "output": usage.output,
        "cacheRead": usage.cache_read,
        "cacheWrite": usage.cache_write,
        **reasoning,
        "totalTokens": usage.total_tokens,
        "cost": cost.model_dump(mode="json", by_alias=True),
    }


def _call(call: ToolCall) -> dict[str, Any]:
    return call.model_dump(mode="json", by_alias=True, exclude=_OURS_ON_A_CALL)
