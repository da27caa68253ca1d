"""Overflow is known by its text, in whatever shape; what only sounds alike is not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nodrop.errors import (
    APIError,
    ContextOverflowError,
    InvalidRequestError,
    RateLimitError,
)
from nodrop.testing.wire import error_body
from tests.core.said import error_of

DRAFT = "Prompt contains 150000 tokens and 0 draft tokens, too large for model with 131072 maximum context length"
NO_DRAFT = "Prompt contains 150000 tokens, too large for model with 131072 maximum context length"
VLLM = (
    "This model's maximum context length is 8192 tokens. However, you requested 0 output tokens and your prompt "
    "contains at least 9000 input tokens, for a total of at least 9001 tokens."
)
OLD_VLLM = (
    "This model's maximum context length is 16384 tokens. However, you requested 19591 tokens (9591 in the messages, "
    "10000 in the completion). Please reduce the length of the messages or completion."
)
BEDROCK = "This model's maximum context length is 8192 tokens. Please reduce the length of the prompt"

# Status, body → (requested, limit).
OVERFLOWS: dict[str, tuple[int, Any, tuple[int | None, int | None]]] = {
    "draft tokens": (400, error_body(DRAFT, type="invalid_request_invalid_args", code="3051"), (150000, 131072)),
    "with a raw status": (400, error_body(DRAFT, raw_status_code=400), (150000, 131072)),
    "no draft tokens": (400, error_body(NO_DRAFT, type="invalid_request_message_error"), (150000, 131072)),
    "type of a runtime": (422, {"error": {"type": "model_context_exceeded"}}, (None, None)),
    "another type of a runtime": (422, {"error": {"type": "prompt_too_long"}}, (None, None)),
    "context too long": (400, {"message": "context too long"}, (None, None)),
    "input too large": (400, {"message": "Input too large."}, (None, None)),
    "truncation": (400, {"detail": "couldn't fit with truncation"}, (None, None)),
    "prompt is too long": (400, {"detail": "Prompt is too long: 9 > 8"}, (None, None)),
    "vLLM": (400, error_body(VLLM, type="BadRequestError", code=400), (9001, 8192)),
    "older vLLM": (400, error_body(OLD_VLLM, type="BadRequestError", code=400), (19591, 16384)),
    "Bedrock": (400, {"message": BEDROCK, "type": "ValidationException"}, (None, 8192)),
    "under another status": (500, {"error": {"message": DRAFT}}, (150000, 131072)),
    "in a detail": (422, {"detail": [{"loc": ["body"], "msg": NO_DRAFT, "type": "value_error"}]}, (150000, 131072)),
    "in a gateway's raw": (
        400,
        {"error": {"message": "Provider error", "metadata": {"raw": json.dumps(error_body(DRAFT))}}},
        (150000, 131072),
    ),
    "plain text": (400, BEDROCK, (None, 8192)),
}


@pytest.mark.parametrize(("status", "body", "numbers"), OVERFLOWS.values(), ids=OVERFLOWS.keys())
def test_overflow_is_known_by_its_text_in_whatever_shape(
    status: int, body: Any, numbers: tuple[int | None, int | None]
) -> None:
    error = error_of(status, body)
    assert isinstance(error, ContextOverflowError)
    assert str(error).startswith("context_length_exceeded")
    assert (error.requested, error.limit) == numbers
    assert error.status == status
    assert not error.is_retryable
    if numbers[0]:
        assert str(numbers[0]) in str(error)  # in the server's words


NEAR_MISSES: dict[str, tuple[int, dict[str, Any], type[APIError]]] = {
    message: (status, error_body(message, type=kind, code=code), expected)
    for status, message, kind, code, expected in [
        (400, "Logprobs are not enabled for this model", "invalid_request_invalid_args", "3051", InvalidRequestError),
        (400, "Reasoning prompt mode is not enabled for this model", "x", "3051", InvalidRequestError),
        (
            400,
            "reasoning_effort='medium' is not supported for this model. Must be one of (…)",
            "x",
            "3051",
            InvalidRequestError,
        ),
        (400, "Image input is not enabled for this model", "x", "3051", InvalidRequestError),
        (400, "Context bias item '…' must not contain commas or whitespace", "x", "3051", InvalidRequestError),
        (
            400,
            "Too many inputs in request, split into more batches.",
            "invalid_request_prompt",
            "3210",
            InvalidRequestError,
        ),
        (
            400,
            "Too many tokens overall, split into more batches.",
            "invalid_request_prompt",
            "3210",
            InvalidRequestError,
        ),
        (400, "Too many tokens in batch. Max is 16384 got 17555", "x", None, InvalidRequestError),
        (422, "response too long", "max_tokens_exceeded", None, InvalidRequestError),
        (429, "Tokens rate limit exceeded", "rate_limited", "1300", RateLimitError),
        (
            429,
            "Too many requests: tokens over the context window of this minute",
            "rate_limited",
            "1300",
            RateLimitError,
        ),
        (429, "Rate limit exceeded: context length exceeded for this minute", "rate_limited", "1300", RateLimitError),
        (400, "max_tokens must be smaller than the maximum", "x", None, InvalidRequestError),
    ]
}


@pytest.mark.parametrize(("status", "body", "kind"), NEAR_MISSES.values(), ids=NEAR_MISSES.keys())
def test_what_sounds_alike_is_not_overflow(status: int, body: dict[str, Any], kind: type[APIError]) -> None:
    assert type(error_of(status, body)) is kind
