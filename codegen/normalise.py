"""One spelling for every schema: the oddities of real upstream documents, each at its place (see `spec` for the result).

Rules of the state: `named` holds finished schemas by name; `_todo` names that were referred to and wait; a name is taken
once. `_schema` turns one upstream schema into its normal form; what needs a name is put into `named` on the way, and a
reference is returned.
"""

import re
from typing import Final, cast

from codegen.document import SCHEMAS, Json, Schema, parts, reference, resolve, target
from codegen.errors import CannotRun
from codegen.forms import LIMITS, PROSE, any_of, is_union, merge_all_of, nullable, scalar_type, sort_key, split_null

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


class Normaliser:
    """Collects the normal form of everything reached from the roots it is given."""

    def __init__(self, document: Schema, name: str) -> None:
        self._document = document
        self._source = name
        self.named: dict[str, Schema] = {}
        self._todo: list[str] = []
        self._upstream: dict[str, Json] = {}  # our name → the upstream schema behind it

    def root(self, schema: Json, name: str) -> list[Schema]:
        """The alternatives of a body: references to named schemas. None for an absent schema."""
        if schema is None:
            return []
        self._collect_definitions(schema)
        schema = self.local(schema, follow=False)
        options = [schema] if target(schema) else cast("Schema", schema).get("anyOf") or cast("Schema", schema).get("oneOf") or [schema]
        found: list[Schema] = []
        for number, option in enumerate(cast("list[Json]", options)):
            normal = self._schema(option, name if len(options) == 1 else f"{name}{number + 1}", name)
            if target(normal) is None:
                normal = self._hoist(normal, name)
            if normal not in found:
                found.append(normal)
        return sorted(found, key=sort_key)

    def finish(self) -> dict[str, Schema]:
        """All named schemas, once every root has been given."""
        while self._todo:
            name = self._todo.pop()
            if name not in self.named:
                self.named[name] = {}  # taken: a schema that contains itself refers to it
                normal = self._schema(self._upstream[name], name, name, top=True)
                self.named[name] = normal
        for name in sorted(self.named):
            self._tags(name)
        return self.named

    def local(self, schema: Json, follow: bool = True) -> Json:
        """`schema`, or what its local `$ref` points at. `follow=False` leaves references to named schemas alone."""
        seen: set[str] = set()
        while isinstance(schema, dict) and isinstance(ref := cast("Schema", schema).get("$ref"), str):
            if not follow and target(schema):
                break
            if ref in seen:
                raise CannotRun(f"{self._source}: {ref} refers to itself")
            seen.add(ref)
            if ref.startswith("#/$defs/") and (name := ref.removeprefix("#/$defs/")) in self._upstream:
                schema = self._upstream[name]
            elif ref.startswith("#/$defs/") and name in self._document.get("components", {}).get("schemas", {}):
                schema = reference(name)  # a definition that lost its home stands among the named schemas
            else:
                try:
                    schema = resolve(self._document, ref.removeprefix("#")) if ref.startswith("#/") else None
                except KeyError:
                    schema = None
                if schema is None:
                    raise CannotRun(f"{self._source}: $ref {ref!r} leads nowhere: fix the document, or report it upstream")
        return schema

    def _collect_definitions(self, schema: Json) -> None:
        if isinstance(schema, dict):
            for name, definition in cast("Schema", schema).get("$defs", {}).items():
                self._upstream.setdefault(name, definition)

    def _refer(self, name: str) -> Schema:
        """A reference to an upstream schema, which is queued. Some are not worth a name, and stand in place."""
        ours = RENAMED.get(name, name)
        if ours not in self._upstream:
            try:
                self._upstream[ours] = resolve(self._document, SCHEMAS + name)
            except KeyError:
                raise CannotRun(
                    f"{self._source}: $ref to the schema {name!r}, which is not there: fix the document, or report it upstream"
                ) from None
        schema = self._upstream[ours]
        self._collect_definitions(schema)
        if self._worth_a_name(schema):
            self._todo.append(ours)
            return reference(ours)
        return self._schema(schema, ours, ours)

    def _worth_a_name(self, schema: Json) -> bool:
        if not isinstance(schema, dict):
            return False
        keys = cast("Schema", schema)
        if "allOf" in keys or is_union(keys):
            return True
        return "properties" in keys or len(keys.get("enum", ())) > 1 or ("enum" in keys and "const" not in keys)

    def _hoist(self, schema: Schema, place: str) -> Schema:
        """Give an inline schema the name of its place."""
        name = NAMES.get(place) or "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", place))
        if self.named.get(name, schema) != schema:
            raise CannotRun(f"{self._source}: two different schemas would be called {name}: add the place {place} to codegen/normalise.py NAMES")
        self.named[name] = schema
        return reference(name)

    def _schema(self, schema: Json, place: str, owner: str, top: bool = False) -> Schema:
        """The normal form of one schema, which stands at `place` inside the named schema `owner`."""
        if schema is True:
            return {}
        if not isinstance(schema, dict):
            raise CannotRun(f"{self._source}: {place}: {schema!r} is no schema")
        keys = {key: value for key, value in cast("Schema", schema).items() if key not in PROSE and not key.startswith("x-")}
        keys.pop("$defs", None)
        null = keys.pop("nullable", False) is True
        default = keys.pop("default", None)
        if "allOf" in keys:
            keys = merge_all_of(keys, lambda part: cast("Schema", self.local(part)))
            null = null or keys.pop("nullable", False) is True
        if keys.get("type") == "array" and "$ref" in keys:  # an array that forgot to say `items`
            keys["items"] = {"$ref": keys.pop("$ref")}
        if "$ref" in keys:
            found = self.local({"$ref": keys["$ref"]}, follow=False)
            name = target(found)
            normal = self._refer(name) if name else self._schema(found, place, owner)
        elif "anyOf" in keys or "oneOf" in keys:
            normal, more = self._union(keys, place, owner, top)
            null = null or more
        else:
            types, more = split_null(keys, self._source, place)
            null = null or more
            forms = [self._plain({**keys, "type": kind} if kind else keys, place, owner, top) for kind in types]
            normal = any_of(forms)
        if isinstance(default, str | int | float | bool) and default != "null":
            normal = {**normal, "default": default}
        return nullable(normal) if null else normal

    def _union(self, keys: Schema, place: str, owner: str, top: bool) -> tuple[Schema, bool]:
        """A union, and whether null is one of its members."""
        members: list[Schema] = []
        null = False
        for option in cast("list[Json]", keys.get("oneOf") or keys.get("anyOf")):
            normal = self._schema(option, place, owner)
            for member in normal.get("anyOf", [normal]):
                if member == {"type": "null"}:
                    null = True
                elif member not in members:
                    members.append(member)
        members.sort(key=sort_key)
        objects = [member for member in members if target(member)]
        discriminator = keys.get("discriminator", {}).get("propertyName")
        if len(objects) < 2 or len(objects) < len(members) or not all(self._is_object(member) for member in members):
            return any_of(members), null
        union: Schema = {"oneOf" if discriminator else "anyOf": members}
        if discriminator:
            mapping = keys["discriminator"].get("mapping", {})
            union["discriminator"] = {"propertyName": discriminator, "mapping": {tag: self._mapped(ref) for tag, ref in mapping.items()}}
        return (union, null) if top and not null else (self._hoist(union, place), null)

    def _mapped(self, ref: str) -> str:
        name = ref.rsplit("/", 1)[-1]
        return f"#{SCHEMAS}{RENAMED.get(name, name)}"

    def _is_object(self, member: Schema) -> bool:
        name = target(member)
        if name is None:
            return False
        schema = self.named.get(name) or self._upstream.get(name)
        return isinstance(schema, dict) and ("properties" in schema or "allOf" in schema)

    def _plain(self, keys: Schema, place: str, owner: str, top: bool) -> Schema:
        """A schema of one type."""
        known = {"type", "const", "enum", "properties", "required", "items", "prefixItems", "additionalProperties", *LIMITS}
        if unknown := sorted(set(keys) - known):
            raise CannotRun(f"{self._source}: {place}: the keyword {unknown[0]!r} is not understood: teach codegen/normalise.py what it means")
        if "const" in keys:
            return {"type": scalar_type(keys["const"], self._source, place), "const": keys["const"]}
        if "enum" in keys:
            return self._enum(keys, place, owner, top)
        kind = keys.get("type") or ("object" if "properties" in keys else "array" if "items" in keys else None)
        if kind is None:
            return {}
        limits = {key: value for key, value in keys.items() if key in LIMITS}
        if kind == "array":
            items = keys.get("items", {})
            if isinstance(items, list) or "prefixItems" in keys:  # a tuple: its places are of no interest here
                items = {"anyOf": [*keys.get("prefixItems", []), *(cast("list[Json]", items) if isinstance(items, list) else [])]}
            return {"type": "array", "items": self._schema(items, f"{place}[]", owner), **limits}
        if kind == "object":
            return self._object(keys, place, owner, top)
        return {"type": kind, **limits}

    def _enum(self, keys: Schema, place: str, owner: str, top: bool) -> Schema:
        values = sorted(set(cast("list[str]", keys["enum"])), key=str)
        kind = scalar_type(values[0], self._source, place)
        if len(values) == 1 and place.rpartition(".")[2] in TAGS:
            return {"type": kind, "const": values[0]}
        normal: Schema = {"type": kind, "enum": values}
        return normal if top else self._hoist(normal, place)

    def _object(self, keys: Schema, place: str, owner: str, top: bool) -> Schema:
        properties = cast("dict[str, Json]", keys.get("properties") or {})
        extra = keys.get("additionalProperties")
        if not properties:
            return {"type": "object", "additionalProperties": True if extra in (None, True, False, {}) else self._schema(extra, f"{place}{{}}", owner)}
        if not top:
            return self._hoist(self._object(keys, place, place, top=True), place)
        declared = keys.get("required")
        required = set(cast("list[str]", declared)) if isinstance(declared, list) else set[str]()
        result: dict[str, Schema] = {}
        for name, schema in properties.items():
            if isinstance(schema, dict) and isinstance(cast("Schema", schema).get("required"), bool):  # `required: true` on a property
                flag = cast("Schema", schema)["required"]
                schema = {key: value for key, value in cast("Schema", schema).items() if key != "required"}
                required = required | {name} if flag else required - {name}
            result[name] = self._schema(self._tag(name, schema), f"{owner}.{name}", owner)
        normal: Schema = {"type": "object", "properties": result}
        if declared_and_there := sorted(required & set(result)):
            normal["required"] = declared_and_there
        if isinstance(extra, dict) and extra:
            normal["additionalProperties"] = self._schema(extra, f"{place}{{}}", owner)
        return normal

    def _tag(self, name: str, schema: Json) -> Json:
        """A tag behind a `$ref` to an enum of one value is that value."""
        found = self.local(schema) if name in TAGS and isinstance(schema, dict) else schema
        if isinstance(found, dict) and len(cast("Schema", found).get("enum", ())) == 1:
            return {"type": "string", "const": cast("Schema", found)["enum"][0]}
        return schema

    def _tags(self, name: str) -> None:
        """A const is required and has no default; a discriminated union's mapping is complete."""
        schema = self.named[name]
        for key, value in schema.get("properties", {}).items():
            if "const" in value:
                value.pop("default", None)
                schema["required"] = sorted({*schema.get("required", []), key})
        if "discriminator" in schema:
            found = schema["discriminator"]
            for member in schema["oneOf"]:
                owner = cast("str", target(member))
                tag = self.named[owner].get("properties", {}).get(found["propertyName"], {})
                if "const" in tag:
                    found["mapping"].setdefault(tag["const"], f"#{SCHEMAS}{owner}")


__all__ = ["NAMES", "RENAMED", "Normaliser", "parts"]
