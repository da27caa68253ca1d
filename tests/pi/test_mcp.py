"""``nodrop mcp``: over stdio as raw JSON-RPC lines, and over streamable HTTP with the client of the ``mcp`` package."""

from __future__ import annotations

import asyncio
import builtins
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from nodrop import ConfigurationError
from nodrop.testing import MistralServer, Reply, Stall, finish, start, text, tool_message, usage

JSON = dict[str, Any]
TOOL: Final = "mistral_document_query"
TOKEN: Final = "a-token-of-the-tests-0123456789"
QUESTION: Final = {"question": "When is high tide?", "library_ids": ["lib-1"]}


def library_answer(**options: Any) -> Reply:
    return Reply.stream(
        tool_message('{"0": {"title": "Tides"}}', tool_call_id="libSearch"),
        start(),
        text("High tide "),
        text("is at noon."),
        finish("stop", usage=usage(321, 12)),
        **options,
    )


def environment(mistral: MistralServer, **more: str) -> dict[str, str]:
    own = {
        "MISTRAL_API_KEY": str(mistral.api_key),
        "MISTRAL_BASE_URL": mistral.url,
        "NODROP_CONFIG": os.devnull,
        "NODROP_TOKEN": TOKEN,
        "NO_PROXY": "127.0.0.1",
    }
    return {**os.environ, **own, **more}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "nodrop.cli", "mcp", *arguments]


@dataclass
class Stdio:
    """A client that knows nothing but lines of JSON-RPC. ``lines`` is everything that came on stdout."""

    process: subprocess.Popen[str]
    lines: list[JSON] = field(default_factory=list[JSON])
    number: int = 0

    def send(self, method: str, params: JSON | None = None, *, notify: bool = False) -> int:
        self.number += 1
        message: JSON = {"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})}
        if not notify:
            message["id"] = self.number
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        return self.number

    def read(self) -> JSON:
        assert self.process.stdout is not None
        line = json.loads(self.process.stdout.readline())
        assert line["jsonrpc"] == "2.0"
        self.lines.append(line)
        found: JSON = line
        return found

    def reply(self, number: int) -> JSON:
        while (line := self.read()).get("id") != number:
            pass
        return line

    def ask(self, method: str, params: JSON | None = None) -> JSON:
        return self.reply(self.send(method, params))

    def initialize(self, version: str = "2025-11-25") -> JSON:
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        found: JSON = self.ask("initialize", params)["result"]
        self.send("notifications/initialized", notify=True)
        return found

    def call(self, arguments: JSON, name: str = TOOL) -> JSON:
        number = self.number + 1
        meta = {"progressToken": number}
        return self.ask("tools/call", {"name": name, "arguments": arguments, "_meta": meta})

    @property
    def progress(self) -> list[JSON]:
        return [line["params"] for line in self.lines if line.get("method") == "notifications/progress"]


@contextmanager
def over_stdio(mistral: MistralServer) -> Iterator[Stdio]:
    process = subprocess.Popen(
        command(),
        env=environment(mistral),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    try:
        yield Stdio(process)
        out, err = process.communicate(timeout=20)  # the end of stdin ends it
        assert [line for line in out.splitlines() if not line.startswith('{"jsonrpc"')] == []
        assert (process.returncode, err) == (0, "")
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
def test_it_advertises_one_tool_and_nothing_else(
    mistral_server: MistralServer, version: str, capsys: pytest.CaptureFixture[str]
) -> None:
    began = time.monotonic()
    with over_stdio(mistral_server) as client:
        told = client.initialize(version)
        seconds = time.monotonic() - began
        assert told["protocolVersion"] == version
        assert set(told["capabilities"]) <= {"tools", "experimental"}
        (tool,) = client.ask("tools/list")["result"]["tools"]
    assert tool["name"] == TOOL
    assert tool["inputSchema"]["required"] == ["question", "library_ids"]
    with capsys.disabled():
        print(f"\n  nodrop mcp answered initialize ({version}) after {seconds:.1f} s")
    assert seconds < 30, "pi waits 60 s by default, others 30 s"


def test_previews_are_progress_and_the_result_is_structured(mistral_server: MistralServer) -> None:
    mistral_server.enqueue(library_answer(delay=0.15))
    with over_stdio(mistral_server) as client:
        client.initialize()
        result = client.call(QUESTION)["result"]
    assert [each["message"] for each in client.progress] == ["High tide ", "High tide is at noon."]
    assert [each["progress"] for each in client.progress] == [10, 21]
    assert result["content"] == [{"type": "text", "text": "High tide is at noon."}]
    assert not result.get("isError")
    structured = result["structuredContent"]
    assert structured["answer"] == "High tide is at noon."
    assert structured["usage"]["input"] == 321
    assert structured["tool_messages"][0]["role"] == "tool"
    assert mistral_server.requests[0].body["stream"] is True


@pytest.mark.parametrize(
    ("arguments", "said"),
    [({}, "question"), ({**QUESTION, "questions": 1}, "questions"), ({"question": "?"}, "library_ids")],
)
def test_wrong_arguments_are_an_error_result_in_our_words(
    mistral_server: MistralServer, arguments: JSON, said: str
) -> None:
    with over_stdio(mistral_server) as client:
        client.initialize()
        result = client.call(arguments)["result"]
    assert result["isError"] is True
    assert said in result["content"][0]["text"]
    assert "answer" not in result["structuredContent"]
    assert not mistral_server.requests


def test_a_failure_upstream_is_an_error_result_in_our_words(mistral_server: MistralServer) -> None:
    mistral_server.enqueue(Reply.error(404, "no such library"))
    with over_stdio(mistral_server) as client:
        client.initialize()
        result = client.call(QUESTION)["result"]
    assert result["isError"] is True
    assert "no such library" in result["content"][0]["text"]
    assert result["structuredContent"]["details"]["error"]["status"] == 404


def test_another_tool_is_a_protocol_error(mistral_server: MistralServer) -> None:
    with over_stdio(mistral_server) as client:
        client.initialize()
        error = client.call(QUESTION, name="other")["error"]
    assert error["code"] == -32602
    assert TOOL in error["message"]


def test_cancelling_closes_the_connection_upstream_and_the_server_goes_on(mistral_server: MistralServer) -> None:
    silent = library_answer()
    place = sum(len(part) for part in silent.parts[:3])
    mistral_server.enqueue(silent.with_faults(Stall(at=place)), library_answer())
    with over_stdio(mistral_server) as client:
        client.initialize()
        number = client.number + 1
        client.send("tools/call", {"name": TOOL, "arguments": QUESTION, "_meta": {"progressToken": number}})
        while client.read().get("method") != "notifications/progress":
            pass
        began = time.monotonic()
        client.send("notifications/cancelled", {"requestId": number, "reason": "enough"}, notify=True)
        mistral_server.wait_until(lambda: mistral_server.replies[0].client_closed_at is not None, what="the end")
        closed = mistral_server.replies[0].client_closed_at
        assert closed is not None
        assert closed - began < 1.0
        assert client.call(QUESTION)["result"]["structuredContent"]["answer"] == "High tide is at noon."


def test_the_end_of_stdin_ends_a_running_query(mistral_server: MistralServer) -> None:
    mistral_server.enqueue(library_answer().with_faults(Stall(at="before_headers")))
    with over_stdio(mistral_server) as client:
        client.initialize()
        client.send("tools/call", {"name": TOOL, "arguments": QUESTION})
        mistral_server.wait_for_requests(1, timeout=20)
    mistral_server.wait_for_open_connections(0)


def test_without_a_key_it_ends_in_words(mistral_server: MistralServer) -> None:
    done = subprocess.run(
        command(),
        env=environment(mistral_server, MISTRAL_API_KEY=""),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "MISTRAL_API_KEY" in done.stderr


# ---- streamable HTTP ----


@contextmanager
def over_http(mistral: MistralServer) -> Iterator[str]:
    process = subprocess.Popen(
        command("--http", "--port", "0"),
        env=environment(mistral),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()[2]
    finally:
        process.terminate()
        process.communicate(timeout=20)


def test_streamable_http(mistral_server: MistralServer) -> None:
    async def use(url: str) -> None:
        headers = {"authorization": f"Bearer {TOKEN}"}
        async with httpx2.AsyncClient(headers=headers, timeout=30, trust_env=False) as http:
            async with Client(streamable_http_client(url, http_client=http)) as client:
                assert [tool.name for tool in (await client.list_tools()).tools] == [TOOL]
                mistral_server.enqueue(library_answer(delay=0.15))
                previews: list[str | None] = []

                async def show(progress: float, total: float | None, message: str | None) -> None:
                    previews.append(message)

                result = await client.call_tool(TOOL, dict(QUESTION), progress_callback=show)
                assert previews == ["High tide ", "High tide is at noon."]
                assert not result.is_error
                assert result.structured_content["answer"] == "High tide is at noon."

                mistral_server.enqueue(library_answer().with_faults(Stall(at="before_headers")))
                running = asyncio.create_task(client.call_tool(TOOL, dict(QUESTION)))
                await asyncio.to_thread(mistral_server.wait_for_requests, 2)
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
                played = mistral_server.replies[1]
                gone = lambda: played.client_closed_at is not None  # noqa: E731
                await asyncio.to_thread(mistral_server.wait_until, gone, timeout=1.0)

    with over_http(mistral_server) as url:
        asyncio.run(use(url))


def test_http_needs_the_token(mistral_server: MistralServer) -> None:
    with over_http(mistral_server) as url, httpx2.Client(trust_env=False) as http:
        for headers in ({}, {"authorization": "Bearer wrong"}):
            assert http.post(url, json={}, headers=headers).status_code == 401


# ---- the extras ----


@pytest.mark.parametrize(
    ("module", "name", "extra"), [("nodrop.mcp", "mcp", "nodrop[mcp]"), ("nodrop.pi.app", "starlette", "nodrop[pi]")]
)
def test_a_missing_extra_is_named(module: str, name: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from nodrop.pi import GatewaySettings, create_app

    real = builtins.__import__

    def without(wanted: str, *arguments: Any, **options: Any) -> Any:
        if wanted.partition(".")[0] == name:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(wanted, *arguments, **options)

    for loaded in [each for each in sys.modules if each == module or each.partition(".")[0] == name]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setattr(builtins, "__import__", without)

    def use() -> None:
        if name == "mcp":
            importlib.import_module(module)
        else:
            create_app(GatewaySettings(token=TOKEN))

    with pytest.raises(ConfigurationError) as raised:
        use()
    assert extra in str(raised.value)
