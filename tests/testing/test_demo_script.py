"""The demo's answers hold what the demo promises to show."""

from __future__ import annotations

import json
from typing import Any

from nodrop.testing import MistralServer, Reply, demo
from nodrop.testing.replies import Packet
from tests.testing.peer import Peer


def chunks(reply: Reply) -> list[dict[str, Any]]:
    packets = [step.data for step in reply.steps() if isinstance(step, Packet)]
    assert packets.pop() == b"data: [DONE]\n\n"
    return [json.loads(packet.removeprefix(b"data: ")) for packet in packets]


def deltas(reply: Reply) -> list[dict[str, Any]]:
    return [chunk["choices"][0]["delta"] for chunk in chunks(reply)]


def test_the_answer() -> None:
    answer = chunks(demo.answer())
    assert {chunk["model"] for chunk in answer} == {"mistral-medium-latest"}
    assert answer[-1]["choices"][0]["finish_reason"] == "tool_calls"
    assert answer[-1]["usage"]["prompt_tokens_details"]["cached_tokens"] > 0
    thinking, text, cited = "", "", []
    for delta in deltas(demo.answer()):
        content = delta.get("content")
        if isinstance(content, str):
            text += content
            continue
        for part in content or []:
            if part["type"] == "thinking":
                assert not text, "thinking comes first"
                thinking += "".join(inner["text"] for inner in part["thinking"])
            else:
                cited.append((part["reference_ids"], text))
    assert thinking.startswith("The user wants")
    assert thinking.endswith("on each other.")
    assert text.startswith("Bergen will be calmer.")
    assert text.endswith("tables now.")
    assert [ids for ids, _ in cited] == [[0], [1, 2]]
    assert all(text.startswith(before) and before for _, before in cited)


def test_the_calls_are_interleaved_fragments() -> None:
    fragments = [call for delta in deltas(demo.answer()) for call in delta.get("tool_calls", [])]
    order = [call["index"] for call in fragments]
    assert sorted(order) != order
    arguments = {0: "", 1: ""}
    for call in fragments:
        arguments[call["index"]] += call["function"]["arguments"]
    assert [json.loads(arguments[index]) for index in (0, 1)] == [
        {"port": "Bergen", "unit": "m"},
        {"port": "Stavanger", "unit": "m"},
    ]
    opened, continued = fragments[:2], fragments[2:]
    assert all(call["function"]["name"] == demo.TOOL_NAME and len(call["id"]) == 9 for call in opened)
    assert {(call.get("id"), call["function"]["name"]) for call in continued} == {(None, ""), ("null", "")}


def test_the_rejected_chunk_has_text_before_it_in_the_same_delta() -> None:
    last = deltas(demo.rejected())[-2]["content"]
    assert [part["type"] for part in last] == ["text", "image_url"]
    assert last[1]["image_url"]["url"].startswith("data:image/png;base64,")


def test_the_demo_takes_about_three_seconds() -> None:
    pauses = [len(chunks(reply)) * reply.delay for reply in demo.replies()]
    assert 2 < sum(pauses) < 3.5


def test_the_pace_can_be_taken_out(mistral_server: MistralServer) -> None:
    mistral_server.enqueue(*demo.replies(delay=0))
    with Peer(mistral_server) as peer:
        for reply in demo.replies():
            peer.ask()
            peer.read_head()
            assert b"".join(peer.read_chunks()) == reply.body
