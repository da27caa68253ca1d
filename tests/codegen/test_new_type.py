"""From a new type on the wire to a green build: what fails, what the finding says, and that its lines are enough."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from codegen import bump, check, generate, ledger, spec
from codegen.__main__ import main
from codegen.document import Schema, dump, read
from codegen.report import Edit
from tests.codegen.support import ROOT, checkout, paste

DAY = "2026-11-30"
SOURCE = "SDK 3.7.0"


def add_video(document: Schema) -> None:
    named = spec.schemas(document)
    named["VideoURLChunk"] = {
        "type": "object",
        "required": ["type", "video_url"],
        "properties": {"type": {"type": "string", "const": "video_url"}, "video_url": {"type": "string"}},
    }
    reference = "#/components/schemas/VideoURLChunk"
    named["ContentChunk"]["oneOf"].append({"$ref": reference})
    named["ContentChunk"]["discriminator"]["mapping"]["video_url"] = reference


def take_away_resource_link(document: Schema) -> None:
    named = spec.schemas(document)
    del named["ResourceLinkChunk"]
    del named["ContentChunk"]["discriminator"]["mapping"]["resource_link"]
    named["ContentChunk"]["oneOf"].remove({"$ref": "#/components/schemas/ResourceLinkChunk"})


def type_checkers(root: Path, cache: Path) -> dict[str, subprocess.CompletedProcess[str]]:
    """mypy and pyright, strict, on the hand-written files that the gate speaks of, in a checkout."""
    files = [f"src/nodrop/core/{name}.py" for name in ("assembler", "decisions", "fields")]
    config = {"typeCheckingMode": "strict", "include": files, "extraPaths": ["src"], "pythonVersion": "3.11"}
    (root / "pyrightconfig.json").write_text(json.dumps(config))
    strict = ["--config-file", "pyproject.toml", "--cache-dir", str(cache), "--follow-imports", "silent"]
    commands = {"mypy": ["mypy", *strict, *files], "pyright": ["pyright", "--project", "pyrightconfig.json"]}
    return {
        name: subprocess.run([sys.executable, "-m", *command], cwd=root, capture_output=True, text=True, check=False)
        for name, command in commands.items()
    }


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One mypy cache for all checkouts: most of their files are the same."""
    return tmp_path_factory.mktemp("mypy")


def test_a_tenth_type_fails_the_check_and_both_type_checkers(
    tmp_path: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = checkout(tmp_path / "tree")
    document = read(root / check.VENDORED)
    add_video(document)
    (root / check.VENDORED).write_text(dump(document))
    generate.write(root)
    assert main(["--root", str(root), "check", "--format", "json"]) == 1
    findings = {found["thing"]: found for found in json.loads(capsys.readouterr().out)["findings"]}
    found = findings["ContentChunk 'video_url'"]
    assert found["id"] == "tag-new"
    assert "choices[].delta.content[]" in found["arrives"]
    line = (root / check.VENDORED).read_text().splitlines()[found["spec"]["line"] - 1]
    assert line.strip() == "video_url: '#/components/schemas/VideoURLChunk'"
    assert found["hand"]["file"] == "src/nodrop/core/decisions.py"
    decisions = (root / found["hand"]["file"]).read_text().splitlines()
    assert decisions[found["hand"]["line"] - 1].strip().startswith('"resource_link":')
    reject, mapping = found["answers"]
    assert reject["edits"][0]["text"].strip().startswith('"video_url": rejected(')
    assert reject["edits"][1]["file"] == "src/nodrop/core/assembler.py"
    assert reject["edits"][1]["text"].strip().endswith('| "resource_link" | "video_url":')
    assert 'case "video_url":' in mapping["edits"][1]["text"]
    # The document was edited past the lock: that is said as well, and nothing else is.
    ids = {found["id"] for found in findings.values()}
    assert ids == {"tag-new", "field-new", "lock-mismatch"}

    main(["--root", str(root), "check"])
    text = capsys.readouterr().out
    for part in (
        "ContentChunk 'video_url'",
        "choices[].delta.content[]",
        "src/nodrop/core/decisions.py:",
        "assembler.py:",
    ):
        assert part in text

    for name, run in type_checkers(root, cache).items():
        assert run.returncode == 1, f"{name} does not see it: {run.stdout}"
        assert "VideoURLChunk" in run.stdout
        assert "assembler.py" in run.stdout


@pytest.mark.parametrize("way", ["reject it", "map it"])
def test_the_walk_from_a_new_tag_to_a_green_build(
    tmp_path: Path, cache: Path, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`resource_link` arrives. One row and one arm by hand, as the finding prints them; the ledger follows."""
    root = before_resource_link(tmp_path)
    upstream = read(ROOT / check.UPSTREAM)
    whole = tmp_path / "upstream.yaml"
    whole.write_text(dump(upstream))
    assert main(["--root", str(root), "bump", str(whole), "--source", SOURCE, "--date", DAY, "--format", "json"]) == 1
    findings = json.loads(capsys.readouterr().out)["findings"]
    (found,) = [found for found in findings if found["id"] == "tag-new"]
    assert found["thing"] == "ContentChunk 'resource_link'"
    (answer,) = [answer for answer in found["answers"] if answer["name"] == way]
    edits = [Edit(**edit) for edit in answer["edits"]]
    assert [edit.file for edit in edits] == ["src/nodrop/core/decisions.py", "src/nodrop/core/assembler.py"]
    paste(root, edits)
    written = ledger.write(root)
    assert len(written) == 3
    assert all(
        ("rejected(" in line or "decided(" in line) == (way == "reject it" or ".type" in line) for line in written
    )
    assert main(["--root", str(root), "check"]) == 0, capsys.readouterr().out
    for name, run in type_checkers(root, cache).items():
        assert run.returncode == 0, f"{name}: {run.stdout}"
    touched = [f"src/nodrop/core/{name}.py" for name in ("assembler", "decisions", "fields")]
    for ruff in (["check"], ["format", "--check"]):
        command = [sys.executable, "-m", "ruff", *ruff, *touched]
        run = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stdout
    assert plays(root) == (["resource_link"] if way == "reject it" else ["file:///a"])


def before_resource_link(folder: Path) -> Path:
    """A checkout from before `resource_link`: in the document, the decisions, the match and the ledger."""
    root = checkout(folder / "tree")
    upstream = read(root / check.UPSTREAM)
    take_away_resource_link(upstream)
    old = folder / "old.yaml"
    old.write_text(dump(upstream))
    patches = (root / check.PATCHES).read_text().split("\n[[patch]]\n")
    (root / check.PATCHES).write_text("\n[[patch]]\n".join(part for part in patches if "resource-link" not in part))
    findings = bump.bump(root, bump.fetch(str(old), SOURCE), DAY)
    assert {finding.id for finding in findings} == {"tag-gone", "field-gone"}
    paste(root, {edit for finding in findings for edit in finding.answers[0].edits})
    assert check.check(root) == []
    return root


def plays(root: Path) -> list[Any]:
    """What a stream with a resource link becomes in a checkout: the types named by its error, or the text."""
    code = """
import nodrop.core.decoder
decoder = nodrop.core.decoder.Decoder(model="m")
chunk = ('{"id":"c","model":"m","choices":[{"index":0,"finish_reason":"stop","delta":{"content":'
         '[{"type":"resource_link","uri":"file:///a","metadata":{"k":1}}]}}]}')
events = [*decoder.feed(f"data: {chunk}\\n\\ndata: [DONE]\\n\\n".encode()), *decoder.close()]
message = decoder.message
if message.stop_reason == "error":
    print("resource_link" if "resource_link" in message.error_message else message.error_message)
else:
    assert message.unmapped, message
    print(message.content[0].text)
"""
    environment = {"PYTHONPATH": str(root / "src"), "PATH": ""}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.split()


def test_the_page_shows_the_finding_as_it_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All but line numbers, which move."""
    root = before_resource_link(tmp_path)
    whole = tmp_path / "upstream.yaml"
    whole.write_text(dump(read(ROOT / check.UPSTREAM)))
    assert main(["--root", str(root), "bump", str(whole), "--source", SOURCE, "--date", DAY]) == 1
    printed = capsys.readouterr().out.split("\n\n")[0]
    page = (ROOT / "docs/new-wire-type.md").read_text(encoding="utf-8")
    shown = page.partition("```text\n")[2].partition("```")[0].strip()
    assert re.sub(r":\d+", ":N", shown) == re.sub(r":\d+", ":N", printed.strip())
