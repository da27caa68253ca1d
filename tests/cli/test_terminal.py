"""The commands on terminals that are not of today, on full disks, and interrupted."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

import nodrop.cli
from nodrop.cli.screen import Screen


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


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("variables", "colour"), [({}, True), ({"TERM": "dumb"}, False), ({"NO_COLOR": "1"}, False)], ids=repr
)
def test_colour_only_where_the_terminal_has_it(
    variables: dict[str, str], colour: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    terminal = Terminal()
    Screen(notes=terminal).note("done")
    assert terminal.getvalue() == ("\x1b[2mdone\x1b[0m\n" if colour else "done\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("command", [["demo", "--fast"], ["coverage"], ["models", "--json"]], ids=" ".join)
def test_a_full_disk_is_one_line(command: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        run = subprocess.run(
            [sys.executable, "-m", "nodrop.cli", *command],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert run.returncode == 1
    assert run.stderr.splitlines() == ["nodrop: [Errno 28] No space left on device"]


def test_a_reader_that_is_gone_is_not_told() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "nodrop.cli", "coverage"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as run:
        assert run.stdout is not None
        run.stdout.close()
        _, err = run.communicate(timeout=60)
    assert (run.returncode, err) == (1, b"")


def test_an_interrupt_while_a_command_is_loaded_is_status_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(nodrop.cli, "import_module", interrupted)
    assert nodrop.cli.main(["models"]) == 130


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_a_stream_that_the_shell_closed(closed: str) -> None:
    command = f"{sys.executable} -m nodrop.cli models --json {closed}"
    run = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert bool(run.stdout) == (closed != ">&-")
