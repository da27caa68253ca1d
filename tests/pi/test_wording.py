"""Error texts: what pi makes of them. The last test asks pi's own functions."""

from __future__ import annotations

import json
import subprocess
from typing import Final

import pytest

from nodrop import (
    AbortedError,
    ConnectionFailed,
    ContentRejectedError,
    NodropError,
    RequestTimedOut,
    ServerReportedError,
    StreamProtocolError,
    StreamTruncatedError,
)
from nodrop.core.server_errors import error_from_response
from nodrop.pi.wording import SHUTTING_DOWN, error_text, final_text
from nodrop.testing import error_body
from tests.pi.install_pi import PACKAGE, node_folder
from tests.pi.real_pi import require_pi

OVERFLOW: Final = "overflow"
RETRY: Final = "retry"
STOP: Final = "stop"


def said(status: int, message: str, kind: str = "invalid_request_error") -> NodropError:
    return error_from_response(status, {}, json.dumps(error_body(message, type=kind)).encode())


ERRORS: Final[list[tuple[NodropError, str]]] = [
    (said(400, "Prompt contains 9 tokens, too large for model with 8 maximum context length"), OVERFLOW),
    (said(422, "x", "model_context_exceeded"), OVERFLOW),
    (said(422, "x", "prompt_too_long"), OVERFLOW),
    (said(400, "input too large"), OVERFLOW),
    (said(400, "couldn't fit with truncation"), OVERFLOW),
    (said(429, "Rate limit exceeded", "rate_limited"), RETRY),
    (said(429, "Tokens rate limit exceeded: too many tokens in this minute", "rate_limited"), RETRY),
    (said(429, "Service tier capacity exceeded for this model.", "service_tier_capacity_exceeded"), RETRY),
    (said(408, "took long"), RETRY),
    (said(500, "Service unavailable."), RETRY),
    (said(503, "token limit exceeded by the backend"), RETRY),
    (said(529, "busy"), RETRY),
    (ConnectionFailed("the connection to api.mistral.ai failed before it answered (httpx.ConnectError)"), RETRY),
    (RequestTimedOut("no event within 300 s (the silence timeout)"), RETRY),
    (StreamTruncatedError("the stream ended without a finish reason"), RETRY),
    (StreamTruncatedError("it stopped"), RETRY),
    (ServerReportedError("the server ended the answer with finish_reason 'error'"), RETRY),
    (said(429, "Monthly token limit exceeded", "rate_limited"), STOP),
    (said(429, "quota exceeded, see billing"), STOP),
    (said(401, "Unauthorized"), STOP),
    (said(404, "no Route matched with those values"), STOP),
    (said(400, "File could not be fetched from url: connection refused, timed out, 503"), STOP),
    (said(400, "Too many tokens overall, split into more batches."), STOP),
    (said(413, "too big"), STOP),
    (said(422, "messages.500.content: wrong"), STOP),
    (RequestTimedOut("the request took longer than 5 s (the total timeout)", phase="total"), STOP),
    (ContentRejectedError("rejected content type 'image_url' at choices[0].delta.content[0]"), STOP),
    (StreamProtocolError("a second finish reason: internal error, server error, terminated"), STOP),
    (AbortedError(), STOP),
]


@pytest.mark.parametrize(("error", "expected"), ERRORS, ids=lambda value: value if isinstance(value, str) else None)
def test_the_words_stay_readable(error: NodropError, expected: str) -> None:
    assert str(error) in error_text(error).replace("\u2060", "")


def test_pis_own_functions_agree() -> None:
    require_pi()
    node = node_folder()
    assert node is not None
    texts = [error_text(error) for error, _ in ERRORS]
    more = [(SHUTTING_DOWN, RETRY), (final_text("context.messages.503: rate limit, too many tokens, timeout"), STOP)]
    texts += [text for text, _ in more]
    utils = PACKAGE.parent / "pi-ai" / "dist" / "utils"
    script = f"""
        import {{ isContextOverflow }} from {json.dumps(str(utils / "overflow.js"))};
        import {{ isRetryableAssistantError }} from {json.dumps(str(utils / "retry.js"))};
        const texts = {json.dumps(texts)};
        console.log(JSON.stringify(texts.map((errorMessage) => {{
            const message = {{ stopReason: "error", errorMessage, provider: "nodrop" }};
            return isContextOverflow(message, 1000) ? "{OVERFLOW}"
                : isRetryableAssistantError(message) ? "{RETRY}" : "{STOP}";
        }})));
    """
    command = [str(node / "bin" / "node"), "--input-type=module", "--eval", script]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    found = dict(zip(texts, json.loads(ran.stdout), strict=True))
    expected = dict(zip(texts, [kind for _, kind in ERRORS] + [kind for _, kind in more], strict=True))
    assert found == expected
