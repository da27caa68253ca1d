"""docs/events.md lists every type of diagnostic that the code makes, and no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "nodrop"


def made_in(path: Path) -> Iterator[str]:
    """The types in ``note("…")``, ``oddities.append("…")`` and ``Diagnostic(type="…")``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        named = [keyword.value for keyword in node.keywords if keyword.arg == "type" and called == "Diagnostic"]
        first = node.args[:1] if called.endswith((".note", "oddities.append")) else []
        yield from (value.value for value in [*named, *first] if isinstance(value, ast.Constant))  # type: ignore[misc]


def test_every_type_is_listed() -> None:
    made = {kind for part in ("core", "request") for path in (SOURCES / part).glob("*.py") for kind in made_in(path)}
    page = (ROOT / "docs" / "events.md").read_text(encoding="utf-8")
    table = page.partition("`message.diagnostics` tells")[2].partition("## Errors")[0]
    listed = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert sorted(made) == listed
    assert len(made) >= 10
