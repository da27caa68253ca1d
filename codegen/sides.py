"""The two sides of the comparison: what can arrive, and what was decided by hand."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from codegen import hand
from codegen.catalogue import Catalogue, Field, Member, Union
from codegen.errors import CannotRunError
from codegen.hand import Match, Table
from codegen.report import Place

# The unions that decisions.py decides tag by tag. All others have one entry in the ledger's UNIONS; enums in its ENUMS.
TABLES: Final = {"ContentChunk": "CONTENT", "ThinkingPart": "THINKING_PART"}
FINISH_REASON: Final = "FINISH_REASON"
SPEC: Final = "openapi/mistral.yaml"
_NEEDED: Final = {hand.DECISIONS: (*TABLES.values(), FINISH_REASON), hand.LEDGER: ("FIELDS", "UNIONS", "ENUMS")}


@dataclass(frozen=True, slots=True)
class Hand:
    """The hand-written side of a checkout."""

    root: Path
    decisions: dict[str, Table]
    ledger: dict[str, Table]
    matches: list[Match]

    @classmethod
    def read(cls, root: Path) -> "Hand":
        """Read it. Raises CannotRunError, naming file and line of what cannot be read."""
        found = {path: hand.tables(root, path) for path in _NEEDED}
        for path, names in _NEEDED.items():
            for name in names:
                if name not in found[path]:
                    raise CannotRunError(f"{path}: no table {name}: write it as a dict with string keys")
        return cls(root, found[hand.DECISIONS], found[hand.LEDGER], hand.matches(root))


@dataclass(frozen=True, slots=True)
class Sides:
    """A catalogue, the hand-written side, and the lines of the document."""

    catalogue: Catalogue
    hand: Hand
    lines: dict[str, int]

    def spec(self, pointer: str) -> Place:
        """The place in the vendored document of a pointer, or of what it stands in."""
        while pointer not in self.lines:
            pointer = pointer.rpartition("/")[0]
        return Place(SPEC, self.lines[pointer])

    def match(self, union: str) -> Match | None:
        """The match statement that carries out the decisions on a union: the one about most of its tags."""
        arriving = self.catalogue.unions.get(union)
        tags = {*self.hand.decisions[TABLES[union]].rows, *(arriving.tags() if arriving else ())}
        best = max(self.hand.matches, key=lambda match: len(match.tags() & tags), default=None)
        return best if best and len(best.tags() & tags) * 2 > len(tags) else None

    def mapped(self, union: Union, member: Member) -> bool:
        """Whether a tag of a union is decided, and mapped."""
        name = TABLES.get(union.name)
        rows = self.hand.decisions[name].rows if name else self.hand.ledger["UNIONS"].rows
        row = rows.get(member.tag if name else union.name)
        return row is not None and row.action == "mapped"

    def closed(self) -> set[str]:
        """The objects that can arrive only inside something that is rejected, or not decided yet."""
        reached: set[str] = set()
        todo = list(self.catalogue.roots)
        below: dict[str, list[str]] = {}
        for field in self.catalogue.fields.values():
            below.setdefault(field.owner, []).extend(words(field.type))
        for union in self.catalogue.unions.values():
            below[union.name] = [member.schema for member in union.members if self.mapped(union, member)]
        while todo:
            name = todo.pop()
            if name not in reached:
                reached.add(name)
                todo += below.get(name, [])
        return {field.owner for field in self.catalogue.fields.values()} - reached


def presence(field: Field) -> str:
    """`required` or `optional`, as the ledger says it."""
    return "required" if field.required else "optional"


def words(type_expression: str) -> Iterator[str]:
    """The names in a type expression."""
    yield from re.findall(r"[A-Za-z_][A-Za-z0-9_]*", type_expression)
