# ruff: noqa: E501  # the tables below: one row, one line
"""The check: this checkout is clean, and every finding comes when it should, with its place and its lines."""

import dataclasses
import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from codegen import check, hand, report
from codegen.__main__ import main
from codegen.report import Finding
from tests.codegen.support import ROOT, checkout

DECISIONS, LEDGER = hand.DECISIONS, hand.LEDGER
ASSEMBLER = hand.CORE / "assembler.py"


def test_this_checkout_is_clean() -> None:
    assert check.check(ROOT) == []


def test_generation_is_deterministic_whatever_the_hash_seed() -> None:
    code = "from codegen import generate, check; from codegen.document import read; from pathlib import Path; import hashlib, json; print(hashlib.sha256(json.dumps(generate.texts(read(Path('openapi/mistral.yaml')))).encode()).hexdigest())"
    digests = {
        subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, env={"PYTHONHASHSEED": seed, "PATH": "/usr/bin"},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("0", "4711")
    }  # fmt: skip
    assert len(digests) == 1


def test_the_parsed_tables_are_the_ones_that_run() -> None:
    """The gate parses the files and never imports them: what it reads must be what the program has."""
    for path in (DECISIONS, LEDGER):
        module = ".".join(path.with_suffix("").parts[1:])
        found = importlib.util.find_spec(module)
        assert found
        running = importlib.import_module(module)
        for name, table in hand.tables(ROOT, path).items():
            rows = {key: row for key, row in vars(running)[name].items() if not isinstance(row, str)}
            assert set(table.rows) == set(rows), name
            for key, row in table.rows.items():
                assert row.action == rows[key].action
                assert row.reason == (rows[key].reason if path == DECISIONS else rows[key].what)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checkout(tmp_path_factory.mktemp("check"))


def replaced(root: Path, path: Path, old: str, new: str, run: Callable[[Path], list[Finding]]) -> list[Finding]:
    """The findings of a checkout in which one thing is different."""
    file = root / path
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1, (old, text.count(old))
    file.write_text(text.replace(old, new), encoding="utf-8")
    try:
        return run(root)
    finally:
        file.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("path", "old", "new", "id_", "thing"),
    [
        (DECISIONS, '    "file": rejected("a file has no place in pi\'s content model"),\n', "", "tag-new", "ContentChunk 'file'"),
        (DECISIONS, '    "file": rejected(', '    "video": rejected("x"),\n    "file": rejected(', "tag-gone", "ContentChunk 'video'"),
        (DECISIONS, '"tool_reference": rejected(', '"tool_ref": rejected(', "part-new", "ThinkingPart 'tool_reference'"),
        (DECISIONS, '"tool_reference": rejected(', '"tool_ref": rejected(', "part-gone", "ThinkingPart 'tool_ref'"),
        (DECISIONS, '"a file has no place in pi\'s content model"', '"TODO"', "reason-missing", "CONTENT 'file'"),
        (DECISIONS, '    "model_length": Finish("mapped", "the answer reached the model\'s context length", "length"),\n', "",
         "enum-value-new", "finish_reason 'model_length'"),
        (DECISIONS, '    "error": Finish(', '    "more": Finish("mapped", "x", "stop"),\n    "error": Finish(', "enum-value-gone", "finish_reason 'more'"),
        (DECISIONS, "ROLE: Final", "ROLES: Final", "table-missing", "DeltaMessage.role"),
        (ASSEMBLER, ' | "file"', "", "arm-missing", "ContentChunk 'file'"),
        (DECISIONS, '"file": rejected(', '"file": mapped(', "arm-differs", "ContentChunk 'file'"),
        (LEDGER, '"DeltaMessage.index": ', '"DeltaMessage.place": ', "field-new", "DeltaMessage.index"),
        (LEDGER, '"DeltaMessage.index": ', '"DeltaMessage.place": ', "field-gone", "DeltaMessage.place"),
        (LEDGER, '"TextChunk.text": mapped("string"', '"TextChunk.text": mapped("string | null"', "field-type-changed", "TextChunk.text"),
        (LEDGER, '"TextChunk.text": mapped("string", "required"', '"TextChunk.text": mapped("string", "optional"', "field-presence-changed", "TextChunk.text"),
        (LEDGER, '    "ResourceContent": Whole(("image_url", "text")', '    "ResourceContent": Whole(("text",)', "part-new", "ResourceContent 'image_url'"),
        (LEDGER, '    "ResourceContent": Whole(("image_url", ', '    "ResourceContent": Whole(("image_url", "x", ', "part-gone", "ResourceContent 'x'"),
        (LEDGER, '    "ResourceContent": Whole(', '    "ResourceThing": Whole(', "union-new", "ResourceContent"),
        (LEDGER, '    "ResourceContent": Whole(', '    "ResourceThing": Whole(', "union-gone", "ResourceThing"),
        (LEDGER, '    "ImageDetail": Whole(("auto", ', '    "ImageDetail": Whole((', "enum-value-new", "ImageDetail 'auto'"),
        (LEDGER, '    "ImageDetail": Whole(("auto", ', '    "ImageDetail": Whole(("auto", "x", ', "enum-value-gone", "ImageDetail 'x'"),
        (LEDGER, '    "ImageDetail": Whole(', '    "ImageSize": Whole(', "enum-new", "ImageDetail"),
        (LEDGER, '    "ImageDetail": Whole(', '    "ImageSize": Whole(', "enum-gone", "ImageSize"),
    ],
)  # fmt: skip
def test_a_gap_in_the_tables_is_found(tree: Path, path: Path, old: str, new: str, id_: str, thing: str) -> None:
    found = replaced(tree, path, old, new, lambda root: check.decisions(check.read(root)))
    assert (id_, thing) in {(finding.id, finding.thing) for finding in found}
    for finding in found:
        assert finding.id in report.IDS
        assert finding.severity == "error"
        if finding.hand:
            assert finding.hand.line <= len((tree / finding.hand.file).read_text().splitlines()) + 1


@pytest.mark.parametrize(
    ("path", "old", "new", "id_", "thing"),
    [
        ("src/nodrop/wire/models.py", "class TextChunk(", "class TextChunkX(", "generated-stale", "src/nodrop/wire/models.py"),
        ("openapi/mistral.yaml", "    UsageInfo:\n", "    UsageInfo:  # edited\n", "lock-mismatch", "openapi/mistral.yaml"),
        ("openapi/patches.toml", "# ---- looser", "# --- looser", "lock-mismatch", "openapi/patches.toml"),
        ("openapi/mistral.lock.json", '"jinja2": "', '"jinja2": "0.', "lock-mismatch", "jinja2"),
        ("openapi/patches.toml", 'change = "may-be-absent"\nreason = "A last', 'change = "may-be-null"\nreason = "A last',
         "lock-mismatch", "openapi/mistral.yaml"),
        ("openapi/patches.toml", 'at = "/components/schemas/FunctionCall/properties/name"', 'at = "/components/schemas/Nothing/properties/name"',
         "patch-unfit", "function-name"),
        ("openapi/patches.toml", 'at = "/components/schemas/FunctionCall/properties/name"', 'at = "/components/schemas/ThinkChunk/properties/signature"',
         "patch-stale", "function-name"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_what_it_should_be_is_found(
    tree: Path, path: str, old: str, new: str, id_: str, thing: str
) -> None:
    found = replaced(tree, Path(path), old, new, check.check)
    assert (id_, thing) in {(finding.id, finding.thing) for finding in found}


def test_a_file_that_nothing_generates_is_found(tree: Path) -> None:
    (tree / "src/nodrop/wire/extra.py").write_text("")
    (tree / "src/nodrop/wire/catalogue.py").rename(tree / "src/nodrop/wire/catalogue.txt")
    found = check.check(tree)
    (tree / "src/nodrop/wire/extra.py").unlink()
    (tree / "src/nodrop/wire/catalogue.txt").rename(tree / "src/nodrop/wire/catalogue.py")
    assert [(finding.id, finding.thing) for finding in found] == [
        ("generated-stale", "src/nodrop/wire/catalogue.py"),
        ("generated-stale", "src/nodrop/wire/extra.py"),
    ]


@pytest.mark.parametrize(
    ("path", "old", "new", "words"),
    [
        (DECISIONS, '    "file": rejected("a file has', '    **{"x": rejected("x")},\n    "file": rejected("a file has', "a `**` hides entries"),
        (DECISIONS, '    "file": rejected("a file has', '    "text": rejected("x"),\n    "file": rejected("a file has', "'text' is twice in CONTENT"),
        (DECISIONS, 'rejected("a file has no place in pi\'s content model")', "rejected(str(1))", "write its reason as a plain string"),
        (DECISIONS, '    "file": rejected("a file has', '    str("file"): rejected("a file has', "not readable"),
        (DECISIONS, "CONTENT: Final[Mapping", "CONTENTS: Final[Mapping", "no table CONTENT"),
        (LEDGER, "FIELDS: Final[Mapping", "FIELD: Final[Mapping", "no table FIELDS"),
        (LEDGER, "def mapped(", "def mapped((", "not Python"),
        (Path("openapi/mistral.lock.json"), '"source"', '"sauce"', "not a lock file"),
        (Path("openapi/mistral.yaml"), "    UsageInfo:\n", "    UsageInfo: [\n", "not YAML"),
        (Path("openapi/patches.toml"), 'id = "stream-options"', 'id = "resource"', "two patches are called 'resource'"),
        (Path("openapi/patches.toml"), 'id = "resource"', 'id = ""', "a patch needs `id`"),
        (Path("openapi/patches.toml"), 'value = ["model_length"]', 'value = "model_length"', "does not fit the change 'add-values'"),
        (Path("openapi/patches.toml"), 'value = ["model_length"]', 'values = ["model_length"]', "the key 'values' is not known"),
        (Path("openapi/patches.toml"), 'change = "add-member"\nvalue = { tag = "resource",', 'change = "add"\nvalue = { tag = "resource",', "the change 'add' is not known"),
        (Path("openapi/patches.toml"), 'value = ["model_length"]', "value = [", "not TOML"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_named_in_one_line(
    tree: Path, capsys: pytest.CaptureFixture[str], path: Path, old: str, new: str, words: str
) -> None:
    def run(root: Path) -> list[Finding]:
        assert main(["--root", str(root), "check"]) == 2
        return []

    replaced(tree, path, old, new, run)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("codegen: ")
    assert err.count("\n") == 1
    assert words in err


def test_the_three_formats(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = '"ImageURL.url": rejected("string"', '"ImageURL.url": rejected("integer"'
    outputs: dict[str, str] = {}

    def run(root: Path) -> list[Finding]:
        for style in ("text", "json", "github"):
            assert main(["--root", str(root), "check", "--format", style]) == 0  # nobody reads it: news, not a danger
            outputs[style] = capsys.readouterr().out
        return []

    replaced(tree, LEDGER, old, new, run)
    assert "info[field-type-changed] ImageURL.url: its entry was written for integer, it is string" in outputs["text"]
    assert re.search(r"declared at  openapi/mistral\.yaml:\d+", outputs["text"])
    assert "arrives at   choices[].delta.content[].image_url.url" in outputs["text"]
    assert re.search(r"change       src/nodrop/core/fields\.py:\d+", outputs["text"])
    assert '"ImageURL.url": rejected("string", "required", "with its chunk"),' in outputs["text"]
    (finding,) = json.loads(outputs["json"])["findings"]
    assert {field.name for field in dataclasses.fields(Finding)} == set(finding)
    assert re.match(
        r"::notice file=src/nodrop/core/fields\.py,line=\d+,title=field-type-changed::info", outputs["github"]
    )
    assert outputs["github"].count("\n") == 1


def test_the_command_exits_with_0_when_all_is_decided() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "codegen", "check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == "The build gate is closed: everything that can arrive is decided.\n"


def test_every_id_is_explained() -> None:
    page = (ROOT / "docs/new-wire-type.md").read_text(encoding="utf-8")
    for name in report.IDS:
        assert f"`{name}`" in page, name
