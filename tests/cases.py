"""The shared cases: wire shapes with what must come out of them, in nodrop's words.

They lie in ``../shared/cases`` and are no part of the project: without them the tests that use them are skipped,
visibly. A case holds what one or more requests are answered with, and what is expected; :func:`check_answer` compares
all that can be told from a message and its error. Keys of ``expect`` that speak of the exchange (what was sent, how
often, how long the waits were) are for tests that have one; a key that nobody knows is an error, never passed over.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from nodrop import errors
from nodrop.content import AssistantMessage, TextContent, ThinkingContent, ToolCall, Usage
from nodrop.testing.wire import encode_item, encode_json

FOLDER: Final = Path(__file__).resolve().parents[2] / "shared" / "cases"

KINDS: Final[Mapping[str, tuple[type[errors.NodropError], ...]]] = {
    "context_overflow": (errors.ContextOverflowError,),
    "rate_limit": (errors.RateLimitError,),
    "capacity": (errors.CapacityError,),
    "auth": (errors.AuthenticationError,),
    "invalid_request": (errors.InvalidRequestError, errors.NotFoundError),
    "server": (errors.ServerError, errors.ServerReportedError),
    "network": (errors.ConnectionFailed, errors.RequestTimedOut, errors.StreamTruncatedError),
    "protocol": (errors.StreamProtocolError,),
    "content_filter": (errors.ContentRejectedError,),
    "unsupported_content": (errors.ContentRejectedError, errors.UnsupportedContentError),
}
STOP_REASONS: Final = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "toolUse",
    "error": "error",
    "aborted": "aborted",
}
BLOCKS: Final = {"text": TextContent, "thinking": ThinkingContent, "tool_call": ToolCall, "tool_calls": ToolCall}
OF_THE_EXCHANGE: Final = frozenset(
    {
        "attempts",
        "error_kind_of_first_attempt",
        "min_wait_seconds",
        "next_request",
        "open_connections_after",
        "sent_messages_contain",
        "sent_must_not_contain",
        "sent_must_not_contain_messages",
        "sent_tool_ids",
    }
)
OF_THE_ANSWER: Final = frozenset(
    {
        "arguments_error_must_contain",
        "block_order",
        "error_kind",
        "error_must_contain",
        "error_must_not_contain",
        "error_names_type",
        "notes",
        "outcome",
        "overflow",
        "references",
        "request_id",
        "retryable",
        "status",
        "stop_reason",
        "text",
        "text_blocks",
        "thinking",
        "thinking_blocks",
        "tool_calls",
        "usage",
    }
)


@dataclass(frozen=True)
class Response:
    """What one request is answered with.

    ``status`` is None when the connection fails before a head. ``close`` is how the body ends: ``clean``, ``abrupt`` or
    ``never``; ``raises`` names the transport's exception that the end shows up as.
    """

    status: int | None
    headers: Mapping[str, str]
    body: bytes
    events: tuple[bytes, ...]
    read_size: int | None
    close: str
    raises: str | None

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Response:
        events = tuple(encode_item(item) for item in raw.get("sse") or ())
        if "raw" in raw:
            body = raw["raw"].encode()
        elif "body" in raw:
            body = raw["body"].encode() if isinstance(raw["body"], str) else encode_json(raw["body"])
        else:
            body = b"".join(events)
        transport = raw.get("transport") or {}
        unknown = raw.keys() - {"status", "headers", "sse", "raw", "read_size", "body", "transport", "repeat"}
        unknown |= transport.keys() - {"close", "raise", "message"}
        assert not unknown, f"unknown keys of a response: {sorted(unknown)}"
        return cls(
            status=raw["status"],
            headers=raw.get("headers") or {},
            body=body,
            events=events or (body,),
            read_size=raw.get("read_size"),
            close=transport.get("close", "clean"),
            raises=transport.get("raise"),
        )

    @property
    def blocks(self) -> list[bytes]:
        """The body as the network reads it: in pieces of ``read_size``, else event by event."""
        if self.read_size is None:
            return list(self.events)
        return [self.body[place : place + self.read_size] for place in range(0, len(self.body), self.read_size)]


@dataclass(frozen=True)
class Case:
    """One case. ``responses`` are for the attempts in order; with ``repeat`` the last one is for all that follow."""

    id: str
    area: str
    why: str
    request: Mapping[str, Any] | None
    responses: tuple[Response, ...]
    repeat: bool
    cancel_after_events: int | None
    expect: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> Case:
        raw: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        known = {
            "id",
            "area",
            "source",
            "why",
            "request",
            "response",
            "then",
            "repeat",
            "cancel_after_events",
            "expect",
        }
        assert not raw.keys() - known, f"unknown keys in {path.name}: {sorted(raw.keys() - known)}"
        unknown = raw["expect"].keys() - OF_THE_ANSWER - OF_THE_EXCHANGE
        assert not unknown, f"unknown keys of expect in {path.name}: {sorted(unknown)}"
        return cls(
            id=raw["id"],
            area=raw["area"],
            why=raw["why"],
            request=raw.get("request"),
            responses=tuple(Response.read(each) for each in [raw["response"], *raw.get("then", ())]),
            repeat=bool(raw.get("repeat") or raw["response"].get("repeat")),
            cancel_after_events=raw.get("cancel_after_events"),
            expect=raw["expect"],
        )


def load(*areas: str) -> list[Case]:
    """The cases of these areas, of all when none is named; an empty list where there are no cases at all."""
    cases = [Case.read(path) for path in sorted(FOLDER.glob("*.json"))]
    return [case for case in cases if not areas or case.area in areas]


def parameters(*areas: str) -> list[Any]:
    """The cases as parameters of a test; one that is skipped, with the reason, where there are none."""
    if not FOLDER.is_dir():
        return [pytest.param(None, id="none", marks=pytest.mark.skip(reason="no cases at ../shared/cases"))]
    return [pytest.param(case, id=f"{case.id} {case.area}") for case in load(*areas)]


# ---- what must come out ----


def check_answer(case: Case, message: AssistantMessage, error: errors.NodropError | None) -> None:
    """Everything that ``expect`` says of the message and of its error."""
    expect = case.expect
    outcome = {"done": None, "error": "error", "aborted": "aborted"}[expect["outcome"]]
    assert (error is None) == (outcome is None), error
    assert (message.stop_reason if error else None) == outcome
    if "stop_reason" in expect:
        assert message.stop_reason == STOP_REASONS[expect["stop_reason"]]
    if "text" in expect:
        assert message.text == expect["text"]
    if "thinking" in expect:
        assert message.thinking == expect["thinking"]
    _check_blocks(expect, message)
    if "tool_calls" in expect:
        _check_calls(expect["tool_calls"], message.tool_calls)
    if "usage" in expect:
        _check_usage(expect["usage"], message.usage)
    for word in expect.get("arguments_error_must_contain", ()):
        assert word in "".join(call.arguments_error or "" for call in message.tool_calls)
    for word in expect.get("error_must_not_contain", ()):
        assert word not in "".join(call.arguments_error or "" for call in message.tool_calls)
    if error is not None:
        _check_error(expect, error)


def _check_blocks(expect: Mapping[str, Any], message: AssistantMessage) -> None:
    kinds = [type(block) for block in message.content]
    if "block_order" in expect:
        assert kinds == [BLOCKS[word] for word in expect["block_order"]]
    if "text_blocks" in expect:
        assert kinds.count(TextContent) == expect["text_blocks"]
    if "thinking_blocks" in expect:
        assert kinds.count(ThinkingContent) == expect["thinking_blocks"]
    if "references" in expect:
        in_text = [cite for cite in message.citations if kinds[cite.content_index] is TextContent]
        assert [cite.ids for cite in in_text] == expect["references"]
        place = 0
        for ids in expect["references"]:
            place = message.text.index(f"[{', '.join(map(str, ids))}]", place) + 1


def _check_calls(expected: list[dict[str, Any]], calls: list[ToolCall]) -> None:
    assert len(calls) == len(expected)
    for want, call in zip(expected, calls, strict=True):
        assert not want.keys() - {"id", "name", "arguments", "complete", "arguments_raw"}
        assert call.name == want["name"]
        assert want.get("id", call.id) == call.id
        assert call.complete is want.get("complete", True)
        assert call.arguments == want.get("arguments", {})
        assert (call.arguments_error is None) is call.complete
        if "arguments_raw" in want:
            assert call.raw_arguments == want["arguments_raw"]


def _check_usage(expected: Mapping[str, int | None] | None, usage: Usage) -> None:
    if expected is None:
        assert not usage.reported
        return
    prompt = usage.input + usage.cache_read + usage.cache_write - (expected.get("audio_tokens") or 0)
    found = {
        "prompt_tokens": prompt,
        "completion_tokens": usage.output,
        "total_tokens": usage.total_tokens,
        "cached_tokens": usage.cache_read,
        "reasoning_tokens": usage.reasoning,
        "audio_tokens": expected.get("audio_tokens"),
    }
    assert usage.reported
    assert {key: found[key] for key, value in expected.items() if value is not None} == {
        key: value for key, value in expected.items() if value is not None
    }


def _check_error(expect: Mapping[str, Any], error: errors.NodropError) -> None:
    if "error_kind" in expect:
        assert isinstance(error, KINDS[expect["error_kind"]]), repr(error)
    shown = "".join([str(error), repr(error), repr(error.args), *traceback.format_exception(error)])
    for word in expect.get("error_must_contain", ()):
        assert word in str(error)
    for word in expect.get("error_must_not_contain", ()):
        # The heading of a printed traceback is Python's, not the error's.
        assert word not in shown.replace("Traceback (most recent call last)", "")
    if "error_names_type" in expect:
        assert expect["error_names_type"] in str(error)
    for key, attribute in (("retryable", "is_retryable"), ("status", "status"), ("request_id", "request_id")):
        if key in expect:
            assert getattr(error, attribute) == expect[key]
    if "overflow" in expect:
        assert isinstance(error, errors.ContextOverflowError)
        assert {"requested": error.requested, "limit": error.limit} == expect["overflow"]
