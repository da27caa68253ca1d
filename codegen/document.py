"""Reading and writing OpenAPI documents: any YAML or JSON in, one canonical YAML out, and the line of every pointer.

Scalars follow YAML 1.2: `1e-08` is a number, `on` and `2024-01-18` are strings. (YAML 1.1, PyYAML's default, reads them
as a string, a boolean and a date, which upstream documents do contain.)
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeGuard

import yaml

from codegen.errors import CannotRunError

Json: TypeAlias = Any
Schema: TypeAlias = dict[str, Any]


def is_object(value: object) -> TypeGuard[Schema]:
    """Whether a JSON value is an object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Json]]:
    """Whether a JSON value is an array."""
    return isinstance(value, list)


_BASE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C parser reads 1.1 MB in a second, the other in ten


class _Loader(_BASE):  # type: ignore[misc]  # the base is chosen at run time
    """Strings, numbers, booleans and null as YAML 1.2's core schema has them; a key given twice is an error."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("tag:yaml.org,2002:bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("tag:yaml.org,2002:null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("tag:yaml.org,2002:int", r"[-+]?[0-9]+", "-+0123456789"),
    ("tag:yaml.org,2002:float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("tag:yaml.org,2002:merge", r"<<", "<"),
):
    _Loader.add_implicit_resolver(_tag, re.compile(rf"^(?:{_pattern})$"), list(_first))


def _mapping(loader: Any, node: Any) -> dict[str, Json]:
    loader.flatten_mapping(node)
    found: dict[str, Json] = {}
    for key_node, value_node in node.value:
        # A key is a name, whatever it looks like: the status 200, a property called `null`.
        if not isinstance(key_node, yaml.ScalarNode):
            raise yaml.constructor.ConstructorError(None, None, "a key that is not a scalar", key_node.start_mark)
        key = str(key_node.value)
        if key in found:
            raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} twice", key_node.start_mark)
        found[key] = loader.construct_object(value_node, deep=True)
    return found


def _integer(loader: Any, node: Any) -> int:
    return int(loader.construct_scalar(node))


def _float(loader: Any, node: Any) -> float:
    return float(loader.construct_scalar(node))


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
_Loader.add_constructor("tag:yaml.org,2002:int", _integer)
_Loader.add_constructor("tag:yaml.org,2002:float", _float)


def parse(data: bytes, name: str) -> Schema:
    """The document in `data`, JSON or YAML. Raises CannotRunError, naming `name` and the line of the fault."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CannotRunError(
            f"{name}: not UTF-8 at byte {error.start}: give an OpenAPI document in YAML or JSON"
        ) from None
    try:
        document = json.loads(text) if text.lstrip().startswith("{") else yaml.load(text, _Loader)
    except json.JSONDecodeError as error:
        raise CannotRunError(f"{name}:{error.lineno}: not JSON: {error.msg}: give a whole OpenAPI document") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise CannotRunError(f"{name}:{line}: not YAML: {error.problem}: give a whole OpenAPI document") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise CannotRunError(f"{name}: cannot be read: {type(error).__name__}: give a whole OpenAPI document") from None
    if not is_object(document) or "openapi" not in document:
        raise CannotRunError(f"{name}: no `openapi:` at the top: give an OpenAPI 3.0 or 3.1 document")
    return document


def read(path: Path) -> Schema:
    """The document in a file. Raises CannotRunError when there is none, or it is not one."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CannotRunError(f"{path}: {error.strerror}: name a readable file") from None
    return parse(data, str(path))


# One order for the keys of a schema, so that a diff shows wire changes and nothing else. Other keys follow by name.
_FIRST: Final = (
    "openapi", "info", "paths", "components", "operationId", "requestBody", "responses", "description", "content",
    "$ref", "type", "const", "enum", "anyOf", "oneOf", "discriminator", "propertyName", "mapping",
    "required", "items", "properties", "additionalProperties", "default",
)  # fmt: skip
_ORDER: Final = {key: place for place, key in enumerate(_FIRST)}
_NAMES_BELOW: Final = ("properties", "schemas", "mapping", "responses", "paths")  # their keys are names: sorted as such


def ordered(value: Json, under: str = "") -> Json:
    """`value` with every mapping in canonical order."""
    if is_object(value):
        names = under in _NAMES_BELOW
        keys = sorted(value, key=lambda key: (0 if names else _ORDER.get(key, len(_ORDER)), key))
        return {key: ordered(value[key], "" if names else key) for key in keys}
    if is_list(value):
        return [ordered(item) for item in value]
    return value


class _Dumper(yaml.SafeDumper):
    """No aliases, strings quoted only where a reader would take them for something else, short lists on one line."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _list(dumper: Any, value: list[Json]) -> Any:
    scalars = all(not isinstance(item, dict | list) for item in value)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=scalars)


_Dumper.add_representer(list, _list)


def dump(document: Mapping[str, Json]) -> str:
    """Canonical YAML: the same facts are always the same bytes."""
    options: dict[str, Any] = {"sort_keys": False, "allow_unicode": True, "width": 110, "default_flow_style": False}
    write: Any = getattr(yaml, "dump")  # noqa: B009  # its stub is only partly typed
    return str(write(ordered(dict(document)), None, _Dumper, **options))


def lines(text: str) -> dict[str, int]:
    """JSON pointer → line (from 1) of every key and item of a YAML text."""
    found: dict[str, int] = {"": 1}

    def walk(node: Any, pointer: str) -> None:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                below = f"{pointer}/{escape(str(key.value))}"
                found[below] = key.start_mark.line + 1
                walk(value, below)
        elif isinstance(node, yaml.SequenceNode):
            for number, item in enumerate(node.value):
                below = f"{pointer}/{number}"
                found[below] = item.start_mark.line + 1
                walk(item, below)

    walk(yaml.compose(text, _BASE), "")
    return found


def escape(key: str) -> str:
    """A key as one part of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def parts(pointer: str) -> Iterator[str]:
    """The keys of a JSON pointer (RFC 6901)."""
    for part in pointer.split("/")[1:]:
        yield part.replace("~1", "/").replace("~0", "~")


def resolve(document: Json, pointer: str) -> Json:
    """What stands at `pointer`. Raises KeyError when nothing does."""
    here = document
    for part in parts(pointer):
        if is_object(here) and part in here:
            here = here[part]
        elif is_list(here) and part.isdecimal() and int(part) < len(here):
            here = here[int(part)]
        else:
            raise KeyError(pointer)
    return here


SCHEMAS: Final = "/components/schemas/"


def target(schema: Json) -> str | None:
    """The name that a `$ref` to a schema refers to, else None."""
    ref = schema.get("$ref") if is_object(schema) else None
    if isinstance(ref, str) and ref.startswith("#" + SCHEMAS):
        return ref.removeprefix("#" + SCHEMAS)
    return None


NAMED: Final = ("properties", "mapping")  # keywords whose own keys are names, not keywords


def without(value: Json, keywords: frozenset[str], names: bool = False) -> Json:
    """A copy of a schema without some keywords, at any depth. A property or tag of such a name stays."""
    if is_object(value):
        kept = {key: item for key, item in value.items() if names or key not in keywords}
        return {key: without(item, keywords, not names and key in NAMED) for key, item in kept.items()}
    return [without(item, keywords) for item in value] if is_list(value) else value


def reference(name: str) -> Schema:
    """`$ref` to a named schema."""
    return {"$ref": f"#{SCHEMAS}{name}"}
