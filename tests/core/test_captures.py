"""Every recording in ``../shared/captures``, decoded by nodrop and read by the oracle: they must say the same.

The recordings are not part of the project; without them this module is skipped, visibly.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nodrop import errors
from nodrop.content import AssistantMessage, TextContent, ThinkingContent, ToolCall, Usage
from nodrop.core.decoder import Decoder
from nodrop.core.server_errors import error_from_response
from nodrop.events import Done, Failed
from tests.oracle.reading import Call, Reading, read_body

CAPTURES = Path(__file__).parents[2].parent / "shared" / "captures"
if not CAPTURES.is_dir():
    pytest.skip("no recordings at ../shared/captures", allow_module_level=True)

ALL = 307
STREAMED, ERRORS, TWO_CANDIDATES = 112, 24, 5
STOP_REASONS = {"stop": "stop", "length": "length", "tool_calls": "toolUse"}
ERROR_CLASSES = {
    400: errors.InvalidRequestError,
    401: errors.AuthenticationError,
    404: errors.NotFoundError,
    422: errors.InvalidRequestError,
    429: errors.RateLimitError,
    500: errors.ServerError,
}


@dataclass(frozen=True)
class Recording:
    path: Path

    @property
    def name(self) -> str:
        return str(self.path.relative_to(CAPTURES))

    @property
    def body(self) -> bytes:
        return self.path.read_bytes()

    @property
    def whole(self) -> bool:
        return self.path.suffix == ".json"

    @property
    def meta(self) -> dict[str, Any]:
        meta: dict[str, Any] = json.loads(self.path.with_suffix(".meta.json").read_text(encoding="utf-8"))
        return meta


RECORDINGS = sorted(
    (Recording(path) for path in CAPTURES.rglob("*.*") if re.fullmatch(r".*(?<!\.meta)\.(sse|json)", path.name)),
    key=lambda recording: recording.name,
)


def decode(recording: Recording, step: int = 1 << 20) -> Decoder:
    """The decoder after the whole body, fed in blocks of ``step`` bytes; checks what its last event says."""
    decoder = Decoder(now=lambda: 0)
    if recording.whole:
        events = decoder.whole(recording.body)
    else:
        body = recording.body
        events = [event for at in range(0, len(body), step) for event in decoder.feed(body[at : at + step])]
        events += decoder.close()
    last = events[-1]
    assert isinstance(last, (Done, Failed))
    assert sum(isinstance(event, (Done, Failed)) for event in events) == 1
    assert last.message == decoder.message
    assert decoder.error is (last.exception if isinstance(last, Failed) else None)
    return decoder


# ---- the comparison ----


def compare(recording: Recording) -> str:
    """Compares one recording; returns what it was."""
    status = recording.meta["status"]
    if status != 200:
        compare_error(recording, status)
        return "error"
    reading = read_body(recording.body, whole=recording.whole)
    assert reading.rejected == []
    assert reading.unnamed == []
    assert reading.error is None
    if reading.candidates != [0]:
        compare_candidates(recording, reading)
        return "two candidates"
    compare_answer(recording, reading)
    return "whole" if recording.whole else "streamed"


def compare_answer(recording: Recording, reading: Reading) -> None:
    decoder = decode(recording)
    message = decoder.message
    assert decoder.error is None
    assert message.error_message is None
    assert message.text == reading.text
    assert message.thinking == reading.thinking
    assert blocks(message) == reading.blocks
    assert [reading.finish] == reading.finishes
    assert reading.finish is not None
    assert message.stop_reason == STOP_REASONS[reading.finish]
    assert len(message.tool_calls) == len(reading.tool_calls)
    for call, expected in zip(message.tool_calls, reading.tool_calls, strict=True):
        compare_call(call, expected, cut=reading.finish == "length")
    compare_usage(message.usage, reading.usage)
    assert reading.models == [message.response_model or message.model]
    assert message.unmapped == {}


def blocks(message: AssistantMessage) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for block in message.content:
        if isinstance(block, TextContent):
            found.append((block.type, block.text))
        elif isinstance(block, ThinkingContent):
            found.append((block.type, block.thinking))
        else:
            assert isinstance(block, ToolCall)
            found.append((block.type, block.raw_arguments))
    return found


def compare_call(call: ToolCall, expected: Call, *, cut: bool) -> None:
    assert call.name == expected.name
    assert call.raw_arguments == expected.arguments
    if expected.id is None:
        assert re.fullmatch(r"[a-zA-Z0-9]{9}", call.id)
    else:
        assert call.id == expected.id
    try:
        arguments = json.loads(expected.arguments) if expected.arguments or cut else {}
    except json.JSONDecodeError:
        arguments = None
    assert call.complete == isinstance(arguments, dict)
    assert call.arguments == (arguments if isinstance(arguments, dict) else {})
    assert (call.arguments_error is None) == call.complete


def compare_usage(usage: Usage, reported: dict[str, Any] | None) -> None:
    assert usage.reported == (reported is not None)
    if reported is None:
        assert usage == Usage(reported=False)
        return
    details = reported.get("prompt_tokens_details") or {}
    prompt = reported["prompt_tokens"] + (details.get("audio_tokens") or 0)
    # Recordings of early 2026 report blocks of 64 cached tokens for prompts of ten: never more than the prompt counts.
    cached = min(details.get("cached_tokens", reported.get("num_cached_tokens", 0)), prompt)
    assert (usage.input, usage.cache_read, usage.cache_write) == (prompt - cached, cached, 0)
    assert usage.output == reported["completion_tokens"]
    assert usage.total_tokens == reported["total_tokens"]
    assert usage.reasoning is None
    assert usage.raw == reported


def compare_candidates(recording: Recording, reading: Reading) -> None:
    assert reading.candidates == [0, 1]
    decoder = decode(recording)
    assert isinstance(decoder.error, errors.ContentRejectedError)
    assert "choices[1]" in str(decoder.error)
    message = decoder.message
    assert message.stop_reason == "error"
    assert message.error_message is not None
    assert "choices[1]" in message.error_message
    # What came before the second candidate stays; nothing of the second is mixed in.
    assert reading.text.startswith(message.text)
    if recording.whole:
        assert message.text == reading.text


def compare_error(recording: Recording, status: int) -> None:
    headers = recording.meta.get("response_headers") or {}
    error = error_from_response(status=status, headers=headers, body=recording.body)
    capacity = b"capacity exceeded" in recording.body
    assert type(error) is (errors.CapacityError if capacity else ERROR_CLASSES[status])
    assert isinstance(error, errors.StatusError)
    assert error.status == status
    assert error.is_retryable == (status in (429, 500))
    said = json.loads(recording.body)
    words = said.get("message") or said.get("detail")
    if isinstance(words, str):
        assert words in str(error)
    else:
        details = words if isinstance(words, list) else words["detail"]
        assert [detail.message for detail in error.details] == [detail["msg"] for detail in details]
    expected_id = said.get("request_id") or headers.get("mistral-correlation-id") or headers.get("x-kong-request-id")
    assert error.request_id == expected_id


# ---- the tests ----


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_nodrop_and_the_oracle_agree(recording: Recording) -> None:
    compare(recording)


@pytest.mark.parametrize(
    "recording", [one for one in RECORDINGS if not one.whole], ids=lambda recording: recording.name
)
def test_where_the_network_cuts_makes_no_difference(recording: Recording) -> None:
    assert decode(recording, step=7).message == decode(recording).message


def test_all_recordings_were_compared(capsys: pytest.CaptureFixture[str]) -> None:
    compared = Counter(compare(recording) for recording in RECORDINGS)
    with capsys.disabled():
        print(f"\n{sum(compared.values())} recordings compared with the oracle: {dict(compared)}")
    assert sum(compared.values()) == ALL
    assert compared["error"] == ERRORS
    assert compared["two candidates"] == TWO_CANDIDATES
    assert sum(not recording.whole for recording in RECORDINGS) == STREAMED


def test_the_oracle_finds_what_the_recordings_are_known_to_hold() -> None:
    """The counts of the collection's own index: an oracle that overlooked something would agree with a blind nodrop."""
    found: Counter[str] = Counter()
    for recording in RECORDINGS:
        if recording.meta["status"] != 200:
            continue
        reading = read_body(recording.body, whole=recording.whole)
        usage = reading.usage or {}
        found["tool calls"] += bool(reading.tool_calls)
        found["thinking"] += bool(reading.thinking)
        found["finish length"] += reading.finish == "length"
        found["two candidates"] += reading.candidates == [0, 1]
        found["cached"] += ((usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0) > 0
        found["num_cached_tokens"] += "num_cached_tokens" in usage
        found["no usage"] += reading.usage is None
        found["done"] += reading.done
    assert found == {
        "tool calls": 91,
        "thinking": 33,
        "finish length": 16,
        "two candidates": TWO_CANDIDATES,
        "cached": 25,
        "num_cached_tokens": 24,
        "no usage": 1,
        "done": STREAMED,
    }
