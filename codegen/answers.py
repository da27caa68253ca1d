"""The lines to paste: rows of tables, arms of match statements, entries of the ledger, patches."""

import re
from pathlib import Path
from typing import Final

from codegen.catalogue import Catalogue, Field, Member, Union, python
from codegen.hand import Arm, Match, Row, Table, source
from codegen.report import Answer, Edit
from codegen.sides import presence, words

PATCHES: Final = Path("openapi/patches.toml")
NO_PLACE: Final = "has no place in pi's content model"
WITH_CHUNK: Final = "with its chunk"
_WIDTH: Final = 120


def insert(table: Table, text: str) -> Edit:
    """A new last row of a table."""
    return Edit("insert", str(table.file), table.last, f"    {text}")


def delete(table: Table, row: Row) -> Edit:
    """A row taken out."""
    return Edit("delete", str(table.file), row.line, "", row.end - row.line + 1)


def replace(table: Table, row: Row, text: str) -> Edit:
    """A row in place of another."""
    return Edit("replace", str(table.file), row.line, f"    {text}", row.end - row.line + 1)


def entry(field: Field, action: str, what: str) -> str:
    """An entry of the ledger."""
    return f"{python(field.key)}: {action}({python(field.type)}, {python(presence(field))}, {python(what)}),"


def whole(name: str, values: tuple[str, ...], action: str, what: str) -> str:
    """An entry for a union or an enum as a whole."""
    return f"{python(name)}: Whole({python(values)}, {python(action)}, {python(what)}),"


def decision(name: str, action: str, reason: str) -> str:
    """A row of a table of decisions."""
    return f"{python(name)}: {action}({python(reason)}),"


def for_tag(root: Path, member: Member, table: Table, match: Match | None, catalogue: Catalogue) -> tuple[Answer, ...]:
    """To reject a new tag: one row, and the tag in the rejecting arm. To map it: one row, and an arm of its own."""
    reject = [insert(table, decision(member.tag, "rejected", NO_PLACE))]
    arms = mapping = None
    if match is not None:
        arms = _rejecting(root, match, member.tag)
        mapping = _mapping(root, match, member, catalogue)
    taken = decision(member.tag, "mapped", f"what {member.tag} becomes in the message")
    return (
        Answer("reject it", (*reject, *((arms,) if arms else ()))),
        Answer("map it", (insert(table, taken), *((mapping,) if mapping else ()))),
    )


def _rejecting(root: Path, match: Match, tag: str) -> Edit | None:
    """The tag in the arm that rejects most."""
    arms = [arm for arm in match.arms if arm.raises and arm.tags]
    if not arms or tag in match.tags():
        return None
    arm = max(arms, key=lambda candidate: len(candidate.tags))
    return pattern(root, match, arm, (*arm.tags, tag))


def pattern(root: Path, match: Match, arm: Arm, tags: tuple[str, ...]) -> Edit:
    """The arm with other tags, on as many lines as ruff gives it. Without any, the arm goes."""
    _, text = source(root, match.file)
    lines = text.splitlines()
    first = next(number for number in range(arm.line, 0, -1) if lines[number - 1].lstrip().startswith("case "))
    if not tags:
        return Edit("delete", str(match.file), first, "", arm.end - first + 1)
    head = lines[first - 1]
    indent = head[: len(head) - len(head.lstrip())]
    alternatives = [python(name) for name in tags]
    joined = f"{indent}case {' | '.join(alternatives)}:"
    if len(joined) > _WIDTH:
        below = "".join(f"\n{indent}    | {name}" for name in alternatives[1:])
        joined = f"{indent}case (\n{indent}    {alternatives[0]}{below}\n{indent}):"
    return Edit("replace", str(match.file), first, joined, arm.body - first)


def take_out(root: Path, table: Table, row: Row, match: Match | None) -> tuple[Answer, ...]:
    """The row of a tag that is gone, and the tag in its arm."""
    arm = next((arm for arm in match.arms if row.key in arm.tags), None) if match else None
    edits = [delete(table, row)]
    if match and arm:
        edits.append(pattern(root, match, arm, tuple(tag for tag in arm.tags if tag != row.key)))
    return (Answer("take it out", tuple(edits)),)


def _mapping(root: Path, match: Match, member: Member, catalogue: Catalogue) -> Edit | None:
    """An arm like the shortest one that maps, reading the new class. What it does not map it keeps on `unmapped`."""
    _, text = source(root, match.file)
    lines = text.splitlines()
    simple = [arm for arm in match.arms if not arm.raises and len(arm.reads) == 1 and arm.end == arm.body]
    fields = [field for field in catalogue.fields.values() if field.owner == member.schema and not _constant(field)]
    if not simple or not fields or member.tag in match.tags():
        return None
    model = min(simple, key=lambda arm: (len(lines[arm.body - 1]), arm.line))
    main = next((field for field in fields if field.required and field.type == "string"), fields[0])
    subject = match.subject
    head = lines[model.line - 1]
    indent = head[: len(head) - len(head.lstrip())]
    body = lines[model.body - 1].strip().replace(f"{subject}.{model.reads[0][0]}", f"{subject}.{main.name}")
    arm = [f"{indent}case {python(member.tag)}:", f"{indent}    {body}"]
    for field in fields:
        if field is not main and match.keeper:
            arm.append(f"{indent}    if {subject}.{field.name} is not None:")
            value = f"{subject}.{field.name}" + ("" if _plain(field, catalogue) else '.model_dump(mode="json")')
            kept = match.keeper.replace("{}", f"{{{python(field.name)}: {value}}}", 1)
            arm.append(f"{indent}        {kept}")
    return Edit("insert", str(match.file), model.end, "\n".join(arm))


def _plain(field: Field, catalogue: Catalogue) -> bool:
    """Whether a field holds plain JSON, and no generated model."""
    return not ({*catalogue.unions} | {other.owner for other in catalogue.fields.values()}) & set(words(field.type))


def _constant(field: Field) -> bool:
    return field.type.startswith('"')


def derived(
    field: Field, catalogue: Catalogue, closed: set[str], matches: list[Match], tables: dict[str, str]
) -> str | None:
    """The entry that follows from a decision made elsewhere, None when someone has to decide.

    `closed` are the objects that can only arrive inside something rejected; `tables` the table that decides a union.
    A tag goes by its union's table; what lies inside a rejected thing goes with it; a field that the arm of its chunk
    reads is mapped there, or carried when it is handed to what keeps unknown fields.
    """
    for union in catalogue.unions.values():
        for member in union.members:
            if member.schema != field.owner or union.name not in tables:
                continue
            if field.name == union.tag:
                return entry(field, "decided", tables[union.name])
            for match, arm in ((each, arm) for each in matches for arm in each.arms if member.tag in arm.tags):
                methods = {method for name, method in arm.reads if name == field.name}
                if methods and not arm.raises:
                    what = f"the arm for {member.tag} in {match.file.name}"
                    kept = all(match.keeps(method) for method in methods)
                    return entry(field, "carried", "message.unmapped") if kept else entry(field, "mapped", what)
    return entry(field, "rejected", WITH_CHUNK) if field.owner in closed else None


def last_of(ledger: Table, owner: str) -> int:
    """The line after which a new entry of an object belongs: its last one, else the last of all."""
    return max((row.end for row in ledger.rows.values() if row.key.startswith(f"{owner}.")), default=ledger.last)


def for_field(field: Field, ledger: Table, line: str | None) -> tuple[Answer, ...]:
    """To record what follows from a decision, or to carry, map or ignore a field."""
    after = last_of(ledger, field.owner)
    ways = {
        "map it": entry(field, "mapped", "the place in the message that it goes to"),
        "carry it": entry(field, "carried", "message.unmapped"),
        "ignore it": entry(field, "ignored", "why nobody can miss it"),
    }
    if line is not None:
        ways = {"record what follows from the decisions (`make ledger` does it)": line}
    return tuple(Answer(way, (Edit("insert", str(ledger.file), after, f"    {text}"),)) for way, text in ways.items())


def finish(value: str) -> str:
    """A row of FINISH_REASON. What the end of an answer means is for people to say: until then it is an error."""
    return f'{python(value)}: Finish("rejected", "a finish reason whose meaning nobody knows", "error"),'


def last_line(root: Path) -> int:
    """The last line of patches.toml."""
    return len((root / PATCHES).read_text(encoding="utf-8").splitlines())


def for_union(root: Path, union: Union) -> tuple[Answer, ...]:
    """The patch that says what tells the members apart."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", union.name).lower()
    text = f"""
[[patch]]
id = "{name}-discriminator"
at = "{union.pointer}"
change = "discriminator"
value = "type"
reason = "Every member has a `type` of its own, and upstream does not say that it tells them apart."
evidence = ["the members of {union.name} in the vendored document"]"""
    edit = Edit("insert", str(PATCHES), last_line(root), text)
    return (Answer("tell its members apart, then `make bump` again", (edit,)),)
