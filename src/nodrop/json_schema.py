"""JSON Schemas as they are sent: plain where pydantic adds titles, strict where every key is promised.

Every function gives a new schema and leaves the one it was given alone. A property that is named like a keyword
(``title``, ``default``) is a property: the walk knows which keys hold schemas and which hold names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

Schema = dict[str, Any]

_NAMED: Final = frozenset({"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"})
_LISTED: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SINGLE: Final = frozenset(
    {"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedProperties"}
)
_NOT_STRICT: Final = ("$ref", "allOf", "oneOf", "patternProperties", "not", "if", "dependentSchemas", "prefixItems")


def plain(schema: Schema) -> Schema:
    """``schema`` without titles (pydantic makes them from the names) and without what JSON Schema does not have.

    That is ``discriminator``, of OpenAPI; the ``oneOf`` beside it becomes ``anyOf``, which says the same where a tag
    tells the members apart.
    """

    def clean(node: Schema) -> Schema:
        kept = {key: value for key, value in node.items() if key not in ("title", "discriminator")}
        if "discriminator" in node and "oneOf" in kept:
            kept["anyOf"] = kept.pop("oneOf")
        return kept

    return _mapped(schema, clean)


def strict_schema(schema: Schema) -> Schema:
    """``schema`` with every property required, no other allowed, and no defaults, at every level.

    Objects that map free keys to values (``additionalProperties`` is a schema) stay maps. A schema that is only a
    reference to one of its definitions begins with that definition.
    """

    def strict(node: Schema) -> Schema:
        node = {key: value for key, value in node.items() if key != "default"}
        if "properties" in node:
            node["required"] = list(node["properties"])
        if _is_object(node) and not isinstance(node.get("additionalProperties"), dict):
            node["additionalProperties"] = False
        return node

    return _mapped(_with_root(plain(schema)), strict)


def strict_with_nulls(schema: Schema) -> Schema | str:
    """``schema`` of a tool in strict form: what was optional is required and may be null (pi-facts 4.2).

    Gives the keyword instead that has no strict form, if there is one: then the tool cannot be strict.
    """
    found: list[str] = []

    def strict(node: Schema) -> Schema:
        found.extend(key for key in _NOT_STRICT if key in node)
        if isinstance(node.get("additionalProperties"), dict) or node.get("additionalProperties") is True:
            found.append("additionalProperties")
        if not _is_object(node):
            return node
        properties, required = node.get("properties", {}), node.get("required", [])
        node = {**node, "additionalProperties": False, "required": list(properties)}
        if properties:
            node["properties"] = {
                name: value if name in required else _nullable(value) for name, value in properties.items()
            }
        return node

    changed = _mapped(schema, strict)
    return found[0] if found else changed


def inlined(schema: Schema) -> Schema:
    """``schema`` with its definitions (``$defs``) in the places that refer to them.

    A definition that contains itself cannot be written out: it stays one, and so do the references to it.
    """
    definitions: Schema = schema.get("$defs", {})
    uses = {name: _references(definition) for name, definition in definitions.items()}
    recursive = {name for name in definitions if name in _reached(name, uses)}

    def resolve(node: Schema) -> Schema:
        name = _referred(node)
        if name not in definitions or name in recursive:
            return node
        return {**_mapped(definitions[name], resolve), **{key: value for key, value in node.items() if key != "$ref"}}

    out = _mapped({key: value for key, value in schema.items() if key != "$defs"}, resolve)
    kept = {name: _mapped(definitions[name], resolve) for name in definitions if name in recursive}
    return {**out, "$defs": kept} if kept else out


def property_names(schema: Schema) -> set[str]:
    """The names of all properties and definitions in ``schema``."""
    found: set[str] = set()

    def note(node: Schema) -> Schema:
        found.update(node.get("properties", {}), node.get("$defs", {}))
        return node

    _mapped(schema, note)
    return found


def _referred(node: Schema) -> str | None:
    reference: object = node.get("$ref")
    return reference.removeprefix("#/$defs/") if isinstance(reference, str) else None


def _references(schema: Schema) -> set[str]:
    found: set[str] = set()

    def note(node: Schema) -> Schema:
        name = _referred(node)
        if name is not None:
            found.add(name)
        return node

    _mapped(schema, note)
    return found


def _reached(start: str, uses: dict[str, set[str]]) -> set[str]:
    """The definitions that ``start`` leads to, itself among them only if it leads back."""
    reached: set[str] = set()
    ahead = [start]
    while ahead:
        for name in uses.get(ahead.pop(), set()) - reached:
            reached.add(name)
            ahead.append(name)
    return reached


def _mapped(schema: Schema, change: Callable[[Schema], Schema]) -> Schema:
    """``schema`` with ``change`` done to every schema in it, the inner ones first."""

    def at(value: Any) -> Any:
        return _mapped(value, change) if isinstance(value, dict) else value  # pyright: ignore[reportUnknownArgumentType]

    out: Schema = {}
    for key, value in schema.items():
        if key in _NAMED and isinstance(value, dict):
            out[key] = {name: at(inner) for name, inner in value.items()}  # pyright: ignore[reportUnknownVariableType]
        elif key in _LISTED and isinstance(value, list):
            out[key] = [at(inner) for inner in value]  # pyright: ignore[reportUnknownVariableType]
        else:
            out[key] = at(value) if key in _SINGLE else value
    return change(out)


def _is_object(node: Schema) -> bool:
    return node.get("type") == "object" or "properties" in node


def _nullable(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    node: Schema = value  # pyright: ignore[reportUnknownVariableType]
    null = {"type": "null"}
    members: Any = node.get("anyOf", [])
    return node if node == null or null in members else {"anyOf": [node, null]}


def _with_root(schema: Schema) -> Schema:
    name, definitions = _referred(schema), schema.get("$defs", {})
    if name not in definitions:
        return schema
    return {**definitions[name], **{key: value for key, value in schema.items() if key != "$ref"}}
