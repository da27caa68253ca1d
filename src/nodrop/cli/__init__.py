"""The command ``nodrop``. Exit status: 0 for ``done``, 1 for ``error``, 130 for an abort, 2 for wrong usage."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Final

from nodrop.version import __version__

USAGE_ERROR: Final = 2
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
    """Runs the command line; gives the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A terminal that cannot show a character gets its escape: nothing is lost, and nothing raises.
            stream.reconfigure(errors="backslashreplace")
    given = list(sys.argv[1:] if arguments is None else arguments)
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
    parsed = parser.parse_args(given)
    return run_command(parsed)


def run_command(parsed: argparse.Namespace) -> int:
    """Runs one command. A mistake of the call is one line on stderr and status 2, never a traceback."""
    from nodrop.errors import ConfigurationError

    try:
        status: int = import_module(f"nodrop.cli.{parsed.command}").run(parsed)
    except ConfigurationError as error:
        print(f"nodrop: {error}", file=sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output is gone (`nodrop … | head`): nobody is left to be told. Python would complain
        # once more when it flushes at exit.
        sys.stdout = open("/dev/null", "w")  # noqa: SIM115
        return 1
    return status
