"""``nodrop ask``, ``nodrop doctor`` and ``nodrop demo ask``: real HTTP, as a user starts them."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nodrop.cli import main
from nodrop.testing import DocumentLibraries, MistralServer, Reply, Stall, finish, reference, text, tool_message, usage
from nodrop.testing.library import DEMO_LIBRARY_ID

SOURCES = json.dumps({"0": {"title": "Pilot book", "url": "https://example.org/p"}})
ANSWER = Reply.stream(
    tool_message(SOURCES), text("Bergen is "), text("calm\x1b[2J"), reference(0, 1), finish(usage=usage(30, 7))
)


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings of this machine, no key of this shell."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in (
        "NODROP_CONFIG",
        "XDG_CONFIG_HOME",
        "APPDATA",
        "MISTRAL_API_KEY",
        "MISTRAL_BASE_URL",
        "MISTRAL_RAG_STREAMING",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server(mistral_server: MistralServer, monkeypatch: pytest.MonkeyPatch) -> MistralServer:
    monkeypatch.setenv("MISTRAL_API_KEY", mistral_server.api_key or "")
    monkeypatch.setenv("MISTRAL_BASE_URL", mistral_server.url)
    return mistral_server


def test_the_answer_and_its_sources(server: MistralServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.enqueue(ANSWER)
    assert main(["ask", "Which", "harbour?", "--library", "lib-a", "--library", "lib-b", "--model", "m"]) == 0
    caught = capsys.readouterr()
    assert caught.out == (
        "Bergen is calm\\x1b[2J[0, 1]\n"
        "[0] Pilot book · https://example.org/p\n"
        "[1] the answer does not say what this source is\n"
    )
    assert caught.err == "30 tokens in, 7 out\n"
    [request] = server.requests
    assert request.body["tools"] == [{"library_ids": ["lib-a", "lib-b"], "type": "document_library"}]
    assert (request.body["model"], request.body["messages"][0]["content"]) == ("m", "Which harbour?")
    assert request.streamed


def test_json_is_the_result(server: MistralServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.enqueue(ANSWER)
    assert main(["ask", "?", "--library", "lib", "--json"]) == 0
    [line] = capsys.readouterr().out.splitlines()
    result = json.loads(line)
    assert result["structuredContent"]["answer"] == "Bergen is calm\x1b[2J[0, 1]"
    assert (result["isError"], result["usage"]["cost"]["total"]) == (False, 0.0)


def test_no_stream(server: MistralServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.enqueue(Reply.whole("Whole."))
    assert main(["ask", "?", "--library", "lib", "--no-stream"]) == 0
    assert capsys.readouterr().out.startswith("Whole.\n")
    assert not server.requests[0].streamed


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_a_failure_is_status_1_in_the_servers_words(
    form: list[str], server: MistralServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.enqueue(Reply.error(404, "Library lib not found", type="not_found"))
    assert main(["ask", "?", "--library", "lib", *form]) == 1
    caught = capsys.readouterr()
    assert "Library lib not found" in (caught.out if form else caught.err)
    assert (caught.err if form else caught.out) == ""


def test_a_question_may_come_from_standard_input(
    server: MistralServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server.enqueue(ANSWER)
    monkeypatch.setattr(sys, "stdin", io.StringIO("Which harbour?\n"))
    assert main(["ask", "--library", "lib", "In", "short:", "-"]) == 0
    assert server.requests[0].body["messages"][0]["content"] == "In short:\nWhich harbour?"
    assert capsys.readouterr().out.startswith("Bergen")


def test_without_a_library_or_a_key_it_is_wrong_usage(
    server: MistralServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["ask", "?"]) == 2
    assert "library_ids must name at least one library" in capsys.readouterr().err
    monkeypatch.delenv("MISTRAL_API_KEY")
    assert main(["ask", "?", "--library", "lib"]) == 2
    assert "no API key" in capsys.readouterr().err


def test_the_settings_files_are_used_and_their_warnings_shown(
    server: MistralServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "nodrop.toml").write_text(
        'model = "m-file"\nlibrary_ids = ["lib-file"]\nmodle = 1\n[rag]\nstreaming = false\n'
    )
    server.enqueue(Reply.whole("A"), Reply.stream(text("B"), finish()))
    assert main(["ask", "?"]) == 0
    assert "modle is no setting of nodrop; did you mean model?" in capsys.readouterr().err
    assert main(["chat", "hello"]) == 0
    asked, chatted = server.requests
    assert (asked.body["model"], asked.body["stream"]) == ("m-file", False)
    assert asked.body["tools"][0]["library_ids"] == ["lib-file"]
    assert chatted.body["model"] == "m-file"


def test_chat_takes_server_and_key_from_the_user_file_and_never_from_a_project(
    mistral_server: MistralServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "user.toml"
    config.write_text(f'base_url = "{mistral_server.url}"\napi_key = "{mistral_server.api_key}"\n')
    monkeypatch.setenv("NODROP_CONFIG", str(config))
    assert main(["chat", "hello"]) == 0
    (tmp_path / "nodrop.toml").write_text('base_url = "https://evil.example"\n')
    assert main(["chat", "hello"]) == 2
    assert "line 1: base_url is refused" in capsys.readouterr().err
    assert len(mistral_server.requests) == 1


def test_an_interrupt_is_status_130(server: MistralServer, tmp_path: Path) -> None:
    server.enqueue(ANSWER.with_faults(Stall(at=len(ANSWER.parts[0]) + len(ANSWER.parts[1]))))
    running = subprocess.Popen(
        [sys.executable, "-m", "nodrop.cli", "ask", "?", "--library", "lib"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "NO_PROXY": "127.0.0.1"},
    )
    assert running.stdout is not None
    assert running.stdout.read(10) == "Bergen is "
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=10)
    assert running.returncode == 130
    assert (out, err) == ("\n", "aborted: The document query was aborted.\n")
    server.wait_for_open_connections(0)


def test_the_preview_comes_while_the_answer_is_generated(
    server: MistralServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.enqueue(ANSWER.with_faults(Stall(at=len(ANSWER.parts[0]) + len(ANSWER.parts[1]), seconds=0.2)))
    written: list[str] = []

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

        def write(self, given: str) -> int:
            written.append(given)
            return super().write(given)

    monkeypatch.setattr(sys, "stdout", Terminal())
    assert main(["ask", "?", "--library", "lib"]) == 0
    assert written[0] == "Bergen is "
    assert "".join(written).startswith("Bergen is calm\\x1b[2J[0, 1]\n")


RATES = """unit = "USD per million tokens"
[models.my-tuned]
name = "Mine"
aliases = []
rates = { input = 1000.0, output = 1000.0 }
input = ["text"]
source = "me"
date = 2026-11-30
"""


def test_the_rates_file_prices_chats_replays_and_models(
    server: MistralServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rates.toml").write_text(RATES)
    (tmp_path / "nodrop.toml").write_text('rates_file = "rates.toml"\nmodel = "my-tuned"\n')
    server.enqueue(Reply.stream(text("A"), finish(usage=usage(30, 20), model="my-tuned")))
    assert main(["chat", "hello"]) == 0
    assert "$0.050000" in capsys.readouterr().err
    (tmp_path / "a.sse").write_bytes(Reply.stream(text("A"), finish(usage=usage(30, 20), model="my-tuned")).body)
    assert main(["replay", "a.sse"]) == 0
    assert "$0.050000" in capsys.readouterr().err
    assert main(["models", "my-tuned"]) == 0
    assert "1000" in capsys.readouterr().out


# ---- doctor ----


def test_doctor_shows_each_value_and_its_source_and_never_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "user.toml"
    config.write_text(
        'base_url = "https://mine.example"\napi_key = "k-secret"\n[knowledge]\nstreaming = false\nx = 1\n'
    )
    project = tmp_path / "nodrop.toml"
    project.write_text('model = "m"\n')
    monkeypatch.setenv("NODROP_CONFIG", str(config))
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "k-secret" not in out
    for line in (
        f"api_key       set  (user file {config}, line 2: api_key)",
        f"base_url      https://mine.example  (user file {config}, line 1: base_url)",
        f"model         m  (project file {project}, line 1: model)",
        "library_ids   []  (default)",
        "rates_file    null  (default)",
        f"streaming     false  (user file {config}, line 4: knowledge.streaming)",
        f"warning: {config}, line 5: knowledge.x is no setting of nodrop; there are streaming",
    ):
        assert line in out.splitlines()
    monkeypatch.setenv("MISTRAL_API_KEY", "k-other-secret")
    assert main(["doctor", "--json"]) == 0
    out = capsys.readouterr().out
    assert "secret" not in out
    report = json.loads(out)
    assert report["settings"]["api_key"] == {"value": "set", "from": "environment MISTRAL_API_KEY"}
    assert report["settings"]["streaming"]["value"] is False


def test_doctor_without_a_key_is_status_1_and_with_a_bad_value_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor"]) == 1
    assert "api_key       not set  (default)" in capsys.readouterr().out
    monkeypatch.setenv("MISTRAL_BASE_URL", "https://user:k-secret@example.org")
    assert main(["doctor"]) == 2
    caught = capsys.readouterr()
    assert "k-secret" not in caught.out + caught.err
    monkeypatch.delenv("MISTRAL_BASE_URL")
    (tmp_path / "nodrop.toml").write_text('api_key = "k-secret"\n')
    assert main(["doctor"]) == 2
    caught = capsys.readouterr()
    assert "line 1: api_key is refused" in caught.err
    assert "k-secret" not in caught.out + caught.err


# ---- the demo, and the simulator behind it ----


def test_demo_ask(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert main(["demo", "ask", "--fast"]) == 0
    out = capsys.readouterr().out
    assert "[simulator]" in out
    assert "Bergen lies behind a chain of islands." in out
    assert "[0] Pilot book: harbours of the west coast · pilot-book.txt" in out
    assert main(["demo", "ask", "--fast", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["structuredContent"]["citations"][0]["references"]["0"]["source"] == "pilot-book.txt"


@pytest.mark.parametrize("form", [[], ["--no-stream"]], ids=["streamed", "one-shot"])
def test_the_simulator_finds_by_words_and_says_what_it_is(
    form: list[str], server: MistralServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.handler = DocumentLibraries.demo().answer
    assert main(["ask", "When is fuel sold?", "--library", DEMO_LIBRARY_ID, *form]) == 0
    out = capsys.readouterr().out
    assert out.startswith("[simulator] ")
    assert "Fuel is sold at the eastern quay" in out
    assert "[0] Harbour rules · harbour-rules.txt" in out
    assert main(["ask", "xylophone zebra", "--library", DEMO_LIBRARY_ID, *form]) == 0
    assert "No passage of the library shares a word" in capsys.readouterr().out
    assert main(["ask", "fuel", "--library", "elsewhere", *form]) == 1
    assert "Library 'elsewhere' not found" in capsys.readouterr().err


def test_both_forms_of_the_simulator_are_one_result(server: MistralServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.handler = DocumentLibraries.demo().answer
    surfaces: list[object] = []
    for form in ([], ["--no-stream"]):
        assert main(["ask", "harbour", "--library", DEMO_LIBRARY_ID, "--json", *form]) == 0
        result = json.loads(capsys.readouterr().out)
        surfaces.append((result["content"], result["structuredContent"], result["usage"]))
    assert surfaces[0] == surfaces[1]


def test_a_folder_without_a_text_is_no_library(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds no text"):
        DocumentLibraries({"a": tmp_path})
