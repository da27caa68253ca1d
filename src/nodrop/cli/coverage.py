"""``nodrop coverage``: what becomes of every wire type and field, from the tables that the build gate checks."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from nodrop.core import decisions, fields
from nodrop.wire import SPEC_VERSION


class Row(NamedTuple):
    """One decision: the kind of thing, its name on the wire, the action, and what becomes of it or why."""

    kind: str
    name: str
    action: str
    reason: str


def rows(*, with_fields: bool) -> Iterator[Row]:
    """Every decision, in the order of the tables."""
    tables: dict[str, Mapping[Any, decisions.Decision]] = {
        "content type": decisions.CONTENT,
        "thinking part": decisions.THINKING_PART,
        "finish reason": decisions.FINISH_REASON,
        "role": decisions.ROLE,
        "tool call type": decisions.CALL_TYPE,
    }
    for kind, table in tables.items():
        for name, decision in table.items():
            yield Row(kind, name or '""', decision.action, decision.reason)
    yield Row("candidate", "choices[1]", decisions.SECOND_CANDIDATE.action, decisions.SECOND_CANDIDATE.reason)
    for name, reason in fields.FOREIGN.items():
        yield Row("foreign field", name, "rejected", f"when not empty: {reason}")
    if with_fields:
        for name, entry in fields.FIELDS.items():
            yield Row("field", name, entry.action, entry.what)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fields", action="store_true", help="the ledger of fields too")
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    parser.add_argument("--markdown", action="store_true", help="print the page docs/coverage.md")


def markdown() -> str:
    """The documentation's page of decisions."""
    lines = [
        "# What becomes of every wire type and field",
        "",
        f"Written by `nodrop coverage --markdown` for spec {SPEC_VERSION}, from the tables that the build gate checks,",
        "`src/nodrop/core/decisions.py` and `src/nodrop/core/fields.py`; a test keeps the page so. What no line",
        "names is rejected as unknown, by name; an unknown field is kept on `message.unmapped`.",
    ]
    kind = ""
    for row in rows(with_fields=True):
        if row.kind != kind:
            kind = row.kind
            lines += [
                "",
                f"## {kind[0].upper()}{kind[1:]}s",
                "",
                "| on the wire | action | what becomes of it, or why |",
            ]
            lines.append("|---|---|---|")
        cells = [f"`{row.name}`", row.action, row.reason]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def run(arguments: argparse.Namespace) -> int:
    found = list(rows(with_fields=arguments.fields or arguments.json))
    if arguments.json:
        for row in found:
            print(json.dumps(row._asdict(), ensure_ascii=False))
        return 0
    if arguments.markdown:
        print(markdown(), end="")
        return 0
    print(f"wire types of Mistral's chat completions, spec {SPEC_VERSION}: what becomes of each\n")
    name_width = max(len(row.name) for row in found)
    kind = ""
    for row in found:
        if row.kind != kind:
            kind = row.kind
            print(f"{kind}s")
        print(f"  {row.name:<{name_width}}  {row.action:<8}  {row.reason}")
    print("\nWhat no line names is rejected as unknown, by name; an unknown field is kept on message.unmapped.")
    if not arguments.fields:
        print(f"{len(fields.FIELDS)} fields more: nodrop coverage --fields")
    return 0
