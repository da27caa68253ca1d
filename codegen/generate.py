"""`python -m codegen generate`: the generated files of `src/nodrop/wire`."""

from pathlib import Path
from typing import Final

from codegen import catalogue, models
from codegen.document import Schema, read

DOCUMENT: Final = Path("openapi/mistral.yaml")
WIRE: Final = Path("src/nodrop/wire")
HAND_WRITTEN: Final = ("base.py",)  # everything else in the folder is ours to delete


def texts(document: Schema) -> dict[str, str]:
    """File name → text of every generated file. Raises CannotRunError when the generator refuses the document."""
    return {"models.py": models.generate(document), **catalogue.render(document)}


def write(root: Path) -> list[Path]:
    """Delete the old output in `root`, write the new one, and say what was written.

    Everything is generated before anything is deleted: a document that the generator refuses leaves the tree as it was.
    """
    generated = texts(read(root / DOCUMENT))
    folder = root / WIRE
    folder.mkdir(parents=True, exist_ok=True)
    for old in sorted(folder.glob("*.py")):
        if old.name not in HAND_WRITTEN:
            old.unlink()
    for name, text in generated.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in generated]
