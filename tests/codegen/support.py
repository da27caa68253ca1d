"""Scratch checkouts, and hands that do what a finding says."""

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from codegen import check
from codegen.report import Edit, Finding

ROOT = Path(__file__).parents[2]
HISTORY = ROOT.parent / "shared/spec-history"
FACTS = ROOT.parent / "shared/wire/mistral.yaml"


def checkout(folder: Path) -> Path:
    """A copy of everything that the gate reads and writes."""
    shutil.copytree(ROOT / "openapi", folder / "openapi")
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    # The package without its front door: only what the core needs is looked at, by the type checkers too.
    (folder / "src/nodrop/__init__.py").write_text('"""A scratch checkout."""\n')
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def paste(root: Path, edits: Iterable[Edit]) -> None:
    """Carry out some edits. Lower lines first, so that the numbers above stay true."""
    for edit in sorted(edits, key=lambda edit: (edit.file, -edit.line, edit.text)):
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


def settle(root: Path, ways: Mapping[str, str], *, arms: bool = True) -> None:
    """Answer findings with their own lines, until none is left: types and values one by one, then fields at once.

    `ways`: how a type is answered, by name ("map it"); all others are rejected. `arms=False` leaves the code alone.
    """
    for _ in range(100):
        left = [finding for finding in decisions(root) if finding.answers]
        left = [finding for finding in left if finding.id != "union-without-discriminator"]
        if not left:
            return
        fields = all(finding.id.startswith("field-") for finding in left)
        edits: set[Edit] = set()
        for finding in left if fields else left[:1]:
            answers = {answer.name: answer for answer in finding.answers}
            way = ways.get(finding.thing.partition(" ")[2].strip("'"), "reject it")
            edits |= set(answers.get(way, finding.answers[0]).edits)
        paste(root, [edit for edit in edits if arms or not edit.file.endswith("assembler.py")])
    raise AssertionError("the findings do not end")
