"""Findings: what is new or changed, where it arrives, where to decide, and the lines to paste."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Final, Literal

# The ids are stable: scripts may rely on them. README and docs/new-wire-type.md explain them.
IDS: Final = {
    "tag-new": "a content type that no table decides",
    "tag-gone": "a decision for a content type that cannot arrive any more",
    "tag-renamed": "a content type that changed its name",
    "part-new": "a part of a content type that no table decides",
    "part-gone": "a decision for a part that cannot arrive any more",
    "part-renamed": "a part that changed its name",
    "enum-value-new": "an enum value that no table decides",
    "enum-value-gone": "a decision for an enum value that cannot arrive any more",
    "union-new": "a union that nothing decides",
    "union-gone": "an entry for a union that is gone",
    "union-without-discriminator": "a union whose members nothing tells apart",
    "enum-new": "an enum that nothing decides",
    "enum-gone": "an entry for an enum that is gone",
    "field-new": "a field without an entry in the ledger",
    "field-gone": "an entry for a field that is gone",
    "field-type-changed": "a field whose type is not the one that its entry was written for",
    "field-presence-changed": "a field whose presence is not the one that its entry was written for",
    "table-missing": "an entry that names a table that is not there",
    "reason-missing": "a decision without a reason",
    "arm-missing": "a decided type without an arm in the match",
    "arm-differs": "a decided type whose arm does something else",
    "patch-stale": "a patch for something that upstream has itself",
    "patch-unfit": "a patch that has nothing to work on",
    "generated-stale": "a generated file that is not what the document generates",
    "lock-mismatch": "a file or a tool that is not the one in the lock",
    "request-news": "a change of what is sent only",
}
Severity = Literal["error", "info"]


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file of the checkout, counted from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Edit:
    """A change by hand. `insert` puts `text` after `line`, `replace` in place of `lines` lines from there on."""

    how: Literal["insert", "replace", "delete"]
    file: str
    line: int
    text: str
    lines: int = 1


@dataclass(frozen=True, slots=True)
class Answer:
    """One way to answer a finding: a name, and all edits that it takes."""

    name: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. `thing` is the wire thing by name; `spec` its place in the document; `hand` the place to change."""

    id: str
    severity: Severity
    thing: str
    message: str
    spec: Place | None = None
    arrives: tuple[str, ...] = ()
    hand: Place | None = None
    answers: tuple[Answer, ...] = ()


def failed(findings: Iterable[Finding]) -> bool:
    """Whether a check with these findings fails."""
    return any(finding.severity == "error" for finding in findings)


def as_text(findings: list[Finding]) -> str:
    """For people."""
    blocks = [_block(finding) for finding in findings]
    errors = sum(finding.severity == "error" for finding in findings)
    news = len(findings) - errors
    if not findings:
        return "The build gate is closed: everything that can arrive is decided.\n"
    return "\n".join([*blocks, f"{errors} to decide, {news} for information\n"])


def _block(finding: Finding) -> str:
    lines = [f"{finding.severity}[{finding.id}] {finding.thing}: {finding.message}"]
    if finding.spec:
        lines.append(f"  declared at  {finding.spec}")
    if finding.arrives:
        more = f" and {len(finding.arrives) - 3} more places" if len(finding.arrives) > 3 else ""
        lines.append(f"  arrives at   {', '.join(finding.arrives[:3])}{more}")
    if finding.hand:
        lines.append(f"  change       {finding.hand}")
    for answer in finding.answers:
        lines.append(f"  to {answer.name}:")
        for edit in answer.edits:
            where = {"insert": "after", "replace": "in place of", "delete": "delete"}[edit.how]
            to = f"-{edit.line + edit.lines - 1}" if edit.lines > 1 else ""
            lines.append(f"    {where} {edit.file}:{edit.line}{to}")
            lines += [f"      | {line}" for line in edit.text.splitlines()]
    return "\n".join(lines) + "\n"


def as_json(findings: list[Finding]) -> str:
    """For programs: `{"findings": [...], "errors": n}`."""
    errors = sum(finding.severity == "error" for finding in findings)
    return json.dumps({"findings": [asdict(finding) for finding in findings], "errors": errors}, indent=2) + "\n"


def as_annotations(findings: list[Finding]) -> str:
    """Workflow commands that a hosted CI shows beside the line to change."""
    lines: list[str] = []
    for finding in findings:
        level = "error" if finding.severity == "error" else "notice"
        place = finding.hand or finding.spec
        where = f"file={place.file},line={place.line}," if place else ""
        lines.append(f"::{level} {where}title={_escaped(finding.id, ':,')}::{_escaped(_block(finding).strip())}")
    return "".join(f"{line}\n" for line in lines)


def _escaped(text: str, more: str = "") -> str:
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text
