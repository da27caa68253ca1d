"""Tools in the wire's form."""

from __future__ import annotations

from typing import Any

from nodrop.content import Tool
from nodrop.core.surrogates import without_surrogates
from nodrop.json_values import json_copy


def wire_tool(tool: Tool) -> dict[str, Any]:
    """``tool`` as Mistral takes it. Its schema is sent as it is."""
    function: dict[str, Any] = {"name": without_surrogates(tool.name)}
    if tool.description:
        function["description"] = without_surrogates(tool.description)
    function["parameters"] = json_copy(tool.parameters, f"parameters of the tool {tool.name[:64]!r}")
    return {"type": "function", "function": function}
