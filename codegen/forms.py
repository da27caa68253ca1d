"""The small forms that `normalise` is made of. Pure functions over schemas."""

import json
from collections.abc import Callable
from typing import Any, Final, cast

from codegen.document import Json, Schema, target
from codegen.errors import CannotRun

# Keywords that say nothing about the bytes on the wire.
PROSE: Final = frozenset(
    "title description summary example examples deprecated readOnly writeOnly externalDocs xml format contentEncoding "
    "contentMediaType $schema $id $comment $anchor".split()
)
LIMITS: Final = frozenset(
    "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern minItems maxItems uniqueItems "
    "minProperties maxProperties".split()
)
_TYPES: Final = {"str": "string", "bool": "boolean", "int": "integer", "float": "number", "dict": "object", "list": "array"}
_KNOWN: Final = ("string", "integer", "number", "boolean", "object", "array", "null")
_RANK: Final = {kind: place for place, kind in enumerate(("string", "integer", "number", "boolean", "$ref", "array", "object", "null"))}


def sort_key(schema: Schema) -> tuple[int, str]:
    """The place of a member in a union: scalars, references by name, lists, objects, null."""
    kind = "$ref" if "$ref" in schema else schema.get("type", "object")
    return _RANK[kind], target(schema) or json.dumps(schema, sort_keys=True)


def any_of(members: list[Schema]) -> Schema:
    """A union in normal form; a single member stands for itself."""
    unique: list[Schema] = []
    for member in members:
        if member not in unique:
            unique.append(member)
    return unique[0] if len(unique) == 1 else {"anyOf": sorted(unique, key=sort_key)}


def nullable(schema: Schema) -> Schema:
    """`schema`, or null. A default stays beside the union."""
    if schema == {}:
        return schema  # anything, null included
    rest = {key: value for key, value in schema.items() if key != "default"}
    members = cast("list[Schema]", rest["anyOf"]) if set(rest) == {"anyOf"} else [rest]
    result = any_of([*members, {"type": "null"}])
    return {**result, "default": schema["default"]} if "default" in schema else result


def is_union(schema: Schema) -> bool:
    """Whether a schema is a union of at least two things that are not null."""
    options = cast("list[Json]", schema.get("oneOf") or schema.get("anyOf") or [])
    return len([option for option in options if option != {"type": "null"}]) > 1


def split_null(keys: Schema, source: str, place: str) -> tuple[list[str | None], bool]:
    """The types of a schema, spelled as JSON Schema spells them, without null; and whether null was there.

    Takes null out of `enum` as well.
    """
    declared = keys.pop("type", None)
    given: list[Any] = cast("list[Any]", declared) if isinstance(declared, list) else [declared]
    types = [_TYPES.get(kind, kind) for kind in given]
    for kind in types:
        if kind is not None and kind not in _KNOWN:
            raise CannotRun(f"{source}: {place}: the type {kind!r} is not understood: fix the document, or report it upstream")
    null = "null" in types
    if "enum" in keys and None in keys["enum"]:
        keys["enum"] = [value for value in keys["enum"] if value is not None]
        null = True
    rest = [kind for kind in types if kind != "null"]
    return rest or ["null"], null and bool(rest)


def scalar_type(value: Json, source: str, place: str) -> str:
    """The JSON type of a const or an enum value."""
    for kind, python in (("string", str), ("boolean", bool), ("integer", int)):
        if isinstance(value, python):
            return kind
    raise CannotRun(f"{source}: {place}: a const or enum of {type(value).__name__}: only strings, integers and booleans are understood")


def merge_all_of(keys: Schema, local: Callable[[Json], Schema]) -> Schema:
    """One schema in place of `allOf`: later parts win, required adds up. A single part stands for itself."""
    parts = cast("list[Json]", keys["allOf"])
    rest = {key: value for key, value in keys.items() if key != "allOf"}
    if len(parts) == 1 and not ({"properties", "required"} & set(rest)):
        return {**rest, **cast("Schema", parts[0])}
    merged: Schema = {"type": "object", "properties": {}, "required": []}
    for part in [*parts, rest]:
        found = local(part)
        if "allOf" in found:
            found = merge_all_of(found, local)
            found = local(found)
        merged["properties"] = {**merged["properties"], **found.get("properties", {})}
        declared = found.get("required")
        merged["required"] = [*merged["required"], *(cast("list[str]", declared) if isinstance(declared, list) else [])]
        for key, value in found.items():
            if key not in ("properties", "required", "type", *PROSE):
                merged[key] = value
    return merged
