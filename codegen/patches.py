"""`openapi/patches.toml`: what the upstream document lacks or refuses, and the wire has.

Upstream wins: a patch never replaces what the document says itself. One that finds its work done is *stale* (unless the
document is its `origin`); one that has nothing to work on is *unfit*. Both are findings.
"""

import copy
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from codegen.document import Json, Schema, is_list, is_object, ordered, parts, reference, resolve, target
from codegen.errors import CannotRunError
from codegen.forms import any_of, forms, nullable, sort_key

_ADDING: Final = ("add-schema", "add-property", "add-values", "add-member", "add-form")


@dataclass(frozen=True, slots=True)
class Patch:
    """One entry of patches.toml."""

    id: str
    at: str
    change: str
    reason: str
    evidence: tuple[str, ...]
    value: Json
    origin: str
    line: int

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


class _StaleError(Exception):
    """The document has it itself: in the same words, or (the message says so) in its own."""


class _UnfitError(Exception):
    """There is nothing to work on."""


def read(path: Path) -> list[Patch]:
    """The patches of a file, in order. Raises CannotRunError, naming file, line and key of a bad entry."""
    try:
        text = path.read_text(encoding="utf-8")
        entries: Json = tomllib.loads(text).get("patch", [])
    except OSError as error:
        raise CannotRunError(f"{path}: {error.strerror}: it belongs beside mistral.yaml, and may be empty") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CannotRunError(f"{path}: not TOML: {error}") from None
    starts = [number for number, line in enumerate(text.splitlines(), 1) if line.strip() == "[[patch]]"]
    if not is_list(entries) or len(starts) != len(entries):
        raise CannotRunError(f"{path}: every patch must begin with a line [[patch]]")
    found: list[Patch] = []
    for line, entry in zip(starts, entries, strict=True):
        patch = _patch(entry, f"{path}:{line}", line)
        if patch.id in {other.id for other in found}:
            raise CannotRunError(f"{path}:{line}: two patches are called {patch.id!r}: give one another id")
        found.append(patch)
    return found


def _patch(entry: Schema, where: str, line: int) -> Patch:
    strings: dict[str, Any] = {
        key: entry.get(key, "" if key == "origin" else None) for key in ("id", "at", "change", "reason", "origin")
    }
    for key, value in strings.items():
        if not isinstance(value, str) or not (value.strip() or key == "origin"):
            raise CannotRunError(f"{where}: a patch needs `{key}`, a string that is not empty")
    evidence = entry.get("evidence")
    if not is_list(evidence) or not evidence or not all(isinstance(item, str) and item for item in evidence):
        raise CannotRunError(f"{where}: a patch needs `evidence`, a list that says where the thing was seen")
    if unknown := sorted(set(entry) - {*strings, "evidence", "value"}):
        raise CannotRunError(f"{where}: the key {unknown[0]!r} is not known; see the head of the file")
    if entry["change"] not in _CHANGES:
        raise CannotRunError(f"{where}: the change {entry['change']!r} is not known: one of {', '.join(_CHANGES)}")
    if not _fits(entry["change"], entry.get("value")):
        raise CannotRunError(
            f"{where}: the `value` does not fit the change {entry['change']!r}; see the head of the file"
        )
    return Patch(**strings, evidence=tuple(evidence), value=entry.get("value"), line=line)


def _fits(change: str, value: Json) -> bool:
    if change == "add-values":
        return is_list(value) and bool(value)
    if change == "discriminator":
        return isinstance(value, str)
    if change == "add-member":
        return is_object(value) and {"tag", "schema"} == set(value)
    return is_object(value) if change in _ADDING else value is None


def apply(document: Schema, patches: list[Patch], source: str) -> tuple[Schema, list[Outcome]]:
    """`document` with the patches applied, and what became of each. `source` is the name of the document's source."""
    result = copy.deepcopy(document)
    outcomes: list[Outcome] = []
    for patch in patches:
        try:
            _CHANGES[patch.change](result, patch)
        except _StaleError as stale:
            home = bool(patch.origin) and patch.origin == source and not str(stale)
            outcomes.append(Outcome(patch, "home" if home else "stale", str(stale) or "upstream has it itself"))
        except _UnfitError as unfit:
            outcomes.append(Outcome(patch, "unfit", str(unfit)))
        else:
            outcomes.append(Outcome(patch, "applied"))
    return ordered(result), outcomes


def _at(document: Schema, pointer: str) -> Any:
    try:
        return resolve(document, pointer)
    except KeyError:
        raise _UnfitError(f"upstream has nothing at {pointer}") from None


def _split(pointer: str) -> tuple[str, str]:
    above, _, _ = pointer.rpartition("/")
    return above, list(parts(pointer))[-1]


def _absent(document: Schema, patch: Patch) -> None:
    _at(document, patch.at)
    above, name = _split(patch.at)
    owner = _at(document, above.rpartition("/")[0])
    if name not in owner.get("required", []):
        raise _StaleError
    owner["required"].remove(name)


def _null(document: Schema, patch: Patch) -> None:
    schema = _at(document, patch.at)
    if nullable(schema) == schema:
        raise _StaleError
    above, name = _split(patch.at)
    _at(document, above)[name] = nullable(schema)


def _absent_or_null(document: Schema, patch: Patch) -> None:
    done = 0
    for change in (_absent, _null):
        try:
            change(document, patch)
        except _StaleError:
            done += 1
    if done == 2:
        raise _StaleError


def _add_entry(document: Schema, patch: Patch) -> None:
    above, name = _split(patch.at)
    home = _at(document, above)
    if name in home:
        same = ordered(home[name]) == ordered(patch.value)
        raise _StaleError("" if same else "upstream has its own form of it")
    home[name] = copy.deepcopy(patch.value)


def _add_values(document: Schema, patch: Patch) -> None:
    values = _at(document, patch.at).get("enum")
    if not is_list(values):
        raise _UnfitError(f"{patch.at} is no enum any more")
    if there := [value for value in patch.value if value in values]:
        whole = len(there) == len(patch.value)
        raise _StaleError("" if whole else f"upstream has {there[0]!r} itself")
    values += patch.value
    values.sort(key=str)


def _add_member(document: Schema, patch: Patch) -> None:
    union = _at(document, patch.at)
    member = reference(patch.value["schema"])
    if "discriminator" not in union:
        raise _UnfitError(f"{patch.at} is no discriminated union any more")
    mapping = union["discriminator"]["mapping"]
    if mapping.get(patch.value["tag"], member["$ref"]) != member["$ref"]:
        raise _StaleError("upstream has its own form of it")
    if member in union["oneOf"]:
        raise _StaleError
    union["oneOf"] = sorted([*union["oneOf"], member], key=sort_key)
    mapping[patch.value["tag"]] = member["$ref"]


def _add_form(document: Schema, patch: Patch) -> None:
    there = forms(_at(document, patch.at))
    if patch.value in there:
        raise _StaleError
    above, name = _split(patch.at)
    _at(document, above)[name] = any_of([*there, copy.deepcopy(patch.value)])


def _discriminator(document: Schema, patch: Patch) -> None:
    union = _at(document, patch.at)
    if "discriminator" in union:
        raise _StaleError
    mapping: dict[str, str] = {}
    for member in union.get("anyOf", []):
        name = target(member)
        tag = _at(document, f"/components/schemas/{name}").get("properties", {}).get(patch.value, {}).get("const")
        if tag is None or tag in mapping:
            raise _UnfitError(f"{name} has no {patch.value!r} of its own")
        mapping[tag] = member["$ref"]
    if not mapping:
        raise _UnfitError(f"{patch.at} is no union any more")
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
