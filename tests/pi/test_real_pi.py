"""End to end: an unmodified pi 1.4.0, the gateway, and an embedded Mistral. What the user of pi sees is asserted on."""

from __future__ import annotations

import base64
import json
import struct
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nodrop import RateCard
from nodrop.rate_card import cost
from nodrop.testing import (
    Cut,
    MistralServer,
    RecordedRequest,
    Reply,
    Stall,
    call_part,
    content,
    finish,
    image_part,
    reference_part,
    start,
    text,
    text_part,
    thinking,
    tool_calls,
    usage,
)
from tests.pi.gateway import MODEL, Gateway, running_gateway
from tests.pi.real_pi import Pi, messages, require_pi, text_of, updates

JSON = dict[str, Any]
TEXT_MODEL = "codestral-latest"


@pytest.fixture
def pi(tmp_path: Path, gateway: Gateway) -> Pi:
    require_pi()
    return Pi(tmp_path, gateway)


def answer(*items: Any, reason: str = "stop") -> Reply:
    return Reply.stream(start(), *items, finish(reason, usage=usage(100, 7), model=MODEL))


def after(reply: Reply, items: int) -> int:
    """The place behind so many events of a stream, the role's own first one included."""
    return sum(len(part) for part in reply.parts[:items])


def requested(call_id: str, name: str, arguments: JSON, index: int = 0) -> JSON:
    return call_part(call_id, name, json.dumps(arguments), index=index, type="function")


def retries(events: list[JSON]) -> list[JSON]:
    return [event for event in events if event["type"] == "auto_retry_start"]


# ---- answers ----


def test_text_is_printed(pi: Pi) -> None:
    pi.gateway.mistral.enqueue(answer(text("Hel"), text("lo, wörld 🌍")))
    done = pi.print("Hi")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Hello, wörld 🌍\n", "")
    assert pi.gateway.sent["messages"][-1] == {"role": "user", "content": [{"type": "text", "text": "Hi"}]}


def test_thinking_and_text_come_live(pi: Pi) -> None:
    """Each delta reaches pi while the server still holds the next one back."""
    after_thinking, after_text = threading.Event(), threading.Event()
    reply = answer(thinking("Let me see."), text("Blue."), text(" Mostly."))
    pi.gateway.mistral.enqueue(
        reply.with_faults(Stall(at=after(reply, 2), until=after_thinking), Stall(at=after(reply, 3), until=after_text))
    )
    with pi.rpc("--no-session") as rpc:
        rpc.send("prompt", message="Which colour?")

        def delta(kind: str) -> str:
            line = rpc.wait_for("message_update", lambda seen: seen["assistantMessageEvent"]["type"] == kind)
            found: str = line["assistantMessageEvent"]["delta"]
            return found

        assert delta("thinking_delta") == "Let me see."
        after_thinking.set()
        assert delta("text_delta") == "Blue."
        after_text.set()
        assert delta("text_delta") == " Mostly."
        rpc.wait_for("agent_settled")
    (message,) = messages(rpc.seen)
    assert [block["type"] for block in message["content"]] == ["thinking", "text"]
    assert message["content"][0]["thinking"] == "Let me see."
    assert message["providerThinkingLevel"] == pi.gateway.sent["reasoning_effort"] == "high"


def test_citation_markers_are_in_the_text(pi: Pi) -> None:
    pi.gateway.mistral.enqueue(answer(content(text_part("Paris "), reference_part(0, 3), text_part("."))))
    assert pi.print("Where?").stdout == "Paris [0, 3].\n"


def test_the_stream_of_a_whole_answer_is_whole(pi: Pi) -> None:
    pi.gateway.mistral.enqueue(Reply.whole("In one piece", usage=usage(10, 3), model=MODEL))
    events = pi.events("Hi")
    assert text_of(messages(events)[0]) == "In one piece"
    assert updates(events, "text_delta")


# ---- tools ----


def test_a_round_trip_with_pis_own_read(pi: Pi) -> None:
    (pi.folder / "note.txt").write_text("the password is swordfish")
    pi.gateway.mistral.enqueue(
        answer(text("I look."), tool_calls(requested("aB3dE5gH7", "read", {"path": "note.txt"})), reason="tool_calls"),
        answer(text("It is swordfish.")),
    )
    events = pi.events("What is the password?")
    first, second = messages(events)
    assert [block["type"] for block in first["content"]] == ["text", "toolCall"]
    assert first["stopReason"] == "toolUse"
    assert first["content"][1] == {
        "type": "toolCall", "id": "aB3dE5gH7", "name": "read", "arguments": {"path": "note.txt"},
    }  # fmt: skip
    assert text_of(second) == "It is swordfish."
    sent = pi.gateway.sent["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool"]
    assert sent[2]["content"] == "I look."
    assert sent[2]["tool_calls"][0]["id"] == sent[3]["tool_call_id"] == "aB3dE5gH7"
    assert "swordfish" in json.dumps(sent[3]["content"])


def test_pis_tools_are_declared_strictly(pi: Pi) -> None:
    pi.gateway.mistral.enqueue(answer(text("ok")))
    pi.print("Hi")
    read = next(tool["function"] for tool in pi.gateway.sent["tools"] if tool["function"]["name"] == "read")
    assert read["strict"] is True
    parameters = read["parameters"]
    assert parameters["additionalProperties"] is False
    assert set(parameters["required"]) == set(parameters["properties"]) >= {"path", "offset"}
    assert {"type": "null"} in parameters["properties"]["offset"]["anyOf"]


def test_parallel_calls_run_and_come_back_in_order(pi: Pi) -> None:
    for name in "abc":
        (pi.folder / name).write_text(f"file {name}")
    calls = [requested(f"call0000{name}", "read", {"path": name}, index) for index, name in enumerate("abc")]
    pi.gateway.mistral.enqueue(answer(tool_calls(*calls), reason="tool_calls"), answer(text("done")))
    events = pi.events("Read all three")
    results = messages(events, "toolResult")
    assert [(found["toolCallId"], text_of(found)) for found in results] == [
        (f"call0000{name}", f"file {name}") for name in "abc"
    ]
    sent = pi.gateway.sent["messages"]
    assert [message.get("tool_call_id") for message in sent[-3:]] == [f"call0000{name}" for name in "abc"]
    assert len(sent[2]["tool_calls"]) == 3


def test_broken_arguments_go_back_to_the_model(pi: Pi) -> None:
    broken = call_part("aB3dE5gH7", "read", '{"path": "no', index=0)
    pi.gateway.mistral.enqueue(answer(tool_calls(broken), reason="tool_calls"), answer(text("Sorry.")))
    (result,) = messages(pi.events("Read"), "toolResult")
    assert result["isError"]
    assert text_of(result).startswith("Invalid arguments for tool")
    told = pi.gateway.sent["messages"][-1]
    assert told["role"] == "tool"
    assert "[tool error]" in json.dumps(told["content"])


# ---- errors ----

HALF = answer(text("half of it"))


def test_a_rejected_chunk_is_an_error_by_name_and_not_retried(pi: Pi) -> None:
    pi.gateway.mistral.enqueue(answer(text("See: "), content(image_part("data:image/png;base64,c2VjcmV0"))))
    events = pi.events("Draw")
    (message,) = messages(events)
    assert message["stopReason"] == "error"
    assert "image_url" in message["errorMessage"]
    assert "c2VjcmV0" not in json.dumps(events)
    assert text_of(message) == "See: "
    assert not retries(events)


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (Reply.error(503, "Service unavailable.", type="internal_server_error", code="3800"), "(503)"),
        (Reply.error(429, "Rate limit exceeded", type="rate_limited", code="1300"), "(429)"),
        (Reply.raw("<html><title>520: unknown error</title>", content_type="text/html", status=520), "(520)"),
        (HALF.with_faults(Cut(at=after(HALF, 2), how="abrupt")), "network error"),
        (HALF.with_faults(Cut(at=after(HALF, 2), how="polite")), "ended without"),
        (answer(text("no"), reason="error"), "server error"),
    ],
    ids=["503", "429", "520", "reset", "cut", "finish_reason error"],
)
def test_a_passing_failure_is_retried_and_the_answer_comes(pi: Pi, failure: Reply, said: str) -> None:
    pi.gateway.mistral.enqueue(failure, answer(text("Recovered.")))
    events = pi.events("Hi")
    (retry,) = retries(events)
    assert said in retry["errorMessage"]
    assert text_of(messages(events)[-1]) == "Recovered."
    first, second = (request.body["messages"] for request in pi.gateway.mistral.requests)
    assert first == second, "the failed attempt is not in the history"


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (Reply.json(401, {"detail": "Invalid API Key"}), "Invalid API Key"),
        (Reply.error(400, "File could not be fetched: timeout", code="3310"), "fetched"),
        (Reply.error(429, "Monthly token limit exceeded", type="rate_limited"), "Monthly"),
    ],
    ids=["401", "400 that speaks of a timeout", "monthly limit"],
)
def test_the_rest_stops_at_once(pi: Pi, failure: Reply, said: str) -> None:
    pi.gateway.mistral.enqueue(failure)
    events = pi.events("Hi")
    (message,) = messages(events)
    assert said in message["errorMessage"]
    assert message["stopReason"] == "error"
    kinds = {event["type"] for event in events}
    assert not kinds & {"auto_retry_start", "compaction_start"}


def test_overflow_compacts_and_then_answers(pi: Pi) -> None:
    overflow = Reply.error(
        400,
        "Prompt contains 140000 tokens and 0 draft tokens, too large for model with 131072 maximum context length",
        type="invalid_request_invalid_args",
        code="3051",
    )
    asked = 0

    def reply(request: RecordedRequest) -> Reply:
        nonlocal asked
        if "tools" not in request.body:
            return answer(text("Summary: many numbers were discussed."))
        asked += 1
        return {1: answer(text("One. " * 400)), 2: overflow, 3: answer(text("After compaction."))}[asked]

    pi.gateway.mistral.handler = reply
    with pi.rpc() as rpc:
        rpc.prompt("Count. " * 400)
        lines = rpc.prompt("And now?")
    begun = next(line for line in lines if line["type"] == "compaction_start")
    ended = next(line for line in lines if line["type"] == "compaction_end")
    assert begun["reason"] == "overflow"
    assert ended["willRetry"] is True
    assert text_of(messages(lines)[-1]) == "After compaction."
    last = pi.gateway.sent["messages"]
    assert "Summary: many numbers" in json.dumps(last)
    summaries = [request.body for request in pi.gateway.mistral.requests if "tools" not in request.body]
    assert summaries
    assert all("prompt_cache_key" not in body for body in summaries), "pi asks for no cache there"


def test_an_abort_closes_the_connection_upstream_at_once(pi: Pi, capsys: pytest.CaptureFixture[str]) -> None:
    reply = answer(text("The first words"), text("and no more"))
    mistral = pi.gateway.mistral
    mistral.enqueue(reply.with_faults(Stall(at=after(reply, 2))))
    with pi.rpc("--no-session") as rpc:
        rpc.send("prompt", message="Tell me all")
        rpc.wait_for("message_update", lambda line: line["assistantMessageEvent"]["type"] == "text_delta")
        began = time.monotonic()
        rpc.send("abort")
        rpc.wait_for("agent_settled")
        mistral.wait_until(lambda: mistral.replies[0].client_closed_at is not None, what="the end upstream")
    closed = mistral.replies[0].client_closed_at
    assert closed is not None
    with capsys.disabled():
        print(f"\n  pi's abort reached the server upstream after {(closed - began) * 1000:.0f} ms")
    assert closed - began < 1.0
    assert messages(rpc.seen)[-1]["stopReason"] == "aborted"


@pytest.fixture
def beating(mistral_server: MistralServer) -> Iterator[Gateway]:
    with running_gateway(mistral_server, heartbeat=0.2) as running:
        yield running


def test_heartbeats_survive_a_silence_that_pi_would_not(tmp_path: Path, beating: Gateway) -> None:
    """The 60 s of silence, scaled down: three times pi's own bound (300 s by default, here 1 s)."""
    require_pi()
    pi = Pi(tmp_path, beating, {"httpIdleTimeoutMs": 1000})
    reply = answer(text("Slow"), text(" but whole"))
    for fault in (Stall(at="before_headers", seconds=3), Stall(at=after(reply, 2), seconds=3)):
        beating.mistral.enqueue(reply.with_faults(fault))
        events = pi.events("Think hard")
        assert text_of(messages(events)[-1]) == "Slow but whole"
        assert not retries(events)


def test_without_heartbeats_pi_gives_up(pi: Pi) -> None:
    """The counter-example: the same silence, with heartbeats that come too late."""
    (pi.agent / "settings.json").write_text(json.dumps({"httpIdleTimeoutMs": 1000, "retry": {"enabled": False}}))
    reply = answer(text("Slow"), text(" but whole"))
    pi.gateway.mistral.enqueue(reply.with_faults(Stall(at=after(reply, 2), seconds=3)))
    assert messages(pi.events("Think hard"))[-1]["stopReason"] == "error"


# ---- images, usage, history ----


def picture() -> bytes:
    def part(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\x00" + b"\xff\x00\x00" * 8 for _ in range(8))
    head = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b"")


def test_an_image_from_a_file_is_sent(pi: Pi) -> None:
    (pi.folder / "red.png").write_bytes(picture())
    pi.gateway.mistral.enqueue(answer(text("Red.")))
    assert pi.print("What colour?", "@red.png").stdout == "Red.\n"
    chunks = pi.gateway.sent["messages"][-1]["content"]
    (image,) = [chunk for chunk in chunks if chunk["type"] == "image_url"]
    prefix = "data:image/png;base64,"
    assert image["image_url"].startswith(prefix)
    assert base64.b64decode(image["image_url"].removeprefix(prefix)).startswith(b"\x89PNG")


def test_an_image_is_left_out_for_a_text_only_model(pi: Pi) -> None:
    (pi.folder / "red.png").write_bytes(picture())
    pi.gateway.mistral.enqueue(
        answer(tool_calls(requested("aB3dE5gH7", "read", {"path": "red.png"})), reason="tool_calls"),
        answer(text("I cannot see it.")),
    )
    pi.events("What colour?", model=TEXT_MODEL)
    told = json.dumps(pi.gateway.sent["messages"])
    assert "image_url" not in told
    assert "[image omitted: the model takes no images]" in told


def test_session_stats_have_the_tokens_and_the_rate_cards_cost(pi: Pi) -> None:
    rates = RateCard.default().find(MODEL)
    assert rates is not None
    total = 0.0
    reports = [(1000, 50, 400), (2000, 30, 0)]
    for prompt, out, cached in reports:
        counts = usage(prompt, out, cached_tokens=cached)
        pi.gateway.mistral.enqueue(Reply.stream(start(), text("ok"), finish("stop", usage=counts, model=MODEL)))
        estimate = cost(rates.rates, input=prompt - cached, output=out, cache_read=cached, cache_write=0)
        assert estimate is not None
        total += estimate.total
    with pi.rpc("--no-session") as rpc:
        for _ in reports:
            rpc.prompt("Hi")
        stats = rpc.ask("get_session_stats")
    assert stats["tokens"] == {"input": 2600, "output": 80, "cacheRead": 400, "cacheWrite": 0, "total": 3080}
    assert stats["cost"] == pytest.approx(total, rel=1e-12)
    assert stats["contextUsage"]["tokens"] == 2030


FOREIGN_ID = "call_" + "x" * 90 + "|fc_1"


def foreign_history() -> list[JSON]:
    """What pi stored while another provider answered: its thinking, its ids, and a turn that failed."""
    zero = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
    counts = {"input": 10, "output": 5, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 15, "cost": zero}
    other = {"api": "other-api", "provider": "other", "model": "other-1", "usage": counts}
    found = {"type": "toolCall", "id": FOREIGN_ID, "name": "read", "arguments": {"path": "x"}}
    lost = {"type": "toolCall", "id": "lost|1", "name": "read", "arguments": {"path": "y"}}
    thought = {"type": "thinking", "thinking": "foreign thought", "thinkingSignature": "c2ln"}
    result = [{"type": "text", "text": "result of x"}]
    return [
        {"role": "user", "content": [{"type": "text", "text": "Read x"}]},
        {"role": "assistant", "content": [thought, found, lost], **other, "stopReason": "toolUse"},
        {"role": "toolResult", "toolCallId": FOREIGN_ID, "toolName": "read", "content": result, "isError": False},
        {"role": "assistant", "content": [{"type": "text", "text": "half an answ"}], **other, "stopReason": "aborted"},
        {"role": "user", "content": [{"type": "text", "text": "Once more"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "x is x."}], **other, "stopReason": "stop"},
    ]


def test_a_history_with_foreign_ids_and_thinking(pi: Pi) -> None:
    session = pi.home / "session.jsonl"
    stamp = "2026-11-01T00:00:00.000Z"
    lines: list[JSON] = [{"type": "session", "version": 3, "id": "a" * 8, "timestamp": stamp, "cwd": str(pi.folder)}]
    for number, message in enumerate(foreign_history()):
        parent = f"{number - 1:08x}" if number else None
        entry = {"type": "message", "id": f"{number:08x}", "parentId": parent, "timestamp": stamp}
        lines.append({**entry, "message": {**message, "timestamp": 1793491200000 + number}})
    session.write_text("".join(json.dumps(line) + "\n" for line in lines))
    pi.gateway.mistral.enqueue(answer(text("Yes.")))
    with pi.rpc("--session", str(session)) as rpc:
        rpc.prompt("Sure?")
    assert text_of(messages(rpc.seen)[-1]) == "Yes."
    sent = pi.gateway.sent["messages"]
    roles = [message["role"] for message in sent]
    assert roles == ["system", "user", "assistant", "tool", "tool", "user", "assistant", "user"]
    ids = [made["id"] for made in sent[2]["tool_calls"]]
    assert ids == [sent[3]["tool_call_id"], sent[4]["tool_call_id"]]
    assert len(set(ids)) == 2
    assert all(len(made) == 9 and made.isalnum() for made in ids)
    assert "result of x" in json.dumps(sent[3]["content"])
    assert "No result provided" in json.dumps(sent[4]["content"])
    told = json.dumps(pi.gateway.sent)
    for gone in ("foreign thought", "c2ln", "half an answ", FOREIGN_ID):
        assert gone not in told


@pytest.mark.parametrize(("level", "effort"), [("off", "none"), ("high", "high"), ("low", "high")])
def test_thinking_levels(pi: Pi, level: str, effort: str) -> None:
    """pi clamps a level to those of models.json; the gateway maps what arrives."""
    pi.gateway.mistral.enqueue(answer(text("ok")))
    pi.print("Hi", "--thinking", level)
    assert pi.gateway.sent["reasoning_effort"] == effort


def test_a_model_that_cannot_think_is_sent_no_effort(pi: Pi) -> None:
    pi.gateway.mistral.enqueue(answer(text("ok")))
    pi.print("Hi", "--thinking", "high", model=TEXT_MODEL)
    assert "reasoning_effort" not in pi.gateway.sent
    assert pi.gateway.sent["max_tokens"] == 8192


def test_the_session_is_the_cache_key_and_the_affinity(pi: Pi) -> None:
    pi.gateway.mistral.enqueue(answer(text("ok")))
    pi.print("Hi")
    key = pi.gateway.sent["prompt_cache_key"]
    assert key
    assert pi.gateway.mistral.requests[-1].headers["x-affinity"] == key


def test_an_unknown_model_is_refused(pi: Pi) -> None:
    done = pi.print("Hi", model="mistral-imaginary")
    assert done.returncode == 1
    assert "no such model" in done.stderr
    assert not pi.gateway.mistral.requests


def test_a_length_stop_is_one(pi: Pi) -> None:
    pi.gateway.mistral.enqueue(
        Reply.stream(start(), text("cut"), finish("length", usage=usage(10, 8192), model=TEXT_MODEL))
    )
    done = pi.print("Hi", model=TEXT_MODEL)
    assert (done.returncode, done.stdout) == (1, "cut\n")
