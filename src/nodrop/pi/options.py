"""pi's options → the options of a Mistral request.

pi sends no max_tokens and a thinking level instead of an effort; both are decided here, by the rate card.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, Final

from nodrop.client.base import ChatOptions
from nodrop.content import AssistantMessage, ImageContent, Message, SystemMessage, TextContent, Tool, ToolCall
from nodrop.errors import ConfigurationError
from nodrop.pi.request import NamedToolChoice, PiOptions
from nodrop.rate_card import Model

# pi 1.4.0's estimate of a prompt, so that both sides expect the same room for the answer.
_CHARACTERS_A_TOKEN: Final = 3.5
_CHARACTERS_AN_IMAGE: Final = 4800
_SAFETY_TOKENS: Final = 4096


def chat_options(options: PiOptions, model: Model, messages: Sequence[Message]) -> ChatOptions:
    """Raises :class:`nodrop.ConfigurationError` for a thinking level that the model does not have."""
    chosen: dict[str, Any] = {
        "temperature": options.temperature,
        "max_tokens": max_tokens(options.max_tokens, model, messages),
        "reasoning_effort": effort(options, model),
        "prompt_cache_key": cache_key(options),
        "tool_choice": _tool_choice(options.tool_choice),
    }
    found: Any = {name: value for name, value in chosen.items() if value is not None}
    return found  # type: ignore[no-any-return]


def effort(options: PiOptions, model: Model) -> str | None:
    """The ``reasoning_effort`` of pi's thinking level; no level means ``off``, which some models cannot be told."""
    levels = model.reasoning_levels
    if options.reasoning is None:
        return levels.get("off")
    if options.reasoning not in levels:
        known = ", ".join(levels) or "none"
        raise ConfigurationError(
            f"{model.id} has no thinking level {options.reasoning!r} (it has: {known}); "
            "take the models of pi's models.json from GET /models.json"
        )
    return levels[options.reasoning]


def cache_key(options: PiOptions) -> str | None:
    """The key under which requests of one session find each other's prompt; none where pi wants no cache."""
    return None if options.cache_retention == "none" else options.session_id


def max_tokens(requested: int | None, model: Model, messages: Sequence[Message]) -> int | None:
    """The most tokens to generate: what was asked for or the model's most, but no more than the context has room for.

    At least 1. ``None`` when neither the request nor the rate card gives a bound.
    """
    wanted = requested if requested is not None else model.max_output_tokens
    if model.context_window is None:
        return wanted
    room = max(model.context_window - estimated_tokens(messages) - _SAFETY_TOKENS, 1)
    return room if wanted is None else min(wanted, room)


def estimated_tokens(messages: Sequence[Message]) -> int:
    """The tokens of a history, roughly, from its characters; thinking is not sent and does not count."""
    return math.ceil(sum(_characters(message) for message in messages) / _CHARACTERS_A_TOKEN)


def _characters(message: Message) -> int:
    if isinstance(message, SystemMessage):
        sections = sum(len(text) for text in (message.sections or {}).values() if text is not None)
        return _content(message.content) + sections + sum(_tool(tool) for tool in message.tools_added or [])
    if isinstance(message, AssistantMessage) and message.stop_reason in ("error", "aborted"):
        return 0
    return _content(message.content)


def _content(content: str | Sequence[object]) -> int:
    if isinstance(content, str):
        return len(content)
    total = 0
    for block in content:
        if isinstance(block, TextContent):
            total += len(block.text)
        elif isinstance(block, ToolCall):
            total += len(block.name) + len(json.dumps(block.arguments, ensure_ascii=False))
        elif isinstance(block, ImageContent):
            total += _CHARACTERS_AN_IMAGE
    return total


def _tool(tool: Tool) -> int:
    return len(tool.name) + len(tool.description) + len(json.dumps(tool.parameters, ensure_ascii=False))


def _tool_choice(choice: str | NamedToolChoice | None) -> str | dict[str, Any] | None:
    return choice.model_dump(mode="json") if isinstance(choice, NamedToolChoice) else choice
