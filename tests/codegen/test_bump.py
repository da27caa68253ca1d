"""A bump: whole or not at all, with the patches applied again, and never a traceback."""

import functools
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codegen import bump, check, generate, lock, models, patches, spec
from codegen.__main__ import main
from codegen.document import Schema, dump, read
from codegen.errors import CannotRunError
from tests.codegen.support import FACTS, ROOT, checkout

LOCKED: dict[str, str] = json.loads((ROOT / lock.LOCK).read_text())["source"]
SOURCE, DAY = LOCKED["name"], LOCKED["date"]


def contents(root: Path) -> dict[str, bytes]:
    """Everything that a bump may touch."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for folder in ("openapi", "src/nodrop/wire")
        for path in sorted((root / folder).iterdir())
        if path.is_file()
    }


def arguments(root: Path, document: Path | str, source: str = SOURCE) -> list[str]:
    return ["--root", str(root), "bump", str(document), "--source", source, "--date", DAY]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return checkout(tmp_path / "tree")


@pytest.mark.parametrize("document", [ROOT / check.UPSTREAM, FACTS], ids=["its own upstream", "the facts"])
def test_the_committed_files_are_what_a_bump_gives(
    tree: Path, document: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not document.exists():
        pytest.skip("no facts beside the checkout")
    before = contents(tree)
    assert main(arguments(tree, document)) == 0, capsys.readouterr().out
    after = contents(tree)
    same_source = document == FACTS  # the lock remembers the document by its hash
    assert {name for name in before if before[name] != after[name]} == (set() if same_source else {str(lock.LOCK)})
    assert check.check(tree) == []


def test_json_is_read_as_well(tree: Path, tmp_path: Path) -> None:
    before = contents(tree)
    (tmp_path / "spec.json").write_text(json.dumps(read(ROOT / check.UPSTREAM)))
    assert main(arguments(tree, tmp_path / "spec.json")) == 0
    assert contents(tree)[str(check.VENDORED)] == before[str(check.VENDORED)]


def test_the_lock_names_no_machine_and_no_host() -> None:
    text = (ROOT / lock.LOCK).read_text()
    assert "/" not in text
    assert "http" not in text


def changed(tmp_path: Path, change: Any) -> Path:
    document = read(ROOT / check.UPSTREAM)
    change(document)
    path = tmp_path / "changed.yaml"
    path.write_text(dump(document))
    return path


def test_what_only_the_request_gained_is_news(tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def gains(document: Schema) -> None:
        spec.schemas(document)["ChatCompletionRequest"]["properties"]["seed_words"] = {"type": "string"}
        spec.schemas(document)["ReasoningEffort"]["enum"].append("extreme")

    assert main([*arguments(tree, changed(tmp_path, gains)), "--format", "json"]) == 0
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert [(found["id"], found["severity"], found["thing"]) for found in findings] == [
        ("request-news", "info", "ChatCompletionRequest.seed_words"),
        ("request-news", "info", "ReasoningEffort.'extreme'"),
    ]
    assert check.check(tree) == []


def test_adding_patches_keep_what_upstream_does_not_have(tree: Path, tmp_path: Path) -> None:
    def loses(document: Schema) -> None:
        named = spec.schemas(document)
        for tag in ("resource", "resource_link"):
            ref = named["ContentChunk"]["discriminator"]["mapping"].pop(tag)
            named["ContentChunk"]["oneOf"].remove({"$ref": ref})
            del named[ref.rsplit("/", 1)[-1]]
        del named["ResourceContent"]

    before = contents(tree)
    assert (
        main(arguments(tree, changed(tmp_path, loses), "public.yaml")) == 1
    )  # the discriminator is at home only in SDK 3.7.0
    after = contents(tree)
    assert after[str(check.VENDORED)] == before[str(check.VENDORED)]
    assert after[str(check.UPSTREAM)] != before[str(check.UPSTREAM)]
    assert [finding.thing for finding in check.check(tree)] == ["thinking-part-discriminator"]


def test_a_patch_is_stale_where_upstream_has_the_thing_itself(tree: Path, tmp_path: Path) -> None:
    def gains(document: Schema) -> None:
        usage = spec.schemas(document)["UsageInfo"]["properties"]
        usage["num_cached_tokens"] = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
        usage["request_count"] = {"type": "string"}
        spec.schemas(document)["CompletionChunk"]["required"].remove("choices")
        spec.schemas(document)["StreamFinishReason"]["enum"].append("model_length")

    findings = bump.bump(tree, bump.fetch(str(changed(tmp_path, gains)), SOURCE), DAY)
    stale = {finding.thing: finding.message for finding in findings if finding.id == "patch-stale"}
    assert set(stale) == {"usage-num-cached-tokens", "usage-request-count", "chunk-choices", "stream-model-length"}
    assert "its own form" in stale["usage-request-count"]  # and that form is what counts
    assert [finding.thing for finding in findings if finding.id == "field-type-changed"] == ["UsageInfo.request_count"]
    in_another = bump.bump(tree, bump.fetch(str(ROOT / check.UPSTREAM), "public.yaml"), DAY)
    assert {finding.thing for finding in in_another} == {
        "resource", "resource-schema", "resource-content-schema", "resource-link", "resource-link-schema",
        "thinking-part-discriminator",
    }  # fmt: skip


def test_every_patch_has_a_reason_and_evidence_and_is_needed_or_at_home() -> None:
    entries = patches.read(ROOT / check.PATCHES)
    _, outcomes = patches.apply(read(ROOT / check.UPSTREAM), entries, SOURCE)
    assert {outcome.state for outcome in outcomes} == {"applied", "home"}
    assert all(patch.reason and patch.evidence and patch.line for patch in entries)


def test_a_bump_that_fails_leaves_everything_as_it_was(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(tree)
    source = bump.fetch(str(ROOT / check.UPSTREAM), "another")

    def refuses(document: Schema) -> str:
        raise CannotRunError("the generator refuses")

    with monkeypatch.context() as patched:
        patched.setattr(models, "generate", refuses)
        with pytest.raises(CannotRunError, match="refuses"):
            bump.bump(tree, source, DAY)
    assert contents(tree) == before

    write = bump._replace
    for place in range(7):  # wherever the disk fails
        calls = iter(range(100))

        def fails(path: Path, data: bytes, calls: Iterator[int] = calls, place: int = place) -> None:
            if next(calls) == place:
                raise OSError("the disk is full")
            write(path, data)

        with monkeypatch.context() as patched:
            patched.setattr(bump, "_replace", fails)
            with pytest.raises(CannotRunError, match=r"the disk is full.*everything is as it was"):
                bump.bump(tree, source, DAY)
        assert contents(tree) == before, place
    assert not list(tree.rglob(".*-*"))


def test_an_unreadable_hand_written_file_stops_a_bump_before_it_writes(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / "src/nodrop/core/decisions.py").write_text("CONTENT = 1\n")
    before = contents(tree)
    assert main(arguments(tree, ROOT / check.UPSTREAM, "another")) == 2
    assert "decisions.py: no table CONTENT" in capsys.readouterr().err
    assert contents(tree) == before


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The upstream document behind a URL on loopback."""
    monkeypatch.setenv("no_proxy", "*")
    (tmp_path / "spec.yaml").write_bytes((ROOT / check.UPSTREAM).read_bytes())

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class calls it so
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=tmp_path))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_url_is_read_and_the_lock_calls_it_by_its_last_part(
    tree: Path, served: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--root", str(tree), "bump", f"{served}/spec.yaml?raw=1", "--date", DAY]) == 1  # stale: not SDK 3.7.0
    assert lock.read(tree)["source"]["name"] == "spec.yaml"
    capsys.readouterr()
    assert main(arguments(tree, f"{served}/nothing.yaml")) == 2
    assert "nothing.yaml: cannot be fetched (HTTP Error 404" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "No such file"),
        (b"", "no `openapi:` at the top"),
        (b"openapi: 3.1.0\n", "no chat-completions operation"),
        (b"openapi: 3.1.0\npaths: {/v1/chat/completions: {post: {responses: {}}}}\n", "requestBody has no JSON schema"),
        (b"openapi: 3.1.0\npaths: 7\n", "no chat-completions operation"),
    ],
)
def test_a_document_that_is_none_is_refused_in_one_line(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, words: str
) -> None:
    before = contents(tree)
    path = tmp_path / "bad.yaml"
    if content is not None:
        path.write_bytes(content)
    assert main(arguments(tree, path)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert err.count("\n") == 1
    assert contents(tree) == before
    assert main(["--root", str(tree), "bump", ""]) == 2
    assert "make bump SPEC=<file or URL>" in capsys.readouterr().err


def test_generate_deletes_what_it_did_not_write(tree: Path) -> None:
    (tree / generate.WIRE / "left_over.py").write_text("")
    before = contents(tree)
    assert main(["--root", str(tree), "generate"]) == 0
    del before["src/nodrop/wire/left_over.py"]
    assert contents(tree) == before
