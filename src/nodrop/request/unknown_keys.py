"""Keys of a history that the content model does not have: a transcript in another form must not lose its content.

A key of the wire's own message form (``tool_calls`` of OpenAI's and Mistral's messages) is an error that names the
form to give instead. Any other unknown key, one of a newer pi for example, is kept on the message, not sent, and told
of in a diagnostic, by path and never by value.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from nodrop.content import Context, Diagnostic, Message, OtherBlock, Tool
from nodrop.core.rejections import path_key
from nodrop.errors import ConfigurationError

_CALLS: Final = "give the calls as nodrop.ToolCall blocks of the content"
_WIRE_FORM: Final = {
    "tool_calls": _CALLS,
    "function_call": _CALLS,
    "tool_call_id": "give a nodrop.ToolResultMessage, or nodrop.tool_result(call, ...)",
    "reasoning_content": "give it as nodrop.ThinkingContent in the content",
    "prefix": "use the option prefix",
}
_SHOWN: Final = 20


def unknown_keys(context: Context, tools: Sequence[Tool]) -> tuple[Diagnostic, ...]:
    """One diagnostic with the paths of all unknown keys, or none. ``tools`` are all that will be sent.

    Raises :class:`nodrop.ConfigurationError` for a key of the wire's message form that holds something, and for a key
    of the context that is a misspelt one of ours.
    """
    paths = [path_key(key) for key in context.model_extra or {}]
    for key in context.model_extra or {}:
        near = difflib.get_close_matches(key, Context.model_fields, 1)
        if near:
            raise ConfigurationError(f"a context has no {path_key(key)}; did you mean {near[0]}?")
    for place, message in enumerate(context.messages):
        extra = message.model_extra or {}
        refuse_wire_form(f"messages[{place}]", {**extra, "role": message.role})
        paths += [f"messages.{message.role}.{path_key(key)}" for key in extra]
        paths += _of_blocks(message)
    paths += [f"tools.{path_key(key)}" for tool in tools for key in tool.model_extra or {}]
    if not paths:
        return ()
    known = sorted(set(paths))
    return (Diagnostic(type="unknown_keys_not_sent", details={"paths": known[:_SHOWN], "count": len(paths)}),)


def refuse_wire_form(where: str, message: Mapping[str, object]) -> None:
    """Raises :class:`nodrop.ConfigurationError` for a key of the wire's message form that holds something."""
    if message.get("role") == "toolResult":  # of its own keys one has the wire's name
        return
    for key, instead in _WIRE_FORM.items():
        if message.get(key):
            raise ConfigurationError(f"{where}.{key} is the wire's form of a message: {instead}")


def _of_blocks(message: Message) -> Iterator[str]:
    if isinstance(message.content, str):
        return
    for block in message.content:
        if not isinstance(block, OtherBlock):  # that one is refused whole
            for key in block.model_extra or {}:
                yield f"messages.{message.role}.content.{block.type}.{path_key(key)}"
