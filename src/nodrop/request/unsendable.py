"""The refusal of a block that cannot be sent, by its type and role."""

from __future__ import annotations

from typing import Final

from nodrop.content import OtherBlock
from nodrop.core.rejections import path_key, shown
from nodrop.errors import UnsupportedContentError

_MAY_HOLD: Final = {
    "system": "text",
    "user": "text and images",
    "assistant": "text, thinking and tool calls",
    "toolResult": "text and images",
}


def unsendable(block: OtherBlock, role: str) -> UnsupportedContentError:
    """The error for ``block``: its type as it came if that looks like a name, never its content."""
    name = path_key(block.type)
    return UnsupportedContentError(
        f"a {role} message cannot be sent with a block of type {shown(block.type)}: it may hold {_MAY_HOLD[role]}. "
        "Nothing was sent",
        block_type=name,
        role=role,
    )
