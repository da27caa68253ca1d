"""One spelling for every schema: the oddities of real upstream documents, each at its place.

Rules of the state: `named` holds finished schemas by name, `_upstream` the upstream schema behind a name that was
referred to, `_todo` the names that wait. `_schema` turns one upstream schema into its normal form; what needs a name is
put into `named` on the way (`_hoist`), and a reference is returned. Two things never share a name.
"""

import re
from typing import Final

from codegen.document import SCHEMAS, Json, Schema, is_list, is_object, reference, resolve, target
from codegen.errors import CannotRunError
from codegen.forms import (
    LIMITS,
    PROSE,
    any_of,
    forms,
    is_union,
    merge_all_of,
    nullable,
    options,
    scalar_type,
    sort_key,
    split_null,
)  # fmt: skip

# Upstream leaves some unions and enums without a name, and renames one. A name is given by the place, so that it stays
# when upstream changes what stands there; any other place is called by its owner and property.
NAMES: Final = {
    "ChatCompletionRequest.messages[]": "ChatMessage",
    "ChatCompletionRequest.tools[]": "ChatTool",
    "ChatCompletionRequest.reasoning_effort": "ReasoningEffort",
    "CustomConnector.authorization": "ConnectorAuthorization",
    "ThinkChunk.thinking[]": "ThinkingPart",
    "ResourceChunk.content": "ResourceContent",
    "ImageURL.detail": "ImageDetail",
    "ChatCompletionChoice.finish_reason": "FinishReason",
    "CompletionResponseStreamChoice.finish_reason": "StreamFinishReason",
}
RENAMED: Final = {"SystemMessageContentChunks": "SystemMessageContentChunk"}
TAGS: Final = ("type", "role")  # the properties that unions of this API are told apart by
_KNOWN: Final = LIMITS | {"const", "enum", "properties", "required", "items", "prefixItems", "additionalProperties"}
_ADVICE: Final = "fix the document, or report it upstream"


class Normaliser:
    """Collects the normal form of everything reached from the roots it is given."""

    def __init__(self, document: Schema, name: str) -> None:
        self._document = document
        self._source = name
        self.named: dict[str, Schema] = {}
        self._todo: list[str] = []
        self._upstream: dict[str, Json] = {}
        self._inline: list[str] = []  # names that stand in place, from the outside in

    def root(self, schema: Json, name: str) -> list[Schema]:
        """The alternatives of a body, as references to named schemas."""
        self._collect_definitions(schema)
        schema = self.local(schema, follow=False)
        members = [schema] if target(schema) or not is_object(schema) else options(schema) or [schema]
        found: list[Schema] = []
        for number, member in enumerate(members, 1):
            place = name if len(members) == 1 else f"{name}{number}"
            normal = self._schema(member, place, place)
            found.append(normal if target(normal) else self._hoist(normal, place))
        return sorted(found, key=sort_key)

    def finish(self) -> dict[str, Schema]:
        """All named schemas, once every root has been given."""
        while self._todo:
            name = self._todo.pop()
            if name not in self.named:
                self.named[name] = {}  # taken: a schema that contains itself refers to it
                self.named[name] = self._schema(self._upstream[name], name, name, top=True)
        for name in sorted(self.named):
            self._settle_tags(name)
        return self.named

    def local(self, schema: Json, follow: bool = True) -> Json:
        """`schema`, or what its local `$ref` points at. `follow=False` leaves references to named schemas alone."""
        seen: set[str] = set()
        while is_object(schema) and isinstance(ref := schema.get("$ref"), str):
            if not follow and target(schema):
                break
            if ref in seen:
                raise CannotRunError(f"{self._source}: the $ref {ref!r} refers to itself: {_ADVICE}")
            seen.add(ref)
            schema = self._resolve(ref)
        return schema

    def _resolve(self, ref: str) -> Json:
        name = ref.rsplit("/", 1)[-1]
        if ref.startswith("#/$defs/"):  # a definition that lost its home: in the body's schema, or a named one
            if name in self._upstream:
                return self._upstream[name]
            ref = f"#{SCHEMAS}{name}"
        try:
            return resolve(self._document, ref.removeprefix("#")) if ref.startswith("#/") else resolve({}, "/" + ref)
        except KeyError:
            raise CannotRunError(f"{self._source}: the $ref {ref!r} leads nowhere: {_ADVICE}") from None

    def _collect_definitions(self, schema: Json) -> None:
        definitions = schema.get("$defs") if is_object(schema) else None
        for name, definition in definitions.items() if is_object(definitions) else ():
            self._upstream.setdefault(name, definition)

    def _refer(self, name: str) -> Schema:
        """A reference to an upstream schema, which is queued. Some are not worth a name, and stand in place."""
        ours = RENAMED.get(name, name)
        if ours not in self._upstream:
            if ours in self.named:
                raise CannotRunError(
                    f"{self._source}: upstream has a schema {ours!r}, and another thing that we call the same: "
                    "change the name in codegen/normalise.py NAMES"
                )
            self._upstream[ours] = self._resolve(f"#{SCHEMAS}{name}")
        schema = self._upstream[ours]
        self._collect_definitions(schema)
        if self._worth_a_name(schema):
            self._todo.append(ours)
            return reference(ours)
        if ours in self._inline:
            raise CannotRunError(
                f"{self._source}: the schema {name!r} refers to itself, with no object in between: {_ADVICE}"
            )
        self._inline.append(ours)
        normal = self._schema(schema, ours, ours)
        self._inline.pop()
        return normal

    def _worth_a_name(self, schema: Json) -> bool:
        """Objects, unions and enums keep their name; a string under a name is a string."""
        return is_object(schema) and (bool({"allOf", "properties", "enum"} & set(schema)) or is_union(schema))

    def _hoist(self, schema: Schema, place: str) -> Schema:
        """Give an inline schema the name of its place."""
        words = re.split(r"[^A-Za-z0-9]+", place)
        name = NAMES.get(place) or "".join(word[:1].upper() + word[1:] for word in words)
        if name in self._upstream or self.named.get(name, schema) != schema:
            raise CannotRunError(
                f"{self._source}: two different things would be called {name!r}: name the place {place!r} in "
                "codegen/normalise.py NAMES"
            )
        self.named[name] = schema
        return reference(name)

    def _schema(self, schema: Json, place: str, owner: str, top: bool = False) -> Schema:
        """The normal form of one schema, which stands at `place` inside the named schema `owner`."""
        if schema is True:
            return {}
        if not is_object(schema):
            raise CannotRunError(f"{self._source}: {place}: {schema!r} is no schema: {_ADVICE}")
        keys = {key: value for key, value in schema.items() if key not in PROSE and not key.startswith("x-")}
        null = keys.pop("nullable", False) is True
        default = keys.pop("default", None)
        keys.pop("$defs", None)
        if "allOf" in keys:
            keys = merge_all_of(keys, self._part)
            null = null or keys.pop("nullable", False) is True
            keys = {key: value for key, value in keys.items() if key not in PROSE}
        if keys.get("type") == "array" and "$ref" in keys:  # an array that forgot to say `items`
            keys["items"] = {"$ref": keys.pop("$ref")}
        if "$ref" in keys:
            found = self.local({"$ref": keys["$ref"]}, follow=False)
            name = target(found)
            normal = self._refer(name) if name else self._schema(found, place, owner)
        elif options(keys):
            normal, more = self._union(keys, place, top)
            null = null or more
        else:
            types, more = split_null(keys, f"{self._source}: {place}")
            null = null or more
            normal = any_of([self._plain(kind, keys, place, owner, top) for kind in types])
        if isinstance(default, str | int | float | bool) and default != "null":  # an object's default needs no keeping
            normal = {**normal, "default": default}
        return nullable(normal) if null else normal

    def _part(self, schema: Json) -> Schema:
        """A part of an allOf, wherever it stands."""
        found = self.local(schema)
        if not is_object(found):
            raise CannotRunError(f"{self._source}: {found!r} in an allOf is no schema: {_ADVICE}")
        return found

    def _union(self, keys: Schema, place: str, top: bool) -> tuple[Schema, bool]:
        """A union, and whether null is a member. One of objects gets a name; one with scalars stands in place."""
        found = [form for option in options(keys) or [] for form in forms(self._schema(option, place, place))]
        null = {"type": "null"} in found
        members: list[Schema] = []
        for member in found:
            if member != {"type": "null"} and member not in members:
                members.append(member)
        members.sort(key=sort_key)
        if len(members) < 2 or not all(self._is_object(member) for member in members):
            return any_of(members or [{"type": "null"}]), null
        union = self._told_apart(keys["discriminator"], members) if is_object(keys.get("discriminator")) else None
        union = union or {"anyOf": members}
        return (union, null) if top and not null else (self._hoist(union, place), null)

    def _told_apart(self, declared: Schema, members: list[Schema]) -> Schema:
        """A union with its discriminator. What only the mapping names can arrive too."""
        mapping: dict[str, str] = {}
        given: Schema = declared.get("mapping") or {}
        for tag, ref in given.items():
            member = self._refer(str(ref).rsplit("/", 1)[-1])
            mapping[str(tag)] = member["$ref"]
            if member not in members:
                members.append(member)
        members.sort(key=sort_key)
        return {"oneOf": members, "discriminator": {"propertyName": declared["propertyName"], "mapping": mapping}}

    def _is_object(self, member: Schema) -> bool:
        """Whether a member of a union is a reference to an object."""
        name = target(member)
        schema = None if name is None else self.named.get(name) or self._upstream.get(name)
        return is_object(schema) and ("properties" in schema or "allOf" in schema)

    def _plain(self, kind: str | None, keys: Schema, place: str, owner: str, top: bool) -> Schema:
        """A schema of one type."""
        where = f"{self._source}: {place}"
        if unknown := sorted(set(keys) - _KNOWN):
            raise CannotRunError(
                f"{where}: the keyword {unknown[0]!r} is not understood: teach codegen/normalise.py its meaning"
            )
        if "const" in keys:
            return {"type": scalar_type(keys["const"], where), "const": keys["const"]}
        if "enum" in keys:
            return self._enum(keys["enum"], place, top)
        kind = kind or ("object" if "properties" in keys else "array" if "items" in keys else None)
        limits = {key: value for key, value in keys.items() if key in LIMITS}
        if kind is None:
            return {}
        if kind == "array":
            items = keys.get("items", {})
            if (
                is_list(items) or "prefixItems" in keys
            ):  # a tuple: which place holds which of its types is of no interest
                items = {"anyOf": [*keys.get("prefixItems", []), *(items if is_list(items) else [])]}
            return {"type": "array", "items": self._schema(items, f"{place}[]", owner), **limits}
        if kind == "object":
            return self._object(keys, place, owner, top)
        return {"type": kind, **limits}

    def _enum(self, declared: list[Json], place: str, top: bool) -> Schema:
        where = f"{self._source}: {place}"
        values = sorted(set(declared), key=str)
        kinds = {scalar_type(value, where) for value in values}
        if len(kinds) != 1:
            raise CannotRunError(f"{where}: an enum of {' and '.join(sorted(kinds)) or 'nothing'}: {_ADVICE}")
        if len(values) == 1 and place.rpartition(".")[2] in TAGS:
            return {"type": kinds.pop(), "const": values[0]}
        normal: Schema = {"type": kinds.pop(), "enum": values}
        return normal if top else self._hoist(normal, place)

    def _object(self, keys: Schema, place: str, owner: str, top: bool) -> Schema:
        properties = keys.get("properties")
        extra = keys.get("additionalProperties")
        typed = self._schema(extra, f"{place}.*", owner) if is_object(extra) and extra else None
        if not is_object(properties) or not properties:
            return {"type": "object", "additionalProperties": typed or True}
        if not top:
            return self._hoist(self._object(keys, place, place, top=True), place)
        declared = keys.get("required")
        required = set(declared) if is_list(declared) else set[str]()
        result: dict[str, Schema] = {}
        for name, schema in properties.items():
            if is_object(schema) and isinstance(schema.get("required"), bool):  # `required: true` on a property
                required = required | {name} if schema["required"] else required - {name}
            if is_object(schema) and "default" in schema:  # required all the same, in some revisions: it may be absent
                required = required - {name}
            result[name] = self._schema(self._property(name, schema), f"{owner}.{name}", owner)
        normal: Schema = {"type": "object", "properties": result}
        if there := sorted(required & set(result)):  # `required` may name what no revision ever declared
            normal["required"] = there
        if typed:
            normal["additionalProperties"] = typed
        return normal

    def _property(self, name: str, schema: Json) -> Json:
        """A property without a `required` of its own; a tag behind a `$ref` to one value is that value."""
        alone = is_object(schema) and len(schema.get("allOf", ())) == 1
        found = self.local(schema["allOf"][0] if alone else schema) if name in TAGS else schema
        if name in TAGS and is_object(found) and len(found.get("enum", ())) == 1:
            return {"type": "string", "const": found["enum"][0]}
        if is_object(schema) and isinstance(schema.get("required"), bool):
            return {key: value for key, value in schema.items() if key != "required"}
        return schema

    def _settle_tags(self, name: str) -> None:
        """A tag is required. A mapping is complete and true, else there is no discriminator."""
        schema = self.named[name]
        for value in schema.get("properties", {}).values():
            if "const" in value:
                value.pop("default", None)
        members = [owner for member in options(schema) or [] if (owner := target(member))]
        for owner in members:
            properties = self.named[owner].get("properties", {})
            tags = {key for key in TAGS if "const" in properties.get(key, ())}
            self.named[owner]["required"] = sorted({*self.named[owner].get("required", ()), *tags})
        if "discriminator" not in schema:
            return
        found = schema["discriminator"]
        owners = {target(member) or "": member["$ref"] for member in schema["oneOf"]}
        own = {
            ref: self.named[owner].get("properties", {}).get(found["propertyName"], {}) for owner, ref in owners.items()
        }
        for ref, tag in own.items():
            if "const" in tag:
                found["mapping"].setdefault(tag["const"], ref)
        for tag, ref in found["mapping"].items():
            if own[ref].get("const", tag) != tag:
                raise CannotRunError(
                    f"{self._source}: {name}: the mapping calls {ref.rsplit('/', 1)[-1]} {tag!r}, its own tag is "
                    f"{own[ref]['const']!r}: {_ADVICE}"
                )
        if set(found["mapping"].values()) != set(owners.values()):  # a member that no tag leads to
            schema["anyOf"] = schema.pop("oneOf")
            del schema["discriminator"]
