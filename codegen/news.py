"""What changed on the request side: news, not danger, for nothing there can arrive."""

from collections.abc import Iterator

from codegen import spec
from codegen.catalogue import type_expression
from codegen.document import SCHEMAS, Schema, escape, is_object, target
from codegen.report import Finding
from codegen.sides import Sides


def request_side(before: Schema, after: Schema, sides: Sides) -> list[Finding]:
    """One `info` for everything that is only sent and was added, taken away or changed."""
    old, new = _facts(before), _facts(after)
    arriving = spec.response_side(after)  # what moved there is no news: the ledger and the decisions speak of it
    found: list[Finding] = []
    for thing in sorted({*old, *new}):
        was, now = old.get(thing), new.get(thing)
        if was != now and thing.partition(".")[0] not in arriving:
            what = f"new: {now}" if was is None else f"gone (it was {was})" if now is None else f"was {was}, is {now}"
            owner, _, name = thing.partition(".")
            pointer = SCHEMAS + owner + (f"/properties/{escape(name)}" if name and name[0] not in "'*" else "")
            found.append(Finding("request-news", "info", thing, what, sides.spec(pointer) if now else None))
    return found


def _facts(document: Schema) -> dict[str, str]:
    """Everything that is sent only, by name: fields with type, presence and limits; values; members."""
    arriving = spec.response_side(document)
    return {
        thing: fact
        for name, schema in spec.schemas(document).items()
        if name not in arriving
        for thing, fact in _of(name, schema)
    }


def _of(name: str, schema: Schema) -> Iterator[tuple[str, str]]:
    for prop, value in schema.get("properties", {}).items():
        presence = "required" if prop in schema.get("required", ()) else "optional"
        yield f"{name}.{prop}", f"{type_expression(value)}{_details(value)}, {presence}"
    for value in schema.get("enum", ()):
        yield f"{name}.'{value}'", "a value"
    for member in schema.get("oneOf") or schema.get("anyOf") or ():
        yield f"{name}.*{target(member) or type_expression(member)}", "a member"


def _details(schema: Schema) -> str:
    """Limits and defaults, which a type expression does not show."""
    found: list[str] = []
    for form in (schema, *schema.get("anyOf", ())):
        hidden = ("type", "anyOf", "$ref", "items", "properties", "additionalProperties", "const")
        found += [f"{key} {value}" for key, value in form.items() if key not in hidden and not is_object(value)]
    return f" ({', '.join(found)})" if found else ""
