"""`openapi/mistral.lock.json`: where the vendored document came from, its hashes, and the tools that generate from it.

No machine's paths and no hosts: a file is called by its name, a URL by its path's last part.
"""

import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Final

from codegen.document import Schema
from codegen.errors import CannotRunError

LOCK: Final = Path("openapi/mistral.lock.json")
LOCKED: Final = ("mistral.yaml", "upstream.yaml", "patches.toml")
TOOLS: Final = ("datamodel-code-generator", "jinja2", "pyyaml", "ruff")


def digest(data: bytes) -> str:
    """The SHA-256 of some bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def tools() -> dict[str, str]:
    """The versions of everything that has a hand in the generated files."""
    return {name: version(name) for name in TOOLS}


def text(source: dict[str, str], files: dict[str, bytes]) -> str:
    """The text of a lock file."""
    hashes = {name: digest(files[name]) for name in LOCKED}
    return json.dumps({"source": source, "sha256": hashes, "tools": tools()}, indent=2) + "\n"


def read(root: Path) -> Schema:
    """The lock file of a checkout. Raises CannotRunError when there is none, or it is not one."""
    path = root / LOCK
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        whole = isinstance(found["source"]["name"], str) and set(found["sha256"]) == set(LOCKED) and found["tools"]
    except OSError as error:
        raise CannotRunError(f"{LOCK}: {error.strerror}: `make bump` writes it") from None
    except (ValueError, KeyError, TypeError):
        whole, found = False, dict[str, str]()
    if not whole:
        raise CannotRunError(f"{LOCK}: not a lock file: `make bump` writes it")
    return dict(found)
