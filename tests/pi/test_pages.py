"""The pages for pi and for MCP clients: their JSON is JSON, their options and defaults are those of the command."""

from __future__ import annotations

import argparse
import json
import re
from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("page", ["pi.md", "mcp.md"])
def test_json_is_json(page: str) -> None:
    blocks = re.findall(r"^```json\n(.*?)^```$", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)
    assert blocks or page == "pi.md"
    for block in blocks:
        assert isinstance(json.loads(block), dict)


@pytest.mark.parametrize(("page", "command"), [("pi.md", "serve"), ("mcp.md", "mcp")])
def test_options_exist(page: str, command: str) -> None:
    parser = argparse.ArgumentParser()
    import_module(f"nodrop.cli.{command}").add_arguments(parser)
    known = set(parser.format_help().replace("[", " ").replace("]", " ").split())
    text = (DOCS / page).read_text()
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)) - {"--model", "--help"}
    assert named
    assert named <= known


def test_every_option_of_serve_is_on_the_page() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    import_module("nodrop.cli.serve").add_arguments(parser)
    text = (DOCS / "pi.md").read_text()
    options = re.findall(r"--[a-z][a-z-]*", parser.format_usage())
    assert options
    assert [option for option in options if option not in text] == []
