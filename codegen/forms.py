"""The small forms that `normalise` is made of. Pure functions over schemas."""

import json
from collections.abc import Callable
from typing import Final

from codegen.document import Json, Schema, is_list, target
from codegen.errors import CannotRunError

# Keywords that say nothing about the bytes on the wire.
PROSE: Final = frozenset(
    {
        "title", "description", "summary", "example", "examples", "deprecated", "readOnly", "writeOnly", "externalDocs",
        "xml", "format", "contentEncoding", "contentMediaType", "$schema", "$id", "$comment", "$anchor",
    }
)  # fmt: skip
LIMITS: Final = frozenset(
    {
        "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern",
        "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties",
    }
)  # fmt: skip
# Some revisions write Python's names.
_SPELLED: Final = {"str": "string", "bool": "boolean", "int": "integer", "float": "number"}
_KINDS: Final = ("string", "integer", "number", "boolean", "$ref", "array", "object", "null")
_RANK: Final = {kind: place for place, kind in enumerate(_KINDS)}


def sort_key(schema: Schema) -> tuple[int, str]:
    """The place of a member in a union: scalars, references by name, lists, objects, null."""
    kind = "$ref" if "$ref" in schema else schema.get("type", "object")
    return _RANK[kind], target(schema) or json.dumps(schema, sort_keys=True)


def any_of(members: list[Schema]) -> Schema:
    """A union in normal form. A single member stands for itself; with `anything` among them it is anything."""
    if {} in members:
        return {}
    unique: list[Schema] = []
    for member in members:
        if member not in unique:
            unique.append(member)
    return unique[0] if len(unique) == 1 else {"anyOf": sorted(unique, key=sort_key)}


def forms(schema: Schema) -> list[Schema]:
    """The alternatives of a schema in normal form: the members of an `anyOf`, else the schema alone."""
    found: list[Schema] = schema.get("anyOf", [schema])
    return found


def nullable(schema: Schema) -> Schema:
    """`schema`, or null. A default stays beside the union."""
    if schema == {}:
        return schema  # anything, null included
    rest = {key: value for key, value in schema.items() if key != "default"}
    result = any_of([*forms(rest), {"type": "null"}])
    return {**result, "default": schema["default"]} if "default" in schema else result


def options(schema: Schema) -> list[Json] | None:
    """The members of an upstream union, null included; None when the schema is none."""
    found = schema.get("oneOf") or schema.get("anyOf")
    return found if is_list(found) else None


def is_union(schema: Schema) -> bool:
    """Whether an upstream schema is a union of at least two things that are not null."""
    return len([option for option in options(schema) or [] if option != {"type": "null"}]) > 1


def split_null(keys: Schema, where: str) -> tuple[list[str | None], bool]:
    """The types of a schema, spelled as JSON Schema spells them, without null; and whether null was there.

    Takes `type` out of `keys`, and null out of its `enum`. Raises CannotRunError for a type that is not understood.
    """
    declared = keys.pop("type", None)
    types = [_SPELLED.get(str(kind), kind) for kind in (declared if is_list(declared) else [declared])]
    for kind in types:
        if kind is not None and kind not in _KINDS:
            raise CannotRunError(
                f"{where}: the type {kind!r} is not understood: fix the document, or report it upstream"
            )
    null = "null" in types
    if "enum" in keys and None in keys["enum"]:
        keys["enum"] = [value for value in keys["enum"] if value is not None]
        null = True
    rest = [kind for kind in types if kind != "null"]
    return rest or ["null"], null and bool(rest)


def scalar_type(value: Json, where: str) -> str:
    """The JSON type of a const or an enum value. Raises CannotRunError for any other type."""
    for kind, python in (("string", str), ("boolean", bool), ("integer", int)):
        if isinstance(value, python):
            return kind
    raise CannotRunError(
        f"{where}: a constant of type {type(value).__name__}: only strings, integers and booleans are understood"
    )


def merge_all_of(keys: Schema, local: Callable[[Json], Schema]) -> Schema:
    """One schema in place of `allOf`: later parts win, required adds up. A single part stands for itself."""
    rest = {key: value for key, value in keys.items() if key != "allOf"}
    if len(keys["allOf"]) == 1 and not ({"properties", "required"} & set(rest)):
        return {**rest, **keys["allOf"][0]}
    merged: Schema = {"type": "object", "properties": {}, "required": []}
    for part in [*keys["allOf"], rest]:
        found = local(part)
        while "allOf" in found:
            found = local(merge_all_of(found, local))
        merged["properties"] = {**merged["properties"], **found.get("properties", {})}
        declared = found.get("required")
        merged["required"] += declared if is_list(declared) else []
        for key, value in found.items():
            if key not in ("properties", "required", "type", *PROSE):
                merged[key] = value
    return merged
