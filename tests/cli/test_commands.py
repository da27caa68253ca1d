"""The commands demo, chat, replay, coverage and models: what they print, and their exit status."""

import io
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nodrop.cli import main
from nodrop.cli.coverage import rows
from nodrop.rate_card import RateCard
from nodrop.testing import MistralServer, Reply, Stall, finish, image_part, start, text, usage
from nodrop.testing.wire import content

CAPTURES = Path(__file__).parents[3] / "shared" / "captures"
GOOD = (
    b'data: {"id":"1","model":"mistral-small-latest","choices":[{"index":0,"delta":{"content":"Hi"},'
    b'"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}}\n\ndata: [DONE]\n\n'
)
WHOLE = (
    b'{"id":"1","object":"chat.completion","model":"m","created":1,"usage":null,"choices":'
    b'[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}'
)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(arguments)
    out, err = capsys.readouterr()
    return status, out, err


def lines(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, mistral_server: MistralServer) -> MistralServer:
    monkeypatch.setenv("MISTRAL_API_KEY", mistral_server.api_key or "")
    monkeypatch.setenv("MISTRAL_BASE_URL", mistral_server.url)
    return mistral_server


# ---- replay ----


@pytest.mark.parametrize("body", [GOOD, WHOLE], ids=["stream", "whole"])
def test_replay_ends_with_the_whole_message(capsys: pytest.CaptureFixture[str], tmp_path: Path, body: bytes) -> None:
    (tmp_path / "body").write_bytes(body)
    status, out, _ = run(capsys, "replay", "--json", str(tmp_path / "body"))
    events = lines(out)
    assert status == 0
    assert [event["type"] for event in events] == ["start", "text_start", "text_delta", "text_end", "done"]
    assert events[-1]["message"]["content"] == [{"type": "text", "text": "Hi"}]


def test_replay_takes_the_status_from_the_side_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"detail": "Unauthorized"}')
    (tmp_path / "a.meta.json").write_text('{"status": 401}')
    status, out, _ = run(capsys, "replay", "--json", str(tmp_path / "a.json"))
    assert (status, [event["type"] for event in lines(out)]) == (1, ["error"])
    assert "(401): Unauthorized" in lines(out)[0]["error"]["errorMessage"]
    status, out, _ = run(capsys, "replay", "--status", "503", "--json", str(tmp_path / "a.json"))
    assert "(503): Unauthorized" in lines(out)[0]["error"]["errorMessage"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["replay", "nowhere"], "cannot read nowhere: No such file"),
        (["replay", "a.sse", "--status", "7"], "100 to 599"),
        (["replay", "b.sse"], "side file"),
        (["models", "nope"], "nodrop models"),
        (["chat", "hi"], "MISTRAL_API_KEY"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MISTRAL_API_KEY", raising=False)
    for name in ("a.sse", "b.sse"):
        Path(name).write_bytes(GOOD)
    Path("b.meta.json").write_text("{")
    status, out, err = run(capsys, *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert words in err


@pytest.mark.skipif(not CAPTURES.is_dir(), reason="no recordings beside the project")
def test_replay_of_every_recording_agrees_with_its_status(capsys: pytest.CaptureFixture[str]) -> None:
    compared = 0
    for side in sorted(CAPTURES.rglob("*.meta.json")):
        recorded = json.loads(side.read_text())
        name = side.name.removesuffix(".meta.json")
        [body] = [path for path in (side.with_name(name + ".sse"), side.with_name(name + ".json")) if path.exists()]
        status, out, _ = run(capsys, "replay", "--json", str(body))
        last = lines(out)[-1]
        two = "choices[1]" in last.get("error", {}).get("errorMessage", "")
        assert last["type"] == ("done" if recorded["status"] == 200 and not two else "error"), body
        assert status == (0 if last["type"] == "done" else 1)
        compared += 1
    print(f"{compared} recordings replayed")
    assert compared == 307


# ---- chat ----


def test_chat_streams_and_sums_up(capsys: pytest.CaptureFixture[str], server: MistralServer) -> None:
    chunks = [start(), text("Blue."), finish("stop", usage=usage(9, 2))]
    server.enqueue(Reply.stream(*(chunk | {"model": "mistral-small-latest"} for chunk in chunks)))
    status, out, err = run(capsys, "chat", "--model", "mistral-small-latest", "--system", "Be brief.", "Why", "blue?")
    assert (status, out) == (0, "Blue.\n")
    assert "9 tokens in, 2 out" in err
    assert "catalogue estimate" in err
    [request] = server.requests
    assert [message["content"] for message in request.body["messages"]] == ["Be brief.", "Why blue?"]
    assert request.body.keys() == {"model", "messages", "stream"}


def test_chat_reads_a_prompt_from_a_pipe(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, server: MistralServer
) -> None:
    server.enqueue(Reply.stream(text("Yes."), finish()))
    monkeypatch.setattr(sys, "stdin", io.StringIO("Is it?\n"))
    status, out, _ = run(capsys, "chat", "--json")
    assert status == 0
    assert server.requests[0].body["messages"] == [{"role": "user", "content": "Is it?"}]
    assert lines(out)[-1]["message"]["stopReason"] == "stop"


def test_a_dash_in_a_prompt_is_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, server: MistralServer
) -> None:
    server.enqueue(Reply.stream(text("Yes."), finish()))
    monkeypatch.setattr(sys, "stdin", io.StringIO("one\ntwo\n"))
    assert run(capsys, "chat", "Sum", "up:", "-", "Be brief.")[0] == 0
    assert server.requests[0].body["messages"][0]["content"] == "Sum up:\none\ntwo\nBe brief."


@pytest.mark.parametrize(
    ("given", "arguments", "words"),
    [
        ("", ["Sum up:", "-"], "standard input is empty"),
        ("a", ["-", "-"], "can be read once"),
        ("", [], "no prompt"),
        (b"caf\xe9", ["-"], "standard input is no utf-8 text"),
        (b"caf\xe9", [], "standard input is no utf-8 text"),
    ],
)
def test_a_standard_input_that_is_no_prompt(
    given: str | bytes,
    arguments: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    server: MistralServer,
) -> None:
    piped = io.StringIO(given) if isinstance(given, str) else io.TextIOWrapper(io.BytesIO(given), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", piped)
    status, out, err = run(capsys, "chat", *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert words in err
    assert not server.requests


def test_a_conversation_keeps_its_prompt_out_of_the_output(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, server: MistralServer
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    server.enqueue(Reply.stream(text("One."), finish()), Reply.stream(text("Two."), finish()))
    monkeypatch.setattr(sys, "stdin", Terminal("a\n\nb\n"))
    status, out, err = run(capsys, "chat", "--json")
    assert status == 0
    assert [line["type"] for line in lines(out)].count("done") == 2
    assert err.count("> ") == 4
    assert [message["content"] for message in server.requests[1].body["messages"]] == ["a", "One.", "b"]


def test_an_empty_model_is_a_mistake(capsys: pytest.CaptureFixture[str], server: MistralServer) -> None:
    status, out, err = run(capsys, "chat", "--model", "", "hi")
    assert (status, out) == (2, "")
    assert "no model" in err
    assert not server.requests


def test_replay_reads_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(GOOD)))
    status, out, _ = run(capsys, "replay", "--json", "-")
    assert status == 0
    assert lines(out)[-1]["type"] == "done"


def test_chat_shows_a_rejected_chunk_and_keeps_the_text(
    capsys: pytest.CaptureFixture[str], server: MistralServer
) -> None:
    server.enqueue(Reply.stream(text("Look: "), content(image_part("data:image/png;base64,SECRET")), finish()))
    status, out, err = run(capsys, "chat", "Show me.")
    assert (status, out) == (1, "Look: \n")
    assert "'image_url' at choices[0].delta.content[0]" in err
    assert "SECRET" not in out + err


def test_an_answer_does_not_steer_the_terminal(capsys: pytest.CaptureFixture[str], server: MistralServer) -> None:
    server.enqueue(Reply.stream(text("a\x1b[2Jb"), finish()))
    assert "a\\x1b[2Jb" in run(capsys, "chat", "hi")[1]


def test_ctrl_c_keeps_what_arrived(server: MistralServer) -> None:
    server.enqueue(Reply.stream(start(), text("So far"), done=False).with_faults(Stall(at="end")))
    command = [sys.executable, "-m", "nodrop.cli", "chat", "--json", "hi"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as chat:
        assert chat.stdout is not None
        seen = ""
        while "So far" not in seen:
            seen += chat.stdout.readline()
        chat.send_signal(signal.SIGINT)
        rest = chat.stdout.read()
    assert chat.returncode == 130
    last = json.loads(rest.splitlines()[-1])
    assert (last["type"], last["reason"]) == ("error", "aborted")
    assert last["error"]["content"] == [{"type": "text", "text": "So far"}]


# ---- the tables, the demo ----


def test_coverage_prints_every_decision(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "coverage", "--json")
    assert status == 0
    assert [(line["kind"], line["name"]) for line in lines(out)] == [
        (row.kind, row.name) for row in rows(with_fields=True)
    ]


def test_models_prints_the_rate_card(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "models", "--json")
    assert status == 0
    assert [line["id"] for line in lines(out)] == [model.id for model in RateCard.default()]


def test_the_demo_shows_an_answer_and_a_rejection(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "demo", "--fast", "--json")
    ends = [event for event in lines(out) if event["type"] in ("done", "error")]
    assert status == 0
    assert [event["type"] for event in ends] == ["done", "error"]
    assert {block["type"] for block in ends[0]["message"]["content"]} == {"thinking", "text", "toolCall"}
    assert ends[0]["message"]["citations"]
    assert "image_url" in ends[1]["error"]["errorMessage"]


@pytest.mark.parametrize(
    "command", ["", "demo", "chat", "ask", "replay", "coverage", "models", "serve", "mcp", "doctor"]
)
def test_help_is_there(capsys: pytest.CaptureFixture[str], command: str) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([*([command] if command else []), "--help"])
    assert stopped.value.code == 0
    assert "usage: nodrop" in capsys.readouterr().out
