"""The real pi with ``nodrop mcp`` as its MCP server and the gateway as its model provider; one embedded Mistral behind
both: it tells a question to the libraries by the tool ``document_library`` in the request."""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from nodrop.testing import (
    RecordedRequest,
    Reply,
    Stall,
    content,
    finish,
    reference_part,
    start,
    text,
    text_part,
    tool_calls,
    tool_message,
    usage,
)
from tests.pi.gateway import Gateway
from tests.pi.real_pi import Pi, messages, require_pi, text_of
from tests.pi.test_real_pi import after, answer, requested

JSON = dict[str, Any]
TOOL = "mcp__mistral__mistral_document_query"
SOURCES = json.dumps({"0": {"title": "Tides", "url": "https://example.invalid/tides"}})


@pytest.fixture
def pi(tmp_path: Path, gateway: Gateway) -> Pi:
    require_pi()
    pi = Pi(tmp_path, gateway)
    server = {
        "command": sys.executable,
        "args": ["-m", "nodrop.cli", "mcp"],
        "env": {
            "MISTRAL_API_KEY": gateway.mistral.api_key,
            "MISTRAL_BASE_URL": gateway.mistral.url,
            "NODROP_CONFIG": os.devnull,
            "NO_PROXY": "127.0.0.1",
        },
        "exposure": "direct",
        "timeout": 60,
    }
    (pi.agent / "mcp.json").write_text(json.dumps({"mcpServers": {"mistral": server}}))
    return pi


def asks_libraries(request: RecordedRequest) -> bool:
    return any(tool["type"] == "document_library" for tool in request.body.get("tools", []))


def wired(pi: Pi, library: Reply) -> None:
    """The model calls the tool once and then answers; ``library`` is what the libraries say."""

    def reply(request: RecordedRequest) -> Reply:
        if asks_libraries(request):
            return library
        if request.body["messages"][-1]["role"] == "tool":
            return answer(text("It is at noon [0]."))
        arguments = {"question": "When is high tide?", "library_ids": ["lib-1"]}
        return answer(tool_calls(requested("aB3dE5gH7", TOOL, arguments)), reason="tool_calls")

    pi.gateway.mistral.handler = reply


def library_answer() -> Reply:
    return Reply.stream(
        tool_message(SOURCES, tool_call_id="libSearch"),
        start(),
        text("High tide "),
        text("is at "),
        content(text_part("noon"), reference_part(0), text_part(".")),
        finish("stop", usage=usage(321, 12)),
        delay=0.15,
    )


def test_the_model_calls_the_document_query(pi: Pi) -> None:
    wired(pi, library_answer())
    events = pi.events("When is high tide?")
    previews = [
        text_of(event["partialResult"])
        for event in events
        if event["type"] == "tool_execution_update" and event["toolName"] == TOOL
    ]
    assert previews[0] == "High tide "
    assert previews[-1] == "High tide is at noon[0]."
    for before, now in itertools.pairwise(previews):
        assert now.startswith(before)
        assert len(now) > len(before)
    (ended,) = [event for event in events if event["type"] == "tool_execution_end"]
    assert ended["isError"] is False
    # pi keeps the whole CallToolResult there; ours is inside.
    structured = ended["result"]["structuredContent"]["structuredContent"]
    assert structured["answer"] == "High tide is at noon[0]."
    assert structured["citations"][0]["references"]["0"]["title"] == "Tides"
    assert structured["usage"]["input"] == 321
    assert structured["usage"]["output"] == 12
    assert structured["details"]["library_ids"] == ["lib-1"]
    (result,) = messages(events, "toolResult")
    assert text_of(result) == "High tide is at noon[0]."
    assert text_of(messages(events)[-1]) == "It is at noon [0]."
    declared = [tool["function"]["name"] for tool in pi.gateway.sent["tools"]]
    assert TOOL in declared
    assert not [name for name in declared if "resource" in name], "only tools are advertised"


def test_a_failure_is_an_error_result_with_our_words(pi: Pi) -> None:
    wired(pi, Reply.error(404, "Library lib-1 does not exist", type="not_found"))
    events = pi.events("When is high tide?")
    (ended,) = [event for event in events if event["type"] == "tool_execution_end"]
    assert ended["isError"] is True
    assert "Library lib-1 does not exist" in text_of(ended["result"])
    assert ended["result"]["structuredContent"]["structuredContent"]["details"]["error"]["status"] == 404
    (result,) = messages(events, "toolResult")
    assert result["isError"] is True


def test_an_abort_in_pi_reaches_the_stream_of_the_query(pi: Pi, capsys: pytest.CaptureFixture[str]) -> None:
    silent = library_answer()
    wired(pi, silent.with_faults(Stall(at=after(silent, 3))))
    mistral = pi.gateway.mistral
    with pi.rpc("--no-session") as rpc:
        rpc.send("prompt", message="When is high tide?")
        rpc.wait_for("tool_execution_update")
        began = time.monotonic()
        rpc.send("abort")
        rpc.wait_for("agent_settled")

        def closed_at() -> float | None:
            found = [played for played in mistral.replies if asks_libraries(played.request)]
            return found[0].client_closed_at

        mistral.wait_until(lambda: closed_at() is not None, what="the end of the query upstream")
    closed = closed_at()
    assert closed is not None
    with capsys.disabled():
        print(f"\n  pi's abort reached the query upstream after {(closed - began) * 1000:.0f} ms")
    assert closed - began < 1.0
    (result,) = messages(rpc.seen, "toolResult")
    assert result["isError"] is True
