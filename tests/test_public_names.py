"""The lazy table of public names and the names that type checkers see are the same, and each resolves."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import nodrop

SOURCE = Path(nodrop.__file__)


def seen_by_checkers() -> dict[str, str]:
    """Public name → module, from the ``if TYPE_CHECKING`` block."""
    tree = ast.parse(SOURCE.read_text())
    [block] = [node for node in tree.body if isinstance(node, ast.If) and isinstance(node.test, ast.Name)]
    return {
        alias.asname or alias.name: node.module or ""
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_the_lazy_table_is_what_type_checkers_see() -> None:
    assert seen_by_checkers() == nodrop._MODULE_OF


def test_every_public_name_resolves_and_is_listed() -> None:
    for name in nodrop._MODULE_OF:
        assert getattr(nodrop, name) is not None
        assert name in dir(nodrop)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Cleint"):
        _ = nodrop.Cleint  # type: ignore[attr-defined]


def test_importing_nodrop_loads_no_http_and_no_models() -> None:
    script = "import sys, nodrop; print([name for name in ('httpx', 'pydantic', 'asyncio') if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
