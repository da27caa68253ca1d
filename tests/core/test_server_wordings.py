"""The wordings that were seen from the server → the class, its code, and whether to try again."""

from __future__ import annotations

from typing import Any

import pytest

from nodrop.errors import (
    AuthenticationError,
    CapacityError,
    InvalidRequestError,
    NotFoundError,
    RateLimitError,
    ServerError,
    StatusError,
)
from nodrop.testing.wire import error_body
from tests.core.said import error_of

Said = tuple[int, Any, type[StatusError], str | None, bool, str]
# Status, body → class, code, retryable, the words that must stand in the text.
WORDINGS: list[Said] = [
    (
        429,
        error_body("Rate limit exceeded", type="rate_limited", code="1300"),
        RateLimitError,
        "1300",
        True,
        "Rate limit",
    ),
    (
        429,
        error_body("Requests rate limit exceeded", type="rate_limited", code="1300", raw_status_code=429),
        RateLimitError,
        "1300",
        True,
        "Requests",
    ),
    (429, {"message": "Requests rate limit exceeded"}, RateLimitError, None, True, "Requests rate limit exceeded"),
    (429, {"message": "Monthly token limit exceeded"}, RateLimitError, None, False, "Monthly"),
    (
        429,
        error_body("You exceeded your quota", type="insufficient_quota"),
        RateLimitError,
        None,
        False,
        "insufficient_quota",
    ),
    (429, "", RateLimitError, None, True, "429"),
    (
        429,
        error_body(
            "Service tier capacity exceeded for this model.", type="service_tier_capacity_exceeded", code="3505"
        ),
        CapacityError,
        "3505",
        True,
        "capacity",
    ),
    (429, error_body("Service tier capacity exceeded for this model."), CapacityError, None, True, "capacity"),
    (
        429,
        error_body("Capacity exceeded for this model.", type="engine_max_pending_tokens", code="3810"),
        CapacityError,
        "3810",
        True,
        "Capacity",
    ),
    (
        503,
        error_body("Service unavailable.", type="internal_server_error", code="3800"),
        ServerError,
        "3800",
        True,
        "Service unavailable.",
    ),
    (
        500,
        error_body("Service unavailable.", type="internal_server_error", code="3000"),
        ServerError,
        "3000",
        True,
        "3000",
    ),
    (
        502,
        error_body("Backend.", type="unreachable_backend", code="1100"),
        ServerError,
        "1100",
        True,
        "unreachable_backend",
    ),
    (500, {"detail": "Internal Server Error"}, ServerError, None, True, "Internal Server Error"),
    (504, "", ServerError, None, True, "empty"),
    (529, "", ServerError, None, True, "529"),
    (408, "", ServerError, None, True, "408"),
    (401, {"detail": "Invalid API Key"}, AuthenticationError, None, False, "Invalid API Key"),
    (401, {"detail": "Unauthorized"}, AuthenticationError, None, False, "Unauthorized"),
    (401, {"message": "Unauthorized", "request_id": "r"}, AuthenticationError, None, False, "Unauthorized"),
    (403, {"message": "Forbidden"}, AuthenticationError, None, False, "Forbidden"),
    (
        404,
        {"message": "no Route matched with those values", "request_id": "r"},
        NotFoundError,
        None,
        False,
        "no Route matched",
    ),
    (404, {"detail": "Not Found"}, NotFoundError, None, False, "Not Found"),
    (
        400,
        error_body("Invalid model: X", type="invalid_model", code="1500", raw_status_code=400),
        InvalidRequestError,
        "1500",
        False,
        "Invalid model: X",
    ),
    (
        400,
        {"message": "Model foo is currently not in use.", "code": 3003},
        InvalidRequestError,
        "3003",
        False,
        "not in use",
    ),
    (
        422,
        {"detail": "Invalid file format.", "message": "Received file with mimetype x"},
        InvalidRequestError,
        None,
        False,
        "Invalid file format.",
    ),
    (
        400,
        error_body("response type with tools is only compatible with `tool_choice: auto`"),
        InvalidRequestError,
        None,
        False,
        "tool_choice",
    ),
    (400, error_body("Invalid tool schema: x"), InvalidRequestError, None, False, "Invalid tool schema"),
    (
        400,
        error_body("File could not be fetched from url", type="invalid_request_file", code="3310"),
        InvalidRequestError,
        "3310",
        False,
        "fetched",
    ),
    (
        400,
        error_body(
            "Tool call id was null but must be a-z, A-Z, 0-9, with a length of 9.",
            type="invalid_function_call",
            code="3280",
        ),
        InvalidRequestError,
        "3280",
        False,
        "length of 9",
    ),
    (
        500,
        error_body("Tool call id was X but must be a-z, A-Z, 0-9, with a length of 9."),
        ServerError,
        None,
        True,
        "length of 9",
    ),
    (
        400,
        error_body("Unexpected role 'user' after role 'tool'", type="invalid_request_message_order", code="3230"),
        InvalidRequestError,
        "3230",
        False,
        "Unexpected role",
    ),
    (400, error_body("Expected at most one leading ThinkChunk, got 2"), InvalidRequestError, None, False, "ThinkChunk"),
    (413, "Payload Too Large", InvalidRequestError, None, False, "Payload Too Large"),
    (301, "", StatusError, None, False, "base_url"),
]


@pytest.mark.parametrize(("status", "body", "kind", "code", "retryable", "words"), WORDINGS)
def test_wordings(
    status: int, body: Any, kind: type[StatusError], code: str | None, retryable: bool, words: str
) -> None:
    error = error_of(status, body)
    assert type(error) is kind
    assert isinstance(error, StatusError)
    assert (error.status, error.code, error.is_retryable) == (status, code, retryable)
    assert words in str(error)
    assert str(status) in str(error)
    assert not error.in_stream
    assert "\n" not in str(error)
