"""Error texts that make pi do the right thing: pi 1.4.0 decides by regular expressions over ``errorMessage``.

In its order: overflow (compact, then try again), then never-retry, then retry. The tables below hold what its
expressions match (pi-ai 1.4.0, utils/overflow and utils/retry; a test asks pi's own functions about our texts).

A text that would mislead pi keeps its words for people: an invisible word joiner inside the misleading word is enough
to stop the expression. Where no word of a retryable error tells pi so, one is added.
"""

from __future__ import annotations

import re
from typing import Final

from nodrop.errors import (
    APIError,
    ConnectionFailed,
    ContextOverflowError,
    NodropError,
    StreamTruncatedError,
)

SHUTTING_DOWN: Final = "the gateway is shutting down (service unavailable): try again"

_WORD_JOINER: Final = "\u2060"

_OVERFLOW: Final = re.compile(
    r"prompt (?:is )?too long|prompt exceeds max length|request_too_large|input is too long for requested model"
    r"|exceeds the context window|exceeds (?:the )?(?:model'?s )?maximum context length"
    r"|input token count.*exceeds the maximum|maximum prompt length is \d+|reduce the length of the messages"
    r"|maximum context length is \d+ tokens|exceeds (?:the )?maximum allowed input length"
    r"|is longer than the model'?s context length|exceeds the limit of \d+|exceeds the available context size"
    r"|greater than the context length|context window exceeds limit|exceeded model token limit"
    r"|too large for model with \d+ maximum context length|the configured context size is"
    r"|model_context_window_exceeded|range of input length should be|context[_ ]length[_ ]exceeded|too many tokens"
    r"|token limit exceeded|^[\w -]+ API error \(413\):|^413(?:\s|:|$)",
    re.IGNORECASE,
)
_NOT_OVERFLOW: Final = re.compile(
    r"^(?:Throttling error|Service unavailable):|rate limit|too many requests", re.IGNORECASE
)
_NEVER: Final = re.compile(
    r"GoUsageLimitError|FreeUsageLimitError|Monthly usage limit reached|available balance|insufficient_quota"
    r"|out of budget|quota exceeded|billing|subscription_sharing_\w*usage_limit_exceeded",
    re.IGNORECASE,
)
_RETRY: Final = re.compile(
    r"overloaded|server_busy|servers are currently busy|currently experiencing high demand|model is at capacity"
    r"|rate.?limit|too many requests|(?<![a-z0-9])(?:429|500|502|503|504|520|524)(?![a-z0-9])"
    r"|service.?(?:is.?)?(?:temporarily.?)?unavailable|server.?error|internal.?error"
    r"|provider.?returned.?(?:an.?)?error|exceeded request buffer limit|unable to forward upstream"
    r"|upstream.?request.?failed|upstream_stream_read_error|stream was interrupted|http/?2 stream failed"
    r"|network.?error|connection.?error|connection.?refused|connection.?lost|other side closed|fetch failed"
    r"|request to \S+ failed, reason:|getaddrinfo|ENOTFOUND|EAI_AGAIN|upstream.?connect|reset before headers"
    r"|socket hang up|socket connection was closed|timed? out|timeout|terminated|websocket.?(?:closed|error)"
    r"|ended without|stream ended before|http2 request did not get a response|stream disconnected before completion"
    r"|pending stream has been canceled|retry delay|you can retry your request|try your request again"
    r"|please retry your request|ResourceExhausted|subscription_sharing_u\w+_unavailable",
    re.IGNORECASE,
)


def error_text(error: NodropError) -> str:
    """The text of ``error`` for pi: it compacts on an overflow, retries what may be retried, and stops on the rest."""
    text = str(error)
    if isinstance(error, ContextOverflowError):
        return _without(_NOT_OVERFLOW, text)
    if isinstance(error, APIError) and error.is_retryable:
        return _retryable(error, text)
    return final_text(text)


def final_text(text: str) -> str:
    """``text`` as an error that pi shows and neither retries nor takes for an overflow."""
    return _without(_RETRY, _without(_OVERFLOW, text))


def _retryable(error: APIError, text: str) -> str:
    text = _without(_NEVER, _without(_OVERFLOW, text))
    if _RETRY.search(text):
        return text
    match error:
        case ConnectionFailed():
            return f"network error: {text}"
        case StreamTruncatedError():
            return f"{text} (the stream ended without its end)"
        case _:
            return f"{text} (server error)"


def _without(pattern: re.Pattern[str], text: str) -> str:
    """``text`` in which ``pattern`` finds nothing: each match is parted after its first word character."""
    while (found := pattern.search(text)) is not None:
        first = re.search(r"\w", found.group())
        place = found.start() + (first.end() if first else 1)
        text = text[:place] + _WORD_JOINER + text[place:]
    return text
