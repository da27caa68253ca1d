"""What is rejected: an error event that names it, the partial answer before it, and no payload anywhere else."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from nodrop.content import AssistantMessage
from nodrop.errors import APIError, ContentRejectedError, NodropError
from nodrop.testing.wire import (
    call_part,
    chunk,
    completion,
    content,
    finish,
    image_part,
    message,
    reference_part,
    text,
    text_part,
    thinking_part,
)
from nodrop.wire import SPEC_VERSION
from tests.core.driving import run, run_whole
from tests.core.hiding import SECRET, check_hidden

SPOTS: dict[str, Any] = {"extra": SECRET, "nested": {SECRET: [SECRET]}, SECRET: SECRET}

# A content item that is rejected → (the wire type that the error names, a part of its path).
ITEMS: dict[str, tuple[Any, str, str]] = {
    "image_url": (image_part(SECRET), "image_url", ""),
    "image_url as a string": ({"type": "image_url", "image_url": SECRET}, "image_url", ""),
    "image_url with unknown fields": (image_part(SECRET) | SPOTS, "image_url", ""),
    "image_url of the wrong shape": ({"type": "image_url", "image_url": [SECRET]}, "image_url", ""),
    "image_url with nothing": ({"type": "image_url"}, "image_url", ""),
    "document_url": ({"type": "document_url", "document_url": SECRET, "document_name": SECRET}, "document_url", ""),
    "file": ({"type": "file", "file_id": SECRET}, "file", ""),
    "input_audio": ({"type": "input_audio", "input_audio": SECRET}, "input_audio", ""),
    "resource": ({"type": "resource", "uri": SECRET, "content": text_part(SECRET)}, "resource", ""),
    "resource_link": ({"type": "resource_link", "uri": SECRET, "metadata": {"a": SECRET}}, "resource_link", ""),
    "an unknown type": ({"type": "video_url", "video_url": {"url": SECRET}}, "video_url", ""),
    "no type": ({"text": SECRET} | SPOTS, "", ""),
    "a type that is null": ({"type": None, "text": SECRET}, "", ""),
    "a type that is a number": ({"type": 7, "text": SECRET}, "", ""),
    "a type that is an object": ({"type": {"type": SECRET}}, "", ""),
    "a type that is a payload": ({"type": SECRET, "text": SECRET}, "", ""),
    "null": (None, "", ""),
    "a number": (7, "", ""),
    "a boolean": (True, "", ""),
    "a string": (SECRET, "", ""),
    "a list": ([text_part(SECRET)], "", ""),
    "text of the wrong shape": ({"type": "text", "text": [SECRET]}, "text", ".text"),
    "text with nothing": ({"type": "text", "texts": SECRET}, "text", ".text"),
    "thinking that is a string": ({"type": "thinking", "thinking": SECRET}, "thinking", ".thinking"),
    "thinking with nothing": ({"type": "thinking"} | SPOTS, "thinking", ".thinking"),
    "a signature that is an object": (
        thinking_part(signature="") | {"signature": {"a": SECRET}},
        "thinking",
        ".signature",
    ),
    "closed that is a string": (thinking_part() | {"closed": SECRET}, "thinking", ".closed"),
    "reference_ids that are a string": ({"type": "reference", "reference_ids": SECRET}, "reference", ""),
    "reference_ids that are null": ({"type": "reference", "reference_ids": None}, "reference", ""),
    "reference_ids that are an object": ({"type": "reference", "reference_ids": {SECRET: SECRET}}, "reference", ""),
    "no reference_ids": ({"type": "reference"} | SPOTS, "reference", ""),
    "a boolean among reference_ids": ({"type": "reference", "reference_ids": [0, True, SECRET]}, "reference", ""),
    "a fraction among reference_ids": ({"type": "reference", "reference_ids": [SECRET, 1.5]}, "reference", ""),
    "null among reference_ids": ({"type": "reference", "reference_ids": [SECRET, None]}, "reference", ""),
}
# A part of a thinking chunk that is rejected → (the wire type that the error names, a part of its path).
PARTS: dict[str, tuple[Any, str, str]] = {
    "tool_reference": (
        {"type": "tool_reference", "tool": SECRET, "title": SECRET, "url": SECRET},
        "tool_reference",
        "",
    ),
    "tool_reference of the wrong shape": ({"type": "tool_reference", "tool": [SECRET]}, "tool_reference", ""),
    "image_url": (image_part(SECRET), "image_url", ""),
    "thinking in thinking": (thinking_part(SECRET), "thinking", ""),
    "an unknown type": ({"type": "sketch", "sketch": SECRET}, "sketch", ""),
    "no type": (SPOTS, "", ""),
    "null": (None, "", ""),
    "a string": (SECRET, "", ""),
    "text of the wrong shape": ({"type": "text", "text": {"a": SECRET}}, "text", ".text"),
    "a non-list of reference_ids": ({"type": "reference", "reference_ids": SECRET}, "reference", ""),
}


def check_named(error: NodropError | None, wire_type: str, path: str) -> None:
    assert isinstance(error, ContentRejectedError)
    assert error.wire_type == wire_type
    assert error.path == path
    assert wire_type in str(error)
    assert path in str(error)
    assert error.reason
    assert error.reason in str(error)
    assert error.spec_version == SPEC_VERSION
    assert f"spec {SPEC_VERSION}" in str(error)
    assert "; " in str(error).split(SPEC_VERSION)[1]  # what to do


@pytest.mark.parametrize(("item", "wire_type", "rest"), ITEMS.values(), ids=ITEMS.keys())
def test_content_items(item: Any, wire_type: str, rest: str) -> None:
    delta = content(text_part("b"), reference_part(1), item, text_part("never"))
    outcome = run(text("a"), delta, text("never"), finish())
    check_named(outcome.error, wire_type, f"choices[0].delta.content[2]{rest}")
    check_hidden(outcome)
    assert outcome.text == "ab[1]"
    assert isinstance(outcome.error, APIError)
    assert outcome.error.partial == outcome.message
    assert not outcome.error.is_retryable


@pytest.mark.parametrize(("item", "wire_type", "rest"), ITEMS.values(), ids=ITEMS.keys())
@pytest.mark.parametrize("form", ["message", "messages"])
def test_content_items_of_whole_completions(form: str, item: Any, wire_type: str, rest: str) -> None:
    parts = [text_part("b"), reference_part(1), item, text_part("never")]
    if form == "message":
        outcome = run_whole(completion(parts))
        check_named(outcome.error, wire_type, f"choices[0].message.content[2]{rest}")
    else:
        outcome = run_whole(completion(messages=[message("a"), message(parts), message("never")]))
        check_named(outcome.error, wire_type, f"choices[0].messages[1].content[2]{rest}")
    check_hidden(outcome)
    assert outcome.text == ("b[1]" if form == "message" else "ab[1]")


@pytest.mark.parametrize(("part", "wire_type", "rest"), PARTS.values(), ids=PARTS.keys())
def test_thinking_parts(part: Any, wire_type: str, rest: str) -> None:
    chunk_ = {"type": "thinking", "thinking": [text_part("b"), reference_part("x"), part, text_part("never")]}
    outcome = run(content(thinking_part("a"), chunk_, text_part("never")), finish())
    check_named(outcome.error, wire_type, f"choices[0].delta.content[1].thinking[2]{rest}")
    check_hidden(outcome)
    assert (outcome.thinking, outcome.text) == ("ab[x]", "")


def test_pickled_error_keeps_its_facts_and_its_partial() -> None:
    outcome = run(text("a"), content(image_part(SECRET)), finish())
    copied = pickle.loads(pickle.dumps(outcome.error))
    assert isinstance(copied, ContentRejectedError)
    assert isinstance(copied.partial, AssistantMessage)
    assert copied.partial == outcome.message
    assert (copied.wire_type, copied.path) == ("image_url", "choices[0].delta.content[0]")
    assert "partial" not in repr(copied)


@pytest.mark.parametrize("item", [image_part("u"), {"type": "video_url"}], ids=["fast path", "slow path"])
def test_what_comes_after_the_culprit_is_not_mapped(item: Any) -> None:
    delta = {"content": [item], "tool_calls": [call_part("aaaaaaaa1", "f", "{}")]}
    outcome = run(chunk(delta, finish_reason="stop"))
    assert outcome.message.raw_stop_reason is None
    assert outcome.message.content == []
