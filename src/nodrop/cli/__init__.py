"""The command ``nodrop``. Exit status: 0 for ``done``, 1 for ``error``, 130 for an abort, 2 for wrong usage."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Final

from nodrop.version import __version__

FAILED: Final = 1
USAGE_ERROR: Final = 2
ABORTED: Final = 130
# One module each, with `add_arguments(parser)` and `run(arguments) -> int`; imported only when it is asked for.
_COMMANDS: Final = {
    "demo": "stream a scripted answer over real HTTP: no key, no network",
    "chat": "ask a Mistral model and stream its answer",
    "ask": "ask a question of document libraries and stream the answer",
    "doctor": "each effective setting and where it came from",
    "replay": "decode a recorded body through the same core: no network",
    "coverage": "what becomes of every wire type and field",
    "models": "the rate card: models, prices, context windows",
    "serve": "a gateway that makes an unmodified pi use nodrop",
    "mcp": "the document query as a tool for MCP clients",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; gives the exit status. A closed or full output, or Ctrl-C, is no traceback."""
    sys.stdin, sys.stdout, sys.stderr = (
        stream or open(os.devnull, mode)  # noqa: SIM115 - closed by the shell (`>&-`)
        for stream, mode in ((sys.stdin, "r"), (sys.stdout, "w"), (sys.stderr, "w"))
    )
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A terminal that cannot show a character gets its escape: nothing is lost, and nothing raises.
            stream.reconfigure(errors="backslashreplace")
    try:
        return run_command(_parsed(list(sys.argv[1:] if arguments is None else arguments)))
    except KeyboardInterrupt:
        return ABORTED
    except BrokenPipeError:
        _give_up_output()  # its reader is gone (`nodrop … | head`): nobody is left to be told
        return FAILED
    except OSError as error:
        _give_up_output()
        print(f"nodrop: {error}", file=sys.stderr)  # a full disk, a terminal that is gone
        return FAILED


def _parsed(given: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="nodrop",
        description="Streams Mistral's chat completions and never drops content.",
        epilog="exit status: 0 done, 1 error, 130 aborted, 2 wrong usage",
    )
    parser.add_argument("--version", action="version", version=f"nodrop {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    chosen = next((word for word in given if not word.startswith("-")), None)
    for name, summary in _COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if name == chosen:
            import_module(f"nodrop.cli.{name}").add_arguments(command)
    return parser.parse_args(given)


def run_command(parsed: argparse.Namespace) -> int:
    """Runs one command. A mistake of the call is one line on stderr and status 2."""
    from nodrop.errors import ConfigurationError

    try:
        status: int = import_module(f"nodrop.cli.{parsed.command}").run(parsed)
        sys.stdout.flush()  # here, where a full disk can still be told of
    except ConfigurationError as error:
        print(f"nodrop: {error}", file=sys.stderr)
        return USAGE_ERROR
    return status


def _give_up_output() -> None:
    """Python would complain once more about what it cannot write when it flushes at exit."""
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115
