"""The build gate: a wire change never gets past the build unseen."""

import argparse
import os
import sys
from pathlib import Path
from typing import Final

from codegen import bump, check, generate, ledger, report
from codegen.errors import CannotRunError
from codegen.report import Finding

_FORMATS: Final = {"text": report.as_text, "json": report.as_json, "github": report.as_annotations}


def main(arguments: list[str] | None = None) -> int:
    """Run one command. 0: clean, 1: findings, 2: cannot run (one line says why)."""
    options = _parser().parse_args(arguments)
    try:
        return _run(options)
    except CannotRunError as error:
        print(f"codegen: {error}", file=sys.stderr)
        return 2


def _run(options: argparse.Namespace) -> int:
    root: Path = options.root
    if options.command == "generate":
        for path in generate.write(root):
            print(path.relative_to(root))
        return 0
    if options.command == "ledger":
        for line in ledger.write(root):
            print(line)
        return 0
    if options.command == "bump":
        return _show(
            bump.bump(root, bump.fetch(options.spec, options.source), options.date or bump.today()), options.format
        )
    return _show(check.check(root), options.format)


def _show(findings: list[Finding], style: str) -> int:
    sys.stdout.write(_FORMATS[style](findings))
    return 1 if report.failed(findings) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m codegen", description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(__file__).parent.parent, help="the checkout to work in")
    commands = parser.add_subparsers(dest="command", required=True)
    # A hosted CI that shows annotations says so in its environment.
    style = "github" if os.environ.get("GITHUB_ACTIONS") == "true" else "text"
    checking = commands.add_parser("check", help="compare what can arrive with what was decided")
    bumping = commands.add_parser("bump", help="take in an upstream document, regenerate, and check")
    for command in (checking, bumping):
        command.add_argument("--format", choices=_FORMATS, default=style)
    bumping.add_argument("spec", help="a full OpenAPI document of Mistral's API: a file or a URL")
    bumping.add_argument("--source", default="", help="what the lock calls it (default: the file's name)")
    bumping.add_argument("--date", default="", help="the day of the bump (default: today, UTC)")
    commands.add_parser("generate", help="write src/nodrop/wire from openapi/mistral.yaml")
    commands.add_parser("ledger", help="write the ledger entries that follow from decisions already made")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
