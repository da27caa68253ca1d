"""Real revisions of the upstream document: each can be taken in, and stepping through them reports what changed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from codegen import bump, check, models, spec
from codegen.__main__ import main
from codegen.document import read
from codegen.report import Finding
from tests.codegen.support import FACTS, HISTORY, ROOT, checkout, decisions, paste, settle

DAY = "2026-11-30"
STEPS = ["docs-0018", "docs-0022", "docs-0033", "docs-0034", "docs-0042", "public-0012", "public-0016", "today"]

LOGPROB = ("bytes", "logprob", "token", "token_id")
# What wire/history.md tells of each step, as far as it can arrive. `TextChunk` and `ImageURLChunk` are older than 0022,
# but only then (by 0020) did messages that arrive begin to hold chunks.
EXPECTED = {
    "docs-0022": {
        "tag-new": ["ContentChunk 'image_url'", "ContentChunk 'reference'", "ContentChunk 'text'"],
        "field-type-changed": ["AssistantMessage.content", "DeltaMessage.content", "DeltaMessage.role"],
        "field-new": [
            "ImageURL.detail", "ImageURL.url", "ImageURLChunk.image_url", "ImageURLChunk.type",
            "ReferenceChunk.reference_ids", "ReferenceChunk.type", "TextChunk.text", "TextChunk.type", "ToolCall.index",
        ],
    },
    "docs-0033": {
        "tag-new": ["ContentChunk 'document_url'", "ContentChunk 'file'"],
        "field-presence-changed": ["ChatCompletionResponse.choices", "ChatCompletionResponse.created"],
        "field-new": [
            "DocumentURLChunk.document_name", "DocumentURLChunk.document_url", "DocumentURLChunk.type",
            "FileChunk.file_id", "FileChunk.type",
        ],
    },
    "docs-0034": {
        "tag-new": ["ContentChunk 'input_audio'", "ContentChunk 'thinking'"],
        "part-new": ["ThinkingPart 'reference'", "ThinkingPart 'text'"],
        "union-without-discriminator": ["ThinkingPart"],
        "field-presence-changed": ["UsageInfo.completion_tokens", "UsageInfo.prompt_tokens", "UsageInfo.total_tokens"],
        "field-new": [
            "AudioChunk.input_audio", "AudioChunk.type", "ThinkChunk.closed", "ThinkChunk.thinking", "ThinkChunk.type",
            "UsageInfo.prompt_audio_seconds",
        ],
    },
    "docs-0042": {
        "part-new": ["ThinkingPart 'tool_reference'"],
        "enum-new": ["BuiltInConnectors", "ImageDetail"],
        "field-type-changed": ["ImageURL.detail"],
        "field-new": [
            "ToolReferenceChunk.description", "ToolReferenceChunk.favicon", "ToolReferenceChunk.title",
            "ToolReferenceChunk.tool", "ToolReferenceChunk.type", "ToolReferenceChunk.url", "ValidationError.ctx",
            "ValidationError.input",
        ],
    },
    "public-0012": {
        "field-presence-changed": ["ChatCompletionChoice.message"],
        "field-type-changed": ["ReferenceChunk.reference_ids"],
        "field-new": [
            "ChatCompletionChoice.messages", "DeltaMessage.index", "DeltaMessage.metadata", "DeltaMessage.tool_call_id",
            "ThinkChunk.signature",
        ],
    },
    "public-0016": {"field-new": ["UsageInfo.service_tier"]},
    "today": {
        "patch-stale": ["thinking-part-discriminator"],  # our own document names it itself
        "tag-new": ["ContentChunk 'resource'", "ContentChunk 'resource_link'"],
        "union-new": ["ResourceContent"],
        "enum-value-new": ["BuiltInConnectors 'mistral_mcp'"],
        "field-type-changed": ["ToolCall.type"],
        "field-new": [
            "ChatCompletionChoice.logprobs", "ChatCompletionChoice.prompt_logprobs",
            "ChatCompletionResponseChoiceLogprobs.content",
            *(f"ChatCompletionResponseTokenLogprobs.{name}" for name in LOGPROB),
            *(f"ChatCompletionResponseTokenLogprobsTopK.{name}" for name in (*LOGPROB, "top_logprobs")),
            "CompletionResponseStreamChoice.logprobs", "CompletionResponseStreamChoice.prompt_logprobs",
            *(f"ErrorResponse.{name}" for name in ("code", "detail", "message", "object", "param")),
            "ErrorResponse.raw_status_code", "ErrorResponse.type",
            "ResourceChunk.content", "ResourceChunk.type", "ResourceChunk.uri",
            "ResourceLinkChunk.metadata", "ResourceLinkChunk.type", "ResourceLinkChunk.uri",
        ],
    },
}  # fmt: skip
# The types whose arm in the core maps: taken in as such, for the match is the one of today.
MAPPED = {"text": "map it", "thinking": "map it", "reference": "map it"}

needs_history = pytest.mark.skipif(not HISTORY.is_dir(), reason="no upstream documents beside the checkout")


def document(step: str) -> Path:
    return FACTS if step == "today" else next(HISTORY.glob(f"{step}-*.yaml"))


def arrived(findings: list[Finding]) -> dict[str, list[str]]:
    """Findings by id, without what is only sent."""
    found: dict[str, list[str]] = {}
    for finding in findings:
        if finding.id != "request-news":
            found.setdefault(finding.id, []).append(finding.thing)
    return {name: sorted(things) for name, things in found.items()}


@needs_history
def test_stepping_through_history_reports_what_changed_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The models of each document are generated, imported and type-checked below; here only findings count.
    monkeypatch.setattr(models, "generate", lambda _: "")
    root = checkout(tmp_path)
    (root / check.PATCHES).write_text("# none: each step is upstream's own\n")
    for step in STEPS:
        source = bump.fetch(str(document(step)), "")
        findings = bump.bump(root, source, DAY)
        if step in EXPECTED:
            assert arrived(findings) == EXPECTED[step], step
            assert all(
                finding.arrives and finding.spec for finding in findings if finding.id in ("tag-new", "field-new")
            )
            assert all(finding.severity == "info" for finding in findings if finding.id == "request-news")
        for finding in findings:
            if finding.id == "union-without-discriminator":  # the finding brings its patch
                paste(root, finding.answers[0].edits)
                bump.bump(root, source, DAY)
        settle(root, MAPPED, arms=False)
        assert decisions(root) == [], step


@needs_history
@pytest.mark.parametrize("step", STEPS[:-1])
def test_a_bump_to_a_real_document_ends_with_findings(
    tmp_path: Path, step: str, capfd: pytest.CaptureFixture[str]
) -> None:
    root = checkout(tmp_path)
    assert main(["--root", str(root), "bump", str(document(step)), "--date", DAY, "--format", "json"]) == 1
    out, err = capfd.readouterr()
    assert err == ""
    reported = [
        found["thing"] for found in json.loads(out)["findings"] if found["id"] not in ("request-news", "patch-unfit")
    ]
    assert reported
    assert [finding.thing for finding in decisions(root)] == reported  # nothing is forgotten when the bump is over


@needs_history
def test_the_models_of_every_real_document_import_and_pass_both_type_checkers(tmp_path: Path) -> None:
    for step in STEPS[:-1]:
        path = document(step)
        generated = models.generate(spec.cut(read(path), path.name, "1"))
        (tmp_path / f"models_{step.replace('-', '_')}.py").write_text(generated)
    (tmp_path / "pyrightconfig.json").write_text(
        json.dumps({"typeCheckingMode": "strict", "extraPaths": [str(ROOT / "src")], "pythonVersion": "3.11"})
    )
    names = sorted(path.stem for path in tmp_path.glob("models_*.py"))
    code = "; ".join(f"import {name}" for name in names)
    for command in (
        [sys.executable, "-W", "error", "-c", code],
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", "cache", *(f"{name}.py" for name in names)],
        [sys.executable, "-m", "pyright", "--project", str(tmp_path)],
    ):  # fmt: skip
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stdout + run.stderr
