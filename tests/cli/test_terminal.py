"""The commands on terminals that are not of today."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "command", [["demo", "--fast"], ["demo", "ask"], ["demo", "--fast", "--json"], ["coverage"], ["models"]]
)
def test_a_terminal_that_knows_ascii_only_gets_escapes(command: list[str]) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LANG": "C"}
    run = subprocess.run(
        [sys.executable, "-m", "nodrop.cli", *command], env=environment, capture_output=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.isascii()
    assert b"Traceback" not in run.stderr


def test_the_arrow_of_a_tool_call_is_shown_as_its_escape() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    run = subprocess.run(
        [sys.executable, "-m", "nodrop.cli", "demo", "--fast"], env=environment, capture_output=True, check=True
    )
    assert b"\\u2192 tide_table(" in run.stdout
