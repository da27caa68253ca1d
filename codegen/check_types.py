"""Types and values against the decisions: unions, enums, and the match statements that carry the decisions out."""

import json
from collections.abc import Iterator

from codegen import answers
from codegen.catalogue import Enum, Member, Union
from codegen.hand import Row, Table
from codegen.report import Answer, Finding, Place
from codegen.sides import FINISH_REASON, TABLES, Sides


def findings(sides: Sides) -> tuple[list[Finding], set[str]]:
    """All differences, and the ledger keys of the tags that changed their name (so that nobody reports them again)."""
    renamed: set[str] = set()
    found = [*_decided(sides, renamed), *_untold(sides), *_wholes(sides, "UNIONS"), *_wholes(sides, "ENUMS")]
    return [*found, *_finish_reasons(sides), *_arms(sides)], renamed


def _kind(union: str) -> str:
    return "tag" if union == "ContentChunk" else "part"


def _decided(sides: Sides, renamed: set[str]) -> Iterator[Finding]:
    """The unions that decisions.py decides tag by tag."""
    for name, table_name in TABLES.items():
        table = sides.hand.decisions[table_name]
        union = sides.catalogue.unions.get(name, Union(name, None, (), (), ""))
        match = sides.match(name)
        members = {member.tag: member for member in union.members}
        gone = {tag: row for tag, row in table.rows.items() if tag not in members}
        for member in members.values():
            if member.tag not in table.rows:
                renaming = _renamed(sides, union, member, table, gone)
                if renaming is None:
                    yield _new_tag(sides, union, member, table)
                else:
                    renamed.add(f"{member.schema}.{union.tag}")
                    yield renaming
        for tag, row in gone.items():
            yield Finding(
                f"{_kind(name)}-gone",
                "error",
                f"{name} {tag!r}",
                f"{table_name} decides it, and it cannot arrive any more",
                hand=Place(str(table.file), row.line),
                answers=answers.take_out(sides.hand.root, table, row, match),
            )


def _renamed(sides: Sides, union: Union, member: Member, table: Table, gone: dict[str, Row]) -> Finding | None:
    """The finding for a tag whose class had another one before, as the ledger remembers. Takes that off `gone`."""
    ledger = sides.hand.ledger["FIELDS"]
    row = ledger.rows.get(f"{member.schema}.{union.tag}")
    before = json.loads(row.words[0]) if row and row.words[0].startswith('"') else None
    if row is None or before not in gone:
        return None
    old = gone.pop(before)
    decision = answers.decision(member.tag, old.action, old.reason)
    entry = answers.entry(sides.catalogue.fields[row.key], row.action, row.reason)
    edits = [answers.replace(table, old, decision), answers.replace(ledger, row, entry)]
    match = sides.match(union.name)
    arm = next((arm for arm in match.arms if before in arm.tags), None) if match else None
    if match and arm:
        tags = tuple(member.tag if tag == before else tag for tag in arm.tags)
        edits.append(answers.pattern(sides.hand.root, match, arm, tags))
    return Finding(
        f"{_kind(union.name)}-renamed",
        "error",
        f"{union.name} {member.tag!r}",
        f"it was called {before!r} before",
        sides.spec(member.pointer),
        union.arrives,
        Place(str(table.file), old.line),
        (Answer("rename it", tuple(edits)),),
    )


def _new_tag(sides: Sides, union: Union, member: Member, table: Table) -> Finding:
    match = sides.match(union.name)
    where = f", and {match.file}:{match.line} has no arm for it" if match and member.tag not in match.tags() else ""
    return Finding(
        f"{_kind(union.name)}-new",
        "error",
        f"{union.name} {member.tag!r}",
        f"{table.name} has no decision for it{where}",
        sides.spec(member.pointer),
        union.arrives,
        Place(str(table.file), table.last),
        answers.for_tag(sides.hand.root, member, table, match, sides.catalogue),
    )


def _untold(sides: Sides) -> Iterator[Finding]:
    for union in sides.catalogue.unions.values():
        if union.tag is None:
            message = f"its members ({', '.join(union.tags())}) come without a discriminator"
            yield Finding(
                "union-without-discriminator",
                "error",
                union.name,
                message,
                sides.spec(union.pointer),
                union.arrives,
                Place(str(answers.PATCHES), answers.last_line(sides.hand.root)),
                answers.for_union(sides.hand.root, union),
            )


def _wholes(sides: Sides, table_name: str) -> Iterator[Finding]:
    """The unions and enums that the ledger has one entry for, with all their values."""
    ledger = sides.hand.ledger[table_name]
    kind, value_kind = ("union", "part") if table_name == "UNIONS" else ("enum", "enum-value")
    unions = {name: union for name, union in sides.catalogue.unions.items() if name not in TABLES}
    things: dict[str, Union | Enum] = {**unions} if table_name == "UNIONS" else {**sides.catalogue.enums}
    for name, thing in things.items():
        row = ledger.rows.get(name)
        if row is None:
            yield _new_whole(sides, thing, kind, ledger)
            continue
        values = thing.values()
        line = answers.whole(name, values, row.action, row.reason)
        decisions = sides.hand.decisions.get(row.reason) if row.action == "decided" else None
        for value in [value for value in values if value not in row.values]:
            edits = [answers.replace(ledger, row, line)]
            if decisions is not None and value not in decisions.rows:
                edits.append(answers.insert(decisions, answers.finish(value)))
            yield Finding(
                f"{value_kind}-new",
                "error",
                f"{name} {value!r}",
                f"its entry in {table_name} does not know this value",
                sides.spec(thing.pointer),
                thing.arrives,
                Place(edits[-1].file, edits[-1].line),
                (Answer("take it in", tuple(edits)),),
            )
        for value in [value for value in row.values if value not in values]:
            yield Finding(
                f"{value_kind}-gone",
                "error",
                f"{name} {value!r}",
                f"its entry in {table_name} knows it, and it cannot arrive any more",
                sides.spec(thing.pointer),
                thing.arrives,
                Place(str(ledger.file), row.line),
                (Answer("take it out", (answers.replace(ledger, row, line),)),),
            )
    for name, row in ledger.rows.items():
        if name not in things:
            yield Finding(
                f"{kind}-gone",
                "error",
                name,
                f"{table_name} has an entry for it, and it is gone",
                hand=Place(str(ledger.file), row.line),
                answers=(Answer("take it out", (answers.delete(ledger, row),)),),
            )


def _new_whole(sides: Sides, thing: Union | Enum, kind: str, ledger: Table) -> Finding:
    line = answers.whole(thing.name, thing.values(), "rejected", answers.WITH_CHUNK)
    return Finding(
        f"{kind}-new",
        "error",
        thing.name,
        f"{ledger.name} has no entry for it (its values: {', '.join(thing.values())})",
        sides.spec(thing.pointer),
        thing.arrives,
        Place(str(ledger.file), ledger.last),
        (Answer("reject it as a whole", (answers.insert(ledger, line),)),),
    )


def _finish_reasons(sides: Sides) -> Iterator[Finding]:
    """FINISH_REASON decides what the enums' entries say that it does: no more, and no less."""
    table = sides.hand.decisions[FINISH_REASON]
    wholes = sides.hand.ledger["ENUMS"].rows.values()
    known = {value for row in wholes if row.reason == FINISH_REASON for value in row.values}
    arriving = set(sides.catalogue.finish_reasons())
    for value, row in table.rows.items():
        if value not in known | arriving:
            yield Finding(
                "enum-value-gone",
                "error",
                f"finish_reason {value!r}",
                f"{FINISH_REASON} decides it, and no enum has it",
                hand=Place(str(table.file), row.line),
                answers=(Answer("take it out", (answers.delete(table, row),)),),
            )
    for value in sorted((known & arriving) - set(table.rows)):
        edit = answers.insert(table, answers.finish(value))
        yield Finding(
            "enum-value-new",
            "error",
            f"finish_reason {value!r}",
            f"{FINISH_REASON} has no decision for it",
            arrives=("choices[].finish_reason",),
            hand=Place(edit.file, edit.line),
            answers=(Answer("decide it", (edit,)),),
        )


def _arms(sides: Sides) -> Iterator[Finding]:
    """What a table decides, a match carries out: every decided tag has an arm, and the arm raises if it is rejected."""
    for name, table_name in TABLES.items():
        table, union = sides.hand.decisions[table_name], sides.catalogue.unions.get(name)
        match = sides.match(name)
        arms = {tag: arm for arm in (match.arms if match else ()) for tag in arm.tags}
        for tag in [tag for tag in (union.tags() if union else ()) if tag in table.rows]:
            row, arm = table.rows[tag], arms.get(tag)
            if match is None:
                yield Finding("arm-missing", "error", f"{name} {tag!r}", "no match statement in the core is about it")
            elif arm is None:
                place = Place(str(match.file), match.line)
                yield Finding(
                    "arm-missing",
                    "error",
                    f"{name} {tag!r}",
                    f"it is {row.action}, and the match has no arm for it",
                    hand=place,
                )
            elif arm.raises != (row.action == "rejected"):
                does = "raises" if arm.raises else "does not raise"
                place = Place(str(match.file), arm.line)
                yield Finding(
                    "arm-differs", "error", f"{name} {tag!r}", f"it is {row.action}, and its arm {does}", hand=place
                )
