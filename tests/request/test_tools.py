"""Tools in the wire's form, strictness included."""

from __future__ import annotations

from typing import Any

import pytest

from nodrop.content import Tool
from nodrop.errors import ConfigurationError
from nodrop.request.tools import wire_tool

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "offset": {"type": "integer"},
        "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "edits": {"type": "array", "items": {"type": "object", "properties": {"old": {"type": "string"}}}},
    },
    "required": ["path"],
}
NULL = {"type": "null"}
INNER = {
    "type": "object",
    "properties": {"old": {"anyOf": [{"type": "string"}, NULL]}},
    "required": ["old"],
    "additionalProperties": False,
}
STRICT = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "offset": {"anyOf": [{"type": "integer"}, NULL]},
        "maybe": {"anyOf": [{"type": "string"}, NULL]},
        "edits": {"anyOf": [{"type": "array", "items": INNER}, NULL]},
    },
    "required": ["path", "offset", "maybe", "edits"],
    "additionalProperties": False,
}
REF = {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "string"}}}
MAP = {"type": "object", "additionalProperties": {"type": "string"}}


def sampling(strict: str) -> dict[str, Any]:
    return {"type": "json_schema", "strict": strict}


@pytest.mark.parametrize(
    ("constrained", "schema", "sent", "strict"),
    [
        (None, SCHEMA, SCHEMA, None),
        (False, SCHEMA, SCHEMA, False),
        (sampling("prefer"), SCHEMA, STRICT, True),
        (sampling("require"), SCHEMA, STRICT, True),
        (sampling("prefer"), REF, REF, False),
        (sampling("prefer"), MAP, MAP, False),
        ({"type": "grammar", "variants": {"openai_lark": "start: /a/"}}, SCHEMA, SCHEMA, None),
    ],
)
def test_wire_tool(constrained: Any, schema: dict[str, Any], sent: dict[str, Any], strict: bool | None) -> None:
    tool = Tool(name="read", description="Reads.", parameters=schema, constrained_sampling=constrained)
    function: dict[str, Any] = {"name": "read", "description": "Reads.", "parameters": sent}
    if strict is not None:
        function["strict"] = strict
    assert wire_tool(tool) == {"type": "function", "function": function}


def test_a_tool_without_a_description_sends_none() -> None:
    assert wire_tool(Tool(name="read"))["function"].keys() == {"name", "parameters"}


@pytest.mark.parametrize(
    ("constrained", "schema", "why"),
    [
        (sampling("require"), REF, r"requires strict sampling, but its schema has '\$ref'"),
        (sampling("require"), MAP, "has 'additionalProperties'"),
        (sampling("perhaps"), SCHEMA, "constrained_sampling"),
        ({"type": "other"}, SCHEMA, "constrained_sampling"),
        (None, {"type": "object", "default": object()}, "the parameters of the tool 'read'.default: a Python object"),
    ],
)
def test_a_tool_that_cannot_be_sent_is_named(constrained: Any, schema: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigurationError, match=why) as caught:
        wire_tool(Tool(name="read", parameters=schema, constrained_sampling=constrained))
    assert "'read'" in str(caught.value)
