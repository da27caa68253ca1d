"""The wire level on the slow path: what only a chat rejects is handed out; unknown and malformed things are named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nodrop.core.wire_sink import WireSink
from nodrop.errors import ContentRejectedError, NodropError, ServerError
from nodrop.testing.wire import chunk, completion, encode_item
from nodrop.wire import ChatCompletionResponse, CompletionChunk

LONE = {"type": "text", "text": "half \ud83d"}
"""Half a character: what sends an event onto the slow path."""
KNOWN: list[dict[str, Any]] = [
    {"type": "image_url", "image_url": "https://example.org/a.png"},
    {"type": "document_url", "document_url": "https://example.org/a.pdf", "document_name": "a"},
    {"type": "file", "file_id": "f1"},
    {"type": "input_audio", "input_audio": "AAAA"},
    {"type": "resource", "uri": "x:1", "content": {"type": "text", "text": "t"}},
    {"type": "resource_link", "uri": "x:1"},
    {"type": "thinking", "thinking": [{"type": "tool_reference", "tool": "web_search", "title": "t"}]},
]


def read(*items: dict[str, Any]) -> tuple[list[CompletionChunk | ChatCompletionResponse], NodropError | None]:
    sink = WireSink(max_event_bytes=1 << 20)
    out: list[CompletionChunk | ChatCompletionResponse] = []
    for item in items:
        out += sink.feed(b"data: " + json.dumps(item).encode() + b"\n\n")
    return out, sink.error


@pytest.mark.parametrize("known", KNOWN, ids=lambda part: part["type"])
def test_a_type_that_a_chat_rejects_is_handed_out_beside_half_a_character(known: dict[str, Any]) -> None:
    items, error = read(chunk({"content": [LONE, known]}))
    assert error is None
    [item] = items
    assert isinstance(item, CompletionChunk)
    assert item.choices
    assert item.model_dump()["choices"][0]["delta"]["content"] == [LONE, known]


def test_the_role_tool_is_handed_out_beside_half_a_character() -> None:
    items, error = read(chunk({"role": "tool", "content": "half \ud83d"}))
    assert error is None
    [item] = items
    assert isinstance(item, CompletionChunk)
    assert item.choices
    assert item.choices[0].delta.role == "tool"


def test_so_it_is_in_a_whole_completion() -> None:
    sink = WireSink(max_event_bytes=1 << 20)
    answer = completion(messages=[{"role": "tool", "content": "\ud83d"}, {"role": "assistant", "content": KNOWN}])
    [item] = sink.whole(json.dumps(answer).encode())
    assert sink.error is None
    assert sink.oddities == ["lone_surrogate"]
    assert isinstance(item, ChatCompletionResponse)


@pytest.mark.parametrize("known", KNOWN, ids=lambda part: part["type"])
def test_the_unknown_type_behind_it_is_the_one_that_is_named(known: dict[str, Any]) -> None:
    items, error = read(chunk({"content": [known, {"type": "hologram"}]}))
    assert not items
    assert isinstance(error, ContentRejectedError)
    assert (error.wire_type, error.path) == ("hologram", "choices[0].delta.content[1]")
    assert error.raw is not None
    assert b"hologram" in error.raw


def test_a_known_type_of_the_wrong_shape_is_malformed_and_not_merely_rejected() -> None:
    _, error = read(chunk({"content": [{"type": "image_url", "image_url": 3}]}))
    assert isinstance(error, ContentRejectedError)
    assert str(error).startswith("malformed content type 'image_url' at choices[0].delta.content[0].image_url")


def test_an_unknown_role_is_named() -> None:
    _, error = read(chunk({"role": "narrator", "content": "\ud83d"}))
    assert isinstance(error, ContentRejectedError)
    assert error.wire_type == "narrator"


def test_a_stream_without_its_end_marker_says_so() -> None:
    sink = WireSink(max_event_bytes=1 << 20)
    sink.feed(encode_item(chunk({"content": "a"}, finish_reason="stop")))
    sink.close()
    assert sink.finished
    assert sink.oddities == ["no_done_marker"]


@pytest.mark.parametrize(
    "beside",
    [
        {"error": {"message": "down", "type": "server_error", "code": 503}},
        {"object": "error", "message": "down", "raw_status_code": 503},
    ],
    ids=["error", "envelope"],
)
def test_an_error_beside_the_choices_is_the_error_that_a_chat_raises(beside: dict[str, Any]) -> None:
    items, error = read(chunk({"content": "a"}), chunk({}) | beside)
    assert len(items) == 1
    assert isinstance(error, ServerError)
    assert (error.status, error.in_stream) == (503, True)
    assert b"down" in error.body
