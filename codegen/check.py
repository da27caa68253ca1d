"""`python -m codegen check`: every finding of a checkout."""

from pathlib import Path

from codegen import catalogue, check_fields, check_types, document, generate, lock, patches
from codegen.document import Schema
from codegen.errors import CannotRunError
from codegen.report import Answer, Edit, Finding, Place
from codegen.sides import Hand, Sides

OPENAPI = Path("openapi")
VENDORED, UPSTREAM, PATCHES = OPENAPI / "mistral.yaml", OPENAPI / "upstream.yaml", OPENAPI / "patches.toml"


def check(root: Path) -> list[Finding]:
    """All findings of a checkout. Raises CannotRunError when one of its files cannot be read."""
    sides = read(root)
    locked = lock.read(root)
    found = [*decisions(sides), *_patches(root, locked), *_lock(root, locked)]
    return [*found, *_generated(root)]


def read(root: Path) -> Sides:
    """What can arrive and what was decided, of a checkout."""
    vendored = document.read(root / VENDORED)
    lines = document.lines((root / VENDORED).read_text(encoding="utf-8"))
    return Sides(build(vendored), Hand.read(root), lines)


def build(vendored: Schema) -> catalogue.Catalogue:
    """The catalogue of a vendored document. Raises CannotRunError when it is not in normal form."""
    try:
        return catalogue.build(vendored)
    except (KeyError, TypeError) as error:
        raise CannotRunError(f"{VENDORED}: not in normal form ({error!r}): `make bump` writes it") from error


def decisions(sides: Sides) -> list[Finding]:
    """What can arrive against what was decided."""
    types, renamed = check_types.findings(sides)
    return [*types, *check_fields.findings(sides, renamed)]


def patch_findings(outcomes: list[patches.Outcome]) -> list[Finding]:
    """Stale and unfit patches."""
    found: list[Finding] = []
    for outcome in outcomes:
        patch = outcome.patch
        advice = {
            "stale": f"{outcome.why}: take the patch out, then `make bump` again",
            "unfit": f"{outcome.why}: rewrite the patch or take it out, then `make bump` again",
        }.get(outcome.state)
        if advice:
            place = Place(str(PATCHES), patch.line)
            edit = Edit("delete", str(PATCHES), patch.line, "")
            answer = Answer("take it out, with all its lines", (edit,))
            found.append(Finding(f"patch-{outcome.state}", "error", patch.id, advice, hand=place, answers=(answer,)))
    return found


def _patches(root: Path, locked: Schema) -> list[Finding]:
    """Stale and unfit patches; and whether the vendored document is the upstream one with the patches applied."""
    upstream = document.read(root / UPSTREAM)
    patched, outcomes = patches.apply(upstream, patches.read(root / PATCHES), locked["source"]["name"])
    found = patch_findings(outcomes)
    if document.dump(patched) != (root / VENDORED).read_text(encoding="utf-8"):
        message = "it is not upstream.yaml with patches.toml applied: `make bump` again, or undo the edit"
        found.append(Finding("lock-mismatch", "error", str(VENDORED), message, Place(str(VENDORED), 1)))
    return found


def _lock(root: Path, locked: Schema) -> list[Finding]:
    found: list[Finding] = []
    for name, expected in locked["sha256"].items():
        path = OPENAPI / name
        if lock.digest((root / path).read_bytes()) != expected:
            message = "its hash is not the one in the lock: `make bump` again, or undo the edit"
            found.append(Finding("lock-mismatch", "error", str(path), message, Place(str(path), 1)))
    here = lock.tools()
    for name, expected in locked["tools"].items():
        if here.get(name) != expected:
            message = (
                f"the lock has {expected}, here is {here.get(name)}: `make setup`, or `make bump` with the new one"
            )
            found.append(Finding("lock-mismatch", "error", name, message, Place(str(lock.LOCK), 1)))
    return found


def _generated(root: Path) -> list[Finding]:
    found: list[Finding] = []
    expected = generate.texts(document.read(root / VENDORED))
    there = {path.name for path in (root / generate.WIRE).glob("*.py")} - set(generate.HAND_WRITTEN)
    for name in sorted({*expected, *there}):
        path = generate.WIRE / name
        text = (root / path).read_text(encoding="utf-8") if name in there else None
        if text != expected.get(name):
            what = (
                "it is not there" if text is None else "nothing generates it" if name not in expected else "it differs"
            )
            message = f"{what}: `make generate`, and never edit it by hand"
            found.append(Finding("generated-stale", "error", str(path), message, hand=Place(str(path), 1)))
    return found
