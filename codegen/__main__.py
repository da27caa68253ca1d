"""The command line of the build gate: `python -m codegen {generate}`."""

import argparse
import sys
from pathlib import Path

from codegen import generate
from codegen.errors import CannotRunError


def main() -> int:
    """Run one command. 0: clean, 1: findings, 2: cannot run (one line says why)."""
    parser = argparse.ArgumentParser(prog="python -m codegen", description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(__file__).parent.parent, help="the checkout to work in")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("generate", help="write src/nodrop/wire from openapi/mistral.yaml")
    options = parser.parse_args()
    try:
        for path in generate.write(options.root):
            print(path.relative_to(options.root))
    except CannotRunError as error:
        print(f"codegen: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
