"""The document query and the settings stand on the public API: no HTTP library, nothing of the core but usage_of."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import nodrop

ROOT = Path(nodrop.__file__).parent
FILES = [*sorted((ROOT / "document_query").glob("*.py")), ROOT / "settings.py", ROOT / "toml_file.py"]
ALLOWED = (
    "nodrop.client.", "nodrop.content", "nodrop.errors", "nodrop.wire", "nodrop.rate_card",
    "nodrop.document_query", "nodrop.settings", "nodrop.toml_file",
)  # fmt: skip


def imported(path: Path) -> set[str]:
    """Every name that a file imports, as ``module.name``."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_only_the_public_api(path: Path) -> None:
    names = imported(path)
    assert not {name for name in names if name.startswith(("httpx", "socket", "threading", "h11"))}
    ours = {name for name in names if name.startswith("nodrop.")} - {"nodrop.core.usage.usage_of"}
    assert not {name for name in ours if not name.startswith(ALLOWED)}


@pytest.mark.parametrize("name", ["assembly", "canonical", "declaration", "query", "render", "result"])
def test_the_inner_part_does_no_io(name: str) -> None:
    names = imported(ROOT / "document_query" / f"{name}.py")
    outside = {"asyncio", "time", "os", "pathlib", "logging", "random"}
    assert not {each for each in names if each.split(".")[0] in outside}
    assert not {each for each in names if each.startswith(("nodrop.client", "nodrop.settings"))}
