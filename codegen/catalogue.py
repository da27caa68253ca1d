"""Every union, tag, enum and field that can arrive, with where it arrives.

One catalogue serves all: `generate` renders it into `wire/catalogue.py`, `check` compares it with the decisions.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

import jinja2

from codegen import spec
from codegen.document import SCHEMAS, Json, Schema, escape, target

STATUS_OK: Final = "200"
_TEMPLATES: Final = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True)
class Member:
    """One arm of a union: its tag, the class behind it, and the JSON pointer of the arm."""

    tag: str
    schema: str
    pointer: str


@dataclass(frozen=True, slots=True)
class Union:
    """A union of objects. `tag` is the discriminating property, None when upstream declares none."""

    name: str
    tag: str | None
    members: tuple[Member, ...]
    arrives: tuple[str, ...]
    pointer: str

    def tags(self) -> list[str]:
        """The tags, in order."""
        return [member.tag for member in self.members]


@dataclass(frozen=True, slots=True)
class Enum:
    """A closed list of values. `fields` are the fields (`Owner.property`) that hold it."""

    name: str
    values: tuple[str, ...]
    fields: tuple[str, ...]
    arrives: tuple[str, ...]
    pointer: str


@dataclass(frozen=True, slots=True)
class Field:
    """A property of an object that can arrive."""

    owner: str
    name: str
    type: str
    required: bool
    arrives: tuple[str, ...]
    pointer: str

    @property
    def key(self) -> str:
        """`Owner.property`, the name that the ledger uses."""
        return f"{self.owner}.{self.name}"


@dataclass(slots=True)
class Catalogue:
    """What can arrive, by name."""

    version: str
    unions: dict[str, Union] = field(default_factory=dict[str, Union])
    enums: dict[str, Enum] = field(default_factory=dict[str, Enum])
    fields: dict[str, Field] = field(default_factory=dict[str, Field])
    objects: tuple[str, ...] = ()

    def finish_reasons(self) -> list[str]:
        """Every value that a field called `finish_reason` can hold, besides null."""
        holders = [enum for enum in self.enums.values() if any(key.endswith(".finish_reason") for key in enum.fields)]
        return sorted({value for enum in holders for value in enum.values})


def type_expression(schema: Json) -> str:
    """A type in one line: `string | array[ContentChunk] | null`, `"text"` for a const, `map[any]`, `any`."""
    if not isinstance(schema, dict) or not schema:
        return "any"
    keys = cast("Schema", schema)
    name = target(keys)
    if name is not None:
        return name
    if "const" in keys:
        return f'"{keys["const"]}"' if isinstance(keys["const"], str) else str(keys["const"])
    for union in ("anyOf", "oneOf"):
        if union in keys:
            return " | ".join(type_expression(member) for member in keys[union])
    if "enum" in keys:
        return "enum"
    if keys["type"] == "array":
        return f"array[{type_expression(keys['items'])}]"
    if keys["type"] == "object":
        extra = keys.get("additionalProperties")
        return f"map[{type_expression(extra) if isinstance(extra, dict) else 'any'}]"
    return str(keys["type"])


def build(document: Schema) -> Catalogue:
    """The catalogue of a normalised document."""
    named = spec.schemas(document)
    places = _places(document)
    catalogue = Catalogue(document["info"]["version"])
    holders: dict[str, list[str]] = {}
    objects: list[str] = []
    for name in sorted(places):
        schema, arrives, pointer = named[name], tuple(places[name]), SCHEMAS + name
        if "properties" in schema:
            objects.append(name)
            for prop, value in sorted(schema["properties"].items()):
                below = tuple(f"{place}.{prop}" if place else prop for place in arrives)
                entry = Field(name, prop, type_expression(value), prop in schema.get("required", ()), below, f"{pointer}/properties/{escape(prop)}")
                catalogue.fields[entry.key] = entry
                for inner in spec.references(value):
                    holders.setdefault(inner, []).append(entry.key)
            extra = schema.get("additionalProperties")
            if isinstance(extra, dict):  # typed extra keys are a field like any other
                below = tuple(f"{place}.*" for place in arrives)
                catalogue.fields[f"{name}.*"] = Field(name, "*", type_expression(extra), False, below, f"{pointer}/additionalProperties")
        elif "enum" in schema:
            catalogue.enums[name] = Enum(name, tuple(str(value) for value in schema["enum"]), (), arrives, pointer)
        elif "oneOf" in schema or "anyOf" in schema:
            catalogue.unions[name] = _union(name, schema, named, arrives)
    for name, enum in catalogue.enums.items():
        catalogue.enums[name] = Enum(enum.name, enum.values, tuple(holders.get(name, ())), enum.arrives, enum.pointer)
    catalogue.objects = tuple(objects)
    return catalogue


def _union(name: str, schema: Schema, named: dict[str, Schema], arrives: tuple[str, ...]) -> Union:
    found = schema.get("discriminator")
    pointer = SCHEMAS + name
    if found:
        below = f"{pointer}/discriminator/mapping"
        members = [Member(tag, ref.rsplit("/", 1)[-1], f"{below}/{escape(tag)}") for tag, ref in found["mapping"].items()]
        return Union(name, found["propertyName"], tuple(sorted(members, key=lambda member: member.tag)), arrives, pointer)
    # Without a discriminator the members' own tags still tell what can arrive. One without a tag goes by its class.
    members = []
    for number, member in enumerate(schema.get("anyOf") or schema["oneOf"]):
        owner = target(member)
        properties = named[owner].get("properties", {}) if owner else {}
        tags = [str(value["const"]) for _, value in sorted(properties.items()) if "const" in value]
        members.append(Member(tags[0] if tags else owner or type_expression(member), owner or "", f"{pointer}/{'anyOf' if 'anyOf' in schema else 'oneOf'}/{number}"))
    return Union(name, None, tuple(sorted(members, key=lambda member: member.tag)), arrives, pointer)


def _places(document: Schema) -> dict[str, list[str]]:
    """Where each schema arrives, in the words of a reader of the wire: `choices[].delta.content[]`.

    The stream and the whole answer share the root; an error body is `error body: …`. A schema inside itself is not
    followed round twice.
    """
    named = spec.schemas(document)
    found: dict[str, list[str]] = {}

    def walk(schema: Json, place: str, above: tuple[str, ...]) -> None:
        if isinstance(schema, list):
            for item in cast("list[Json]", schema):
                walk(item, place, above)
            return
        if not isinstance(schema, dict):
            return
        keys = cast("dict[str, Any]", schema)
        name = target(keys)
        if name is not None:
            if place not in found.setdefault(name, []):
                found[name].append(place)
            if name not in above:
                walk(named[name], place, (*above, name))
            return
        for prop, value in keys.get("properties", {}).items():
            walk(value, f"{place}.{prop}" if place and not place.endswith(": ") else f"{place}{prop}", above)
        if "items" in keys:
            walk(keys["items"], f"{place}[]", above)
        for inside in ("anyOf", "oneOf"):
            walk(keys.get(inside), place, above)
        walk(keys.get("additionalProperties"), f"{place}.*", above)

    for status, response in spec.operation(document)["responses"].items():
        for media, body in response["content"].items():
            event = media == "text/event-stream"
            start = target(body["schema"])
            if status == STATUS_OK and event and start:
                # The event's envelope is SSE's own: what people see is the JSON behind `data:`.
                found.setdefault(start, []).append("event")
                for prop, value in named[start].get("properties", {}).items():
                    walk(value, "" if prop == "data" else f"event.{prop}", (start,))
            else:
                walk(body["schema"], "" if status == STATUS_OK else "error body: ", ())
    return found


def render(document: Schema) -> dict[str, str]:
    """The texts of the generated files that are not models: `catalogue.py` and `__init__.py`."""
    catalogue = build(document)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES), undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True, autoescape=False,  # noqa: S701  # the output is Python, and every string goes through repr
    )  # fmt: skip
    environment.filters["py"] = python
    values: dict[str, Any] = {
        "catalogue": catalogue,
        "aliases": aliases(catalogue),
        "names": sorted(spec.schemas(document)),
    }
    return {
        "catalogue.py": environment.get_template("catalogue.py.jinja").render(values),
        "__init__.py": environment.get_template("init.py.jinja").render(values),
    }


def aliases(catalogue: Catalogue) -> dict[str, list[str]]:
    """The Literal aliases that hand-written tables are keyed by: one for each union told apart by a tag, and the finish reasons."""
    found = {f"{union.name.removesuffix('Chunk')}Type": union.tags() for union in catalogue.unions.values()}
    if catalogue.finish_reasons():
        found["FinishReasonValue"] = catalogue.finish_reasons()
    return dict(sorted(found.items()))


def python(value: object) -> str:
    """A string, bool, None or tuple of strings as Python writes it, with double quotes."""
    if isinstance(value, str):
        text = repr(value)
        return text if '"' in value else '"' + text[1:-1].replace("\\'", "'") + '"'
    if isinstance(value, tuple | list):
        items = [python(item) for item in cast("list[object]", value)]
        return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
    return repr(value)
