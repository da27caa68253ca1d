"""`python -m codegen bump`: from a full upstream document to a regenerated checkout, and the findings.

Everything is made in memory first. Then the files are put in place one rename each, and put back when one fails: a
checkout is bumped, or it is as it was.
"""

import datetime
import os
import re
import tempfile
import urllib.request
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import urlsplit

from codegen import check, document, generate, lock, news, patches, sides, spec
from codegen.errors import CannotRunError
from codegen.report import Finding

_LARGEST: Final = 32 * 2**20
_SECONDS: Final = 60


@dataclass(frozen=True, slots=True)
class Source:
    """An upstream document: its bytes, what errors call it, and what the lock calls it."""

    data: bytes
    name: str
    origin: str


def fetch(where: str, origin: str) -> Source:
    """The document in a file or behind a URL. Raises CannotRunError when it cannot be had."""
    if not where:
        raise CannotRunError("no document to bump to: make bump SPEC=<file or URL>")
    if where.startswith(("http://", "https://")):
        name = PurePosixPath(urlsplit(where).path).name or "document"
        try:
            with urllib.request.urlopen(where, timeout=_SECONDS) as answer:  # the scheme is checked above
                data: bytes = answer.read(_LARGEST + 1)
        except (OSError, ValueError) as error:  # URLError and HTTPError are OSErrors
            raise CannotRunError(f"{name}: cannot be fetched ({error}): try again, or give a file") from None
    else:
        name = Path(where).name
        try:
            data = Path(where).read_bytes()
        except OSError as error:
            raise CannotRunError(f"{where}: {error.strerror}: give an OpenAPI document, as a file or a URL") from None
    if len(data) > _LARGEST:
        raise CannotRunError(f"{name}: larger than {_LARGEST >> 20} MiB: give Mistral's own OpenAPI document")
    return Source(data, name, origin or name)


def bump(root: Path, source: Source, day: str, *, adding: bool = True) -> list[Finding]:
    """Bump a checkout, and give all findings of it. `adding=False` leaves out the patches that add.

    Raises CannotRunError, with the checkout as it was, when the document or a hand-written file cannot be read, or the
    generator refuses.
    """
    parsed = document.parse(source.data, source.name)
    upstream = spec.cut(parsed, source.name, _version(parsed, day))
    entries = patches.read(root / check.PATCHES)
    used = [patch for patch in entries if adding or not patch.adds]
    patched, outcomes = patches.apply(upstream, used, source.origin)
    before = document.read(root / check.VENDORED) if (root / check.VENDORED).exists() else None
    files = {
        check.UPSTREAM: document.dump(upstream).encode(),
        check.VENDORED: document.dump(patched).encode(),
        check.PATCHES: (root / check.PATCHES).read_bytes(),
    }
    facts = {
        "name": source.origin,
        "sha256": lock.digest(source.data),
        "version": upstream["info"]["version"],
        "date": day,
    }
    files[lock.LOCK] = lock.text(facts, {path.name: data for path, data in files.items()}).encode()
    generated = generate.texts(patched)
    files |= {generate.WIRE / name: text.encode() for name, text in generated.items()}
    old = [
        path.relative_to(root) for path in (root / generate.WIRE).glob("*.py") if path.name not in generate.HAND_WRITTEN
    ]
    both = sides.Sides(check.build(patched), sides.Hand.read(root), document.lines(files[check.VENDORED].decode()))
    _put(root, files, [path for path in old if path not in files])
    found = [*check.decisions(both), *check.patch_findings(outcomes)]
    return [*found, *(news.request_side(before, patched, both) if before else [])]


def _version(parsed: document.Schema, day: str) -> str:
    """Upstream's version; with the day of the bump, where it is no date by itself (it has not moved in years)."""
    info = parsed.get("info")
    version = str(info.get("version", "0")) if document.is_object(info) else "0"
    return version if re.match(r"\d{4}\D\d\d", version) else f"{version}+{day}"


def today() -> str:
    """The day, in UTC."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def _put(root: Path, files: dict[Path, bytes], gone: list[Path]) -> None:
    """Put files in place, and take others away: all, or none."""
    saved = {path: (root / path).read_bytes() if (root / path).exists() else None for path in [*files, *gone]}
    try:
        for path, data in files.items():
            _replace(root / path, data)
        for path in gone:
            (root / path).unlink()
    except BaseException as error:  # an interrupt too: put everything back, then go on failing
        for path, before in saved.items():
            if before is None:
                (root / path).unlink(missing_ok=True)
            elif (root / path).read_bytes() != before:
                _replace(root / path, before)
        if isinstance(error, OSError):
            raise CannotRunError(
                f"cannot write ({error}): everything is as it was; make room, and try again"
            ) from error
        raise


def _replace(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
