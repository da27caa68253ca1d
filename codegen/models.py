"""The pinned datamodel-code-generator run: from the vendored document to the text of `wire/models.py`.

The generator gets a document *prepared for generation*. There every default is gone except the tags' own, so that what
is absent stays absent and nothing unset is sent; objects that can arrive keep unknown keys, objects that are only sent
refuse them.
"""

import copy
import functools
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from codegen import spec
from codegen.document import Schema, dump, without
from codegen.errors import CannotRunError

# Each flag is there for a measured reason. Not among them: --collapse-root-models (the unions lose their names),
# --union-mode (crashes at import), --keep-model-order (alphabetical).
FLAGS: Final = (
    "--input-file-type", "openapi",
    "--output-model-type", "pydantic_v2.BaseModel",
    "--base-class", "nodrop.wire.base.WireModel",
    "--target-python-version", "3.11",
    "--target-pydantic-version", "2.11",
    "--use-annotated",
    "--enum-field-as-literal", "all",
    "--use-type-alias",                    # unions and enums keep their names
    "--use-one-literal-as-default",        # a tag is `type: Literal["text"] = "text"`, required upstream or not
    "--strict-nullable",                   # without it a plain optional string becomes nullable with a default
    "--strict-refs",
    "--disable-timestamp",
    "--use-double-quotes",
    "--custom-file-header",
    "# GENERATED from openapi/mistral.yaml by `make generate`. Do not edit by hand: `make check` would report it.",
    "--formatters", "ruff-check", "ruff-format",
    "--ignore-pyproject",
)  # fmt: skip


def prepare(document: Schema) -> Schema:
    """The document as the generator is to see it."""
    result = copy.deepcopy(document)
    result["info"] = {"title": "chat completions", "version": "0"}  # of no interest to the models
    arriving = spec.response_side(document)
    for name, schema in spec.schemas(result).items():
        spec.schemas(result)[name] = without(schema, frozenset({"default"}))
        if "properties" in schema:
            prepared = spec.schemas(result)[name]
            prepared["additionalProperties"] = name in arriving
            if name not in arriving:  # a constant that is only sent is always sent; one that arrives may be absent
                constants = {key for key, value in schema["properties"].items() if "const" in value}
                prepared["required"] = sorted({*schema.get("required", ()), *constants})
    return result


def generate(document: Schema) -> str:
    """The text of `models.py`. Raises CannotRunError with the generator's own last words when it refuses."""
    return _run(dump(prepare(document)))


@functools.lru_cache(maxsize=32)  # the same document gives the same models: a bump and the check after it need one run
def _run(prepared: str) -> str:
    with tempfile.TemporaryDirectory(prefix="nodrop-codegen-") as folder:
        source, output = Path(folder, "openapi.yaml"), Path(folder, "models.py")
        source.write_text(prepared, encoding="utf-8")
        # The formatters are found on PATH: the ones installed beside this interpreter come first.
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        command = [sys.executable, "-m", "datamodel_code_generator", "--input", str(source), "--output", str(output)]
        environment = {**os.environ, "PATH": path}
        run = subprocess.run(
            [*command, *FLAGS], capture_output=True, text=True, env=environment, cwd=folder, check=False
        )
        if run.returncode != 0:
            last = (run.stderr.strip() or run.stdout.strip() or "no words").splitlines()[-1]
            raise CannotRunError(f"datamodel-code-generator failed ({last}): run `make setup` for the pinned version")
        return output.read_text(encoding="utf-8")
