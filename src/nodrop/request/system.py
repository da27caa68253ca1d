"""System messages → one leading one, and the tools that are in force (pi 1.4.0's rule, pi-facts 1.2 and 3.4).

The first message is the prompt, later ones are changes to it: content is appended, a section replaces the one of its
name and ``None`` takes it away, tools are taken away and then added. Replaying them in order gives the state now. They
may stand anywhere, also between a call and its result, or last.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from nodrop.content import Context, SystemMessage, TextContent, Tool
from nodrop.core.surrogates import without_surrogates
from nodrop.errors import ConfigurationError
from nodrop.request.unsendable import unsendable


class FoldedSystem(NamedTuple):
    """``messages`` is one system message in the wire's form, or none; ``tools`` are in force after the last message."""

    messages: list[dict[str, Any]]
    tools: list[Tool]


def folded_system(context: Context) -> FoldedSystem:
    """Raises :class:`nodrop.UnsupportedContentError` for a block that is no text, and
    :class:`nodrop.ConfigurationError` when two of the context's own tools have one name."""
    tools: dict[str, Tool] = {}
    for tool in context.tools:
        if tool.name in tools:
            raise ConfigurationError(f"two tools of the context are named {tool.name[:64]!r}")
        tools[tool.name] = tool
    contents: list[str] = []
    sections: dict[str, str] = {}
    for message in context.messages:
        if not isinstance(message, SystemMessage):
            continue
        contents.append(_text(message))
        for name, text in (message.sections or {}).items():
            if text is None:
                sections.pop(name, None)
            else:
                sections[name] = text
        for removed in message.tools_removed or []:
            tools.pop(removed.name, None)
        for tool in message.tools_added or []:
            tools[tool.name] = tool
    parts = [part for part in [*contents, *sections.values()] if part]
    messages = [{"role": "system", "content": without_surrogates("\n\n".join(parts))}] if parts else []
    return FoldedSystem(messages, list(tools.values()))


def _text(message: SystemMessage) -> str:
    if isinstance(message.content, str):
        return message.content
    texts: list[str] = []
    for block in message.content:
        if not isinstance(block, TextContent):
            raise unsendable(block, message.role)
        texts.append(block.text)
    return "\n".join(texts)
