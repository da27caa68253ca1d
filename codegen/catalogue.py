"""Every union, tag, enum and field that can arrive, with where it arrives.

One catalogue serves all: `generate` renders it into `wire/catalogue.py`, `check` compares it with the decisions.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

import jinja2

from codegen import spec
from codegen.document import SCHEMAS, Json, Schema, escape, is_list, is_object, resolve, target

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

    def values(self) -> tuple[str, ...]:
        """What tells its members apart, for those who treat unions and enums alike."""
        return tuple(self.tags())


@dataclass(frozen=True, slots=True)
class Enum:
    """A closed list of values. `fields` are the fields (`Owner.property`) that hold it."""

    name: str
    members: tuple[str, ...]
    fields: tuple[str, ...]
    arrives: tuple[str, ...]
    pointer: str

    def values(self) -> tuple[str, ...]:
        """The values, in order."""
        return self.members


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
    roots: tuple[str, ...] = ()  # the objects that are bodies

    def finish_reasons(self) -> list[str]:
        """Every value that a field called `finish_reason` can hold, besides null."""
        holders = [enum for enum in self.enums.values() if any(key.endswith(".finish_reason") for key in enum.fields)]
        return sorted({value for enum in holders for value in enum.members})


def type_expression(schema: Json) -> str:
    """A type in one line: `string | array[ContentChunk] | null`, `"text"` for a const, `map[any]`, `any`."""
    if not is_object(schema) or not schema:
        return "any"
    if (name := target(schema)) is not None:
        return name
    if "const" in schema:
        return json.dumps(schema["const"])
    if "anyOf" in schema:
        return " | ".join(type_expression(member) for member in schema["anyOf"])
    if schema["type"] == "array":
        return f"array[{type_expression(schema['items'])}]"
    if schema["type"] == "object":
        return f"map[{type_expression(schema['additionalProperties'])}]"
    return str(schema["type"])


def build(document: Schema) -> Catalogue:
    """The catalogue of a normalised document."""
    roots = tuple(sorted(set(spec.references(spec.operation(document)["responses"]))))
    catalogue = Catalogue(document["info"]["version"], roots=roots)
    named = spec.schemas(document)
    places = _places(document)
    holders: dict[str, list[str]] = {}
    for name in sorted(places):
        for entry in _fields(name, named[name], places[name]):
            catalogue.fields[entry.key] = entry
            for inner in spec.references(resolve(document, entry.pointer)):
                holders.setdefault(inner, []).append(entry.key)
    for name in sorted(places):
        schema, arrives = named[name], tuple(places[name])
        if "enum" in schema:
            values = tuple(str(value) for value in schema["enum"])
            catalogue.enums[name] = Enum(name, values, tuple(holders.get(name, ())), arrives, SCHEMAS + name)
        elif "oneOf" in schema or "anyOf" in schema:
            catalogue.unions[name] = _union(name, schema, named, arrives)
    return catalogue


def _fields(owner: str, schema: Schema, arrives: list[str]) -> list[Field]:
    """The properties of an object. Typed extra keys are a field like any other, called `*`."""
    required = schema.get("required", ())
    found: dict[str, tuple[Json, str]] = {
        name: (value, f"properties/{escape(name)}") for name, value in sorted(schema.get("properties", {}).items())
    }
    if found and is_object(extra := schema.get("additionalProperties")):
        found["*"] = extra, "additionalProperties"
    return [
        Field(
            owner, name, type_expression(value), name in required,
            tuple(_join(place, name) for place in arrives), f"{SCHEMAS}{owner}/{below}",
        )
        for name, (value, below) in found.items()
    ]  # fmt: skip


def _union(name: str, schema: Schema, named: dict[str, Schema], arrives: tuple[str, ...]) -> Union:
    pointer = SCHEMAS + name
    members: list[Member] = []
    if "discriminator" in schema:
        for tag, ref in schema["discriminator"]["mapping"].items():
            members.append(Member(tag, ref.rsplit("/", 1)[-1], f"{pointer}/discriminator/mapping/{escape(tag)}"))
    else:  # the members' own tags still tell what can arrive; one without a tag goes by its class
        for number, member in enumerate(schema["anyOf"]):
            owner = target(member) or type_expression(member)
            properties: Schema = named[owner].get("properties", {}) if owner in named else {}
            tags = [str(properties[key]["const"]) for key in sorted(properties) if "const" in properties[key]]
            members.append(Member(tags[0] if tags else owner, owner, f"{pointer}/anyOf/{number}"))
    members.sort(key=lambda member: member.tag)
    tag = schema["discriminator"]["propertyName"] if "discriminator" in schema else None
    return Union(name, tag, tuple(members), arrives, pointer)


def _join(place: str, name: str) -> str:
    return f"{place}.{name}" if place and not place.endswith(": ") else place + name


def _places(document: Schema) -> dict[str, list[str]]:
    """Where each schema arrives, in the words of a reader of the wire: `choices[].delta.content[]`.

    The stream and the whole answer share the root; an error body is `error body: …`. A schema inside itself is not
    followed round twice.
    """
    named = spec.schemas(document)
    found: dict[str, list[str]] = {}

    def walk(schema: Json, place: str, above: tuple[str, ...]) -> None:
        if is_list(schema):
            for item in schema:
                walk(item, place, above)
        if not is_object(schema):
            return
        name = target(schema)
        if name is not None:
            if place not in found.setdefault(name, []):
                found[name].append(place)
            if name not in above:
                walk(named[name], place, (*above, name))
            return
        for prop, value in schema.get("properties", {}).items():
            walk(value, _join(place, prop), above)
        walk(schema.get("items"), f"{place}[]", above)
        walk(schema.get("anyOf"), place, above)
        walk(schema.get("oneOf"), place, above)
        walk(schema.get("additionalProperties"), _join(place, "*"), above)

    for status, response in spec.operation(document)["responses"].items():
        for media, body in sorted(response["content"].items(), reverse=True):  # the stream first: it is what people see
            event = target(body["schema"]) if media == "text/event-stream" else None
            if event is not None:
                # The event's envelope is SSE's own: what people see is the JSON behind `data:`.
                found.setdefault(event, []).append("event")
                for prop, value in named[event].get("properties", {}).items():
                    walk(value, "" if prop == "data" else f"event.{prop}", (event,))
            else:
                walk(body["schema"], "" if status == STATUS_OK else "error body: ", ())
    return {name: sorted(places, key=lambda place: place.count(".")) for name, places in found.items()}


def render(document: Schema) -> dict[str, str]:
    """The texts of the generated files that are not models."""
    catalogue = build(document)
    environment = jinja2.Environment(  # no autoescape: the output is Python, and every string goes through `python`
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["py"] = python
    values: dict[str, Any] = {
        "catalogue": catalogue,
        "aliases": aliases(catalogue),
        "names": sorted(spec.schemas(document)),
    }
    return {
        "catalogue.py": environment.get_template("catalogue.py.jinja").render(values),
        "names.py": environment.get_template("names.py.jinja").render(values),  # apart: it is all that the core needs
        "__init__.py": environment.get_template("init.py.jinja").render(values),
    }


def aliases(catalogue: Catalogue) -> dict[str, list[str]]:
    """The Literal aliases that hand-written tables are keyed by: one for each union, and the finish reasons."""
    found = {f"{union.name.removesuffix('Chunk')}Type": union.tags() for union in catalogue.unions.values()}
    if catalogue.finish_reasons():
        found["FinishReasonValue"] = catalogue.finish_reasons()
    return dict(sorted(found.items()))


def python(value: object) -> str:
    """A string, bool, None or tuple of strings as Python source, with double quotes."""
    if isinstance(value, str):
        quoted = json.dumps(value, ensure_ascii=False)
        return quoted if "\\" not in quoted else repr(value)
    if isinstance(value, tuple):
        items = [python(item) for item in cast("tuple[object, ...]", value)]
        return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
    return repr(value)
