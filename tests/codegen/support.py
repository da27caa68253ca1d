"""Scratch checkouts, and hands that do what a finding says."""

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from codegen import check
from codegen.report import Answer, Finding

ROOT = Path(__file__).parents[2]
HISTORY = ROOT.parent / "shared/spec-history"
FACTS = ROOT.parent / "shared/wire/mistral.yaml"


def checkout(folder: Path) -> Path:
    """A copy of everything that the gate reads and writes."""
    shutil.copytree(ROOT / "openapi", folder / "openapi")
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def paste(root: Path, answer: Answer) -> None:
    """Carry out the edits of one answer. Lower lines first, so that the numbers above stay true."""
    for edit in sorted(answer.edits, key=lambda edit: (edit.file, -edit.line)):
        path = root / edit.file
        lines = path.read_text(encoding="utf-8").splitlines()
        match edit.how:
            case "insert":
                lines[edit.line : edit.line] = edit.text.splitlines()
            case "replace":
                lines[edit.line - 1 : edit.line - 1 + edit.lines] = edit.text.splitlines()
            case "delete":
                del lines[edit.line - 1 : edit.line - 1 + edit.lines]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def decisions(root: Path) -> list[Finding]:
    """What a check says of the decisions: all but the generated files, the patches and the lock."""
    return check.decisions(check.read(root))


def settle(root: Path, ways: Mapping[str, str], *, arms: bool = True) -> int:
    """Answer finding after finding with its own lines, until none is left; says how many it took.

    `ways`: how a type is answered, by name ("map it"); all others are rejected. `arms=False` leaves the code alone.
    """
    for turn in range(1000):
        left = [
            finding for finding in decisions(root) if finding.answers and finding.id != "union-without-discriminator"
        ]
        if not left:
            return turn
        answers = {answer.name: answer for answer in left[0].answers}
        way = ways.get(left[0].thing.partition(" ")[2].strip("'"), "reject it")
        answer = answers.get(way, left[0].answers[0])
        tables = tuple(edit for edit in answer.edits if arms or not edit.file.endswith("assembler.py"))
        paste(root, replace(answer, edits=tables))
    raise AssertionError("the findings do not end")
