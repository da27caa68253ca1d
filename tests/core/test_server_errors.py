"""Bodies of every shape that was seen from the server, and what the error carries."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nodrop.core.server_errors import error_from_response
from nodrop.errors import (
    InvalidRequestError,
    ServerError,
    StatusError,
)
from nodrop.testing.wire import error_body
from tests.core.said import error_of

ENTRY = {
    "type": "string_type",
    "loc": ["body", "messages", 0, "content"],
    "msg": "Input should be a valid string",
    "input": "SECRET",
    "url": "u",
}
VALIDATIONS = [
    error_body({"detail": [ENTRY]}),
    {"detail": [ENTRY]},
    {"object": "Error", "detail": [ENTRY], "message": [ENTRY], "type": "invalid_request_error", "code": 3001},
    {"error": {"detail": [ENTRY]}},
    error_body(json.dumps({"detail": [ENTRY]})),
    {"error": {"message": "Provider error", "raw": json.dumps({"detail": [ENTRY]})}},
]


@pytest.mark.parametrize("body", VALIDATIONS)
def test_validation_errors_name_path_and_message_and_never_the_input(body: dict[str, Any]) -> None:
    error = error_of(422, body)
    assert type(error) is InvalidRequestError
    (detail,) = error.details
    assert detail == ("body.messages.0.content", "Input should be a valid string", "string_type")
    assert "body.messages.0.content" in str(error)
    assert "Input should be a valid string" in str(error)
    assert "SECRET" not in str(error) + repr(error) + repr(error.details)
    assert b"SECRET" in error.body  # on purpose


# ---- bodies of no known shape ----


def test_a_page_is_named_by_its_title() -> None:
    title = "api.example | 520: Web server is\n returning an unknown error"
    page = f"<!DOCTYPE html><html><head><title>{title}</title></head>SECRET</html>"
    error = error_of(520, page, content_type="text/html; charset=UTF-8")
    assert type(error) is ServerError
    assert "520: Web server is returning an unknown error" in str(error)
    assert not any(word in str(error) for word in ("<", "SECRET", "\n"))
    assert "HTML" in str(error_of(502, "<html>SECRET"))


@pytest.mark.parametrize(
    "body",
    [
        '{"object": "error", "message": "SECRET',
        '["SECRET"]',
        '"SECRET"',
        '\ufeff{"x": "SECRET',
        '\x00{"x": "SECRET',
        "{}",
        "null",
    ],
)
def test_broken_and_odd_json_is_not_quoted(body: str) -> None:
    error = error_of(500, body)
    assert type(error) is ServerError
    assert "SECRET" not in str(error)


@pytest.mark.parametrize("body", ["x" * 5000, "upstream connect error\nor disconnect"])
def test_plain_text_is_quoted_up_to_a_bound(body: str) -> None:
    error = error_of(502, body)
    assert body[:20] in str(error)
    assert len(str(error)) < 400
    assert "\n" not in str(error)


def test_long_messages_are_clipped() -> None:
    assert len(str(error_of(400, error_body("x" * 100_000)))) < 3000


@pytest.mark.parametrize(
    "deep", ['{"error":' * 400 + "1" + "}" * 400, '{"message":' * 400 + "1" + "}" * 400, "[" * 100_000]
)
def test_deep_bodies_are_errors_too(deep: str) -> None:
    assert type(error_of(500, deep)) is ServerError


def test_invalid_utf8_and_surrogates() -> None:
    for body in (
        b'{"message": "a\xffb"}',
        b'{"message": "a\\ud800b"}',
        b'{"message": "{\\"message\\": \\"a\\\\ud800b\\"}"}',
    ):
        error = error_of(500, body)
        assert "a\ufffdb" in str(error)
        str(error).encode()


# ---- what it carries ----


def test_request_id_is_the_bodys_else_a_header_in_order() -> None:
    body = {"message": "x", "request_id": "body"}
    ids = {"x_request_id": "third", "x_kong_request_id": "second", "Mistral_Correlation_Id": "first"}
    assert error_of(500, body, **ids).request_id == "body"
    assert error_of(500, {"error": body}, **ids).request_id == "body"
    assert error_of(500, "", **ids).request_id == "first"
    del ids["Mistral_Correlation_Id"]
    assert error_of(500, "", **ids).request_id == "second"
    del ids["x_kong_request_id"]
    assert error_of(500, "", **ids).request_id == "third"
    assert error_of(500, "").request_id is None
    assert error_of(400, "prompt is too long", **ids).request_id == "third"


def test_headers_without_secrets() -> None:
    headers = {
        "Authorization": "Bearer KEY",
        "Set-Cookie": "KEY",
        "X-Api-Key": "KEY",
        "Proxy-Authorization": "KEY",
        "Retry-After": "2",
    }
    error = error_from_response(429, headers, b"")
    assert isinstance(error, StatusError)
    assert error.headers == {"retry-after": "2"}
    assert error.retry_after == 2.0
    assert "KEY" not in repr(vars(error))


def test_a_404_names_the_path_that_was_called() -> None:
    assert "/v2/chat" in str(error_from_response(404, {}, b'{"detail": "Not Found"}', path="/v2/chat"))
