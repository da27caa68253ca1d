"""`openapi/patches.toml`: what the upstream document lacks or refuses, and the wire has.

Upstream wins: a patch never replaces what the document says itself. One that finds its work done is *stale* (unless the
document is its `origin`); one that has nothing to work on is *unfit*. Both are findings.
"""

import copy
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, cast

from codegen.document import Json, Schema, lines, ordered, parts, reference, resolve, target
from codegen.errors import CannotRun
from codegen.forms import any_of, nullable, sort_key

Change = Literal[
    "may-be-absent", "may-be-null", "may-be-absent-or-null",
    "add-schema", "add-property", "add-values", "add-member", "add-form", "discriminator",
]  # fmt: skip
_ADDING: Final = ("add-schema", "add-property", "add-values", "add-member", "add-form")


@dataclass(frozen=True, slots=True)
class Patch:
    """One entry of patches.toml."""

    id: str
    at: str
    change: str
    reason: str
    evidence: tuple[str, ...]
    value: Json = None
    origin: str = ""
    line: int = 0

    @property
    def adds(self) -> bool:
        """Whether the patch keeps something known from elsewhere, rather than loosening what is there."""
        return self.change in _ADDING


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a patch: `applied`, `home` (its origin has the thing), `stale` or `unfit`, and why."""

    patch: Patch
    state: Literal["applied", "home", "stale", "unfit"]
    why: str = ""


class _Stale(Exception):
    pass


class _Unfit(Exception):
    pass


def read(path: Path) -> list[Patch]:
    """The patches of a file, in order. Raises CannotRun, naming file, line and key of a bad entry."""
    try:
        text = path.read_text(encoding="utf-8")
        entries = cast("list[dict[str, Any]]", tomllib.loads(text).get("patch", []))
    except OSError as error:
        raise CannotRun(f"{path}: {error.strerror}: it belongs beside mistral.yaml; an empty file means no patches") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CannotRun(f"{path}: not TOML: {error}") from None
    starts = [number for number, line in enumerate(text.splitlines(), 1) if line.strip() == "[[patch]]"]
    found: list[Patch] = []
    for line, entry in zip(starts, entries, strict=True):
        found.append(_patch(entry, f"{path}:{line}", line))
        if found[-1].id in {patch.id for patch in found[:-1]}:
            raise CannotRun(f"{path}:{line}: two patches are called {found[-1].id!r}: give one another id")
    return found


def _patch(entry: dict[str, Any], where: str, line: int) -> Patch:
    for key in ("id", "at", "change", "reason"):
        if not isinstance(entry.get(key), str) or not entry[key].strip():
            raise CannotRun(f"{where}: a patch needs `{key}`, a string that is not empty")
    evidence = entry.get("evidence")
    if not isinstance(evidence, list) or not evidence or not all(isinstance(item, str) and item for item in cast("list[Any]", evidence)):
        raise CannotRun(f"{where}: a patch needs `evidence`, a list that says where the thing was seen")
    if unknown := sorted(set(entry) - {"id", "at", "change", "reason", "evidence", "value", "origin"}):
        raise CannotRun(f"{where}: the key {unknown[0]!r} is not known; see the head of the file")
    if entry["change"] not in _CHANGES:
        raise CannotRun(f"{where}: the change {entry['change']!r} is not known: one of {', '.join(_CHANGES)}")
    return Patch(**{**entry, "evidence": tuple(cast("list[str]", evidence)), "line": line})


def apply(document: Schema, patches: list[Patch], source: str) -> tuple[Schema, list[Outcome]]:
    """`document` with the patches applied, and what became of each. `source` is the name of the document's source."""
    result = copy.deepcopy(document)
    outcomes: list[Outcome] = []
    for patch in patches:
        try:
            _CHANGES[patch.change](result, patch)
        except _Stale as stale:
            home = bool(patch.origin) and patch.origin == source and not str(stale)
            outcomes.append(Outcome(patch, "home" if home else "stale", str(stale) or "upstream has it itself"))
        except _Unfit as unfit:
            outcomes.append(Outcome(patch, "unfit", str(unfit)))
        else:
            outcomes.append(Outcome(patch, "applied"))
    return ordered(result), outcomes


def _at(document: Schema, pointer: str) -> Any:
    try:
        return resolve(document, pointer)
    except KeyError:
        raise _Unfit(f"upstream has nothing at {pointer}") from None


def _split(pointer: str) -> tuple[str, str]:
    above, _, _ = pointer.rpartition("/")
    return above, list(parts(pointer))[-1]


def _absent(document: Schema, patch: Patch) -> None:
    _at(document, patch.at)
    above, name = _split(patch.at)
    owner = _at(document, above.rpartition("/")[0])
    if name not in owner.get("required", []):
        raise _Stale
    owner["required"].remove(name)


def _null(document: Schema, patch: Patch) -> None:
    schema = _at(document, patch.at)
    if nullable(schema) == schema:
        raise _Stale
    above, name = _split(patch.at)
    _at(document, above)[name] = nullable(schema)


def _absent_or_null(document: Schema, patch: Patch) -> None:
    done = 0
    for change in (_absent, _null):
        try:
            change(document, patch)
        except _Stale:
            done += 1
    if done == 2:
        raise _Stale


def _add_entry(document: Schema, patch: Patch) -> None:
    above, name = _split(patch.at)
    home = _at(document, above)
    if name in home:
        if ordered(home[name]) == ordered(cast("Schema", patch.value)):
            raise _Stale
        raise _Stale("upstream has its own form of it")
    home[name] = copy.deepcopy(patch.value)


def _add_values(document: Schema, patch: Patch) -> None:
    values = cast("list[Any]", _at(document, patch.at).get("enum"))
    if values is None:
        raise _Unfit(f"{patch.at} is no enum any more")
    if there := [value for value in patch.value if value in values]:
        if len(there) == len(patch.value):
            raise _Stale
        raise _Stale(f"upstream has {there[0]!r} itself")
    values += patch.value
    values.sort(key=str)


def _add_member(document: Schema, patch: Patch) -> None:
    union = _at(document, patch.at)
    member = reference(patch.value["schema"])
    if "discriminator" not in union:
        raise _Unfit(f"{patch.at} is no discriminated union any more")
    mapping = union["discriminator"]["mapping"]
    if mapping.get(patch.value["tag"], member["$ref"]) != member["$ref"]:
        raise _Stale("upstream has its own form of it")
    if member in union["oneOf"]:
        raise _Stale
    union["oneOf"] = sorted([*union["oneOf"], member], key=sort_key)
    mapping[patch.value["tag"]] = member["$ref"]


def _add_form(document: Schema, patch: Patch) -> None:
    schema = _at(document, patch.at)
    forms = cast("list[Schema]", schema.get("anyOf", [schema]))
    if patch.value in forms:
        raise _Stale
    above, name = _split(patch.at)
    _at(document, above)[name] = any_of([*forms, copy.deepcopy(patch.value)])


def _discriminator(document: Schema, patch: Patch) -> None:
    union = _at(document, patch.at)
    if "discriminator" in union:
        raise _Stale
    mapping: dict[str, str] = {}
    for member in union.get("anyOf", []):
        name = target(member)
        tag = _at(document, f"/components/schemas/{name}").get("properties", {}).get(patch.value, {}).get("const")
        if tag is None or tag in mapping:
            raise _Unfit(f"{name or member} has no {patch.value!r} of its own")
        mapping[tag] = member["$ref"]
    if not mapping:
        raise _Unfit(f"{patch.at} is no union any more")
    union["oneOf"] = union.pop("anyOf")
    union["discriminator"] = {"propertyName": patch.value, "mapping": mapping}


_CHANGES: Final[dict[str, Callable[[Schema, Patch], None]]] = {
    "may-be-absent": _absent,
    "may-be-null": _null,
    "may-be-absent-or-null": _absent_or_null,
    "add-schema": _add_entry,
    "add-property": _add_entry,
    "add-values": _add_values,
    "add-member": _add_member,
    "add-form": _add_form,
    "discriminator": _discriminator,
}

__all__ = ["Outcome", "Patch", "apply", "lines", "read"]
