"""Fields against the ledger: every property of every object that can arrive, its type and its presence."""

from collections.abc import Iterator
from typing import Final

from codegen import answers
from codegen.catalogue import Field
from codegen.hand import Row, Table
from codegen.report import Answer, Finding, Place, Severity
from codegen.sides import TABLES, Sides, presence

_PLACEHOLDERS: Final = ("", "todo", "tbd", "fixme", "...", "…", "?")


def findings(sides: Sides, renamed: set[str]) -> list[Finding]:
    """All differences. `renamed`: ledger keys of tags that are reported as renamed already."""
    return [*_fields(sides, renamed), *_gone(sides), *_references(sides), *_reasons(sides)]


def derived(sides: Sides) -> dict[str, str]:
    """The entries that the ledger lacks and that follow from decisions made elsewhere: `Owner.property` → line."""
    rows, closed = sides.hand.ledger["FIELDS"].rows, sides.closed()
    found = {
        key: answers.derived(field, sides.catalogue, closed, sides.hand.matches, TABLES)
        for key, field in sides.catalogue.fields.items()
        if key not in rows
    }
    return {key: line for key, line in found.items() if line is not None}


def _fields(sides: Sides, renamed: set[str]) -> Iterator[Finding]:
    ledger = sides.hand.ledger["FIELDS"]
    follows = derived(sides)
    for key, field in sides.catalogue.fields.items():
        row = ledger.rows.get(key)
        if row is None:
            yield Finding(
                "field-new",
                "error",
                key,
                f"the ledger has no entry for it ({field.type}, {presence(field)})",
                sides.spec(field.pointer),
                field.arrives,
                Place(str(ledger.file), answers.last_of(ledger, field.owner)),
                answers.for_field(field, ledger, follows.get(key)),
            )
        elif key not in renamed:
            yield from _changed(sides, field, row, ledger)


def _changed(sides: Sides, field: Field, row: Row, ledger: Table) -> Iterator[Finding]:
    # What is ignored, or refused with its chunk, is read by nobody: its change is news, not a danger.
    severity: Severity = "info" if row.action in ("ignored", "rejected") else "error"
    before = {"type": row.words[0], "presence": row.words[1]}
    for what, now in (("type", field.type), ("presence", presence(field))):
        if before[what] != now:
            line = answers.entry(field, row.action, row.reason)
            yield Finding(
                f"field-{what}-changed",
                severity,
                field.key,
                f"its entry was written for {before[what]}, it is {now}",
                sides.spec(field.pointer),
                field.arrives,
                Place(str(ledger.file), row.line),
                (Answer("go on as before, once the code is right", (answers.replace(ledger, row, line),)),),
            )


def _gone(sides: Sides) -> Iterator[Finding]:
    ledger = sides.hand.ledger["FIELDS"]
    for key, row in ledger.rows.items():
        if key not in sides.catalogue.fields:
            yield Finding(
                "field-gone",
                "error",
                key,
                "the ledger has an entry for it, and it is gone",
                hand=Place(str(ledger.file), row.line),
                answers=(Answer("take it out", (answers.delete(ledger, row),)),),
            )


def _references(sides: Sides) -> Iterator[Finding]:
    """An entry that says `decided` names a table that is there: of decisions.py, or of the ledger."""
    tables = {*sides.hand.decisions, *sides.hand.ledger}
    for table in sides.hand.ledger.values():
        for row in table.rows.values():
            if row.action == "decided" and row.reason not in tables:
                place = Place(str(table.file), row.line)
                yield Finding(
                    "table-missing",
                    "error",
                    row.key,
                    f"its entry names the table {row.reason}, which is not there",
                    hand=place,
                )


def _reasons(sides: Sides) -> Iterator[Finding]:
    for table in (*sides.hand.decisions.values(), *sides.hand.ledger.values()):
        for row in table.rows.values():
            if row.reason.strip().lower() in _PLACEHOLDERS:
                place = Place(str(table.file), row.line)
                yield Finding(
                    "reason-missing", "error", f"{table.name} {row.key!r}", "its decision has no reason", hand=place
                )
