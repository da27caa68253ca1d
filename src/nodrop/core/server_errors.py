"""What the server says of a failure → the typed error.

One reading (:func:`read_said`) takes the server's words out of every body shape that was seen, and one table decides
the class from status, type and text. It serves HTTP errors and error frames inside a 200 stream alike.
Source of the wordings: recordings and public reports, 2023 to 2026.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from nodrop.core.odd_json import BEFORE_DATA, MAX_DEPTH, is_nested_deeper
from nodrop.core.retry_after import requested_wait
from nodrop.core.surrogates import without_surrogates
from nodrop.errors import (
    APIError,
    AuthenticationError,
    CapacityError,
    ContextOverflowError,
    ErrorDetail,
    InvalidRequestError,
    NotFoundError,
    RateLimitError,
    ServerError,
    ServerReportedError,
    StatusError,
)
from nodrop.wire import ChatCompletionResponse, CompletionChunk

JSON = dict[str, Any]
ERROR_OBJECTS: Final = ("error", "Error")
OVERFLOW_MARKER: Final = "context_length_exceeded"
_WORDS: Final = 2000  # characters of the server's text that an error shows at most
_REQUEST_ID_HEADERS: Final = ("mistral-correlation-id", "x-kong-request-id", "x-request-id")
_SECRET_HEADERS: Final = frozenset(
    {"authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "api-key"}
)

# Overflow is known by its text alone: its code 3051 and its status 400 are shared with other failures.
_OVERFLOW: Final = re.compile(
    r"too large for model with \d+ maximum context length"
    r"|maximum context length (?:is|of) \d+ tokens"
    r"|context[ _]length[ _]exceeded|model_context_exceeded|prompt_too_long|prompt is too long|context too long"
    r"|exceed(?:s|ed)? the (?:model's )?(?:maximum )?context (?:length|window)"
    r"|input too large|couldn't fit with truncation",
    re.IGNORECASE,
)
_NOT_OVERFLOW: Final = re.compile(r"rate limit|too many requests|split into more batches|in batch", re.IGNORECASE)
_LIMIT: Final = re.compile(r"(?:model with (\d+) maximum context length|maximum context length (?:is|of) (\d+))", re.I)
_REQUESTED: Final = (
    re.compile(r"Prompt contains (\d+) tokens", re.I),
    re.compile(r"for a total of at least (\d+) tokens", re.I),
    re.compile(r"you requested (\d+) tokens", re.I),
)
_CAPACITY: Final = re.compile(
    r"capacity exceeded|service_tier_capacity_exceeded|engine_max_pending_tokens", re.IGNORECASE
)
_EXHAUSTED: Final = re.compile(
    r"insufficient_quota|quota exceeded|billing|out of budget|available balance|monthly usage limit reached"
    r"|monthly token limit exceeded",
    re.IGNORECASE,
)
# The status that an error's type stands for, where a frame inside a 200 stream brings no status of its own.
_STATUS_OF_TYPE: Final[Mapping[str, int]] = {
    "rate_limited": 429,
    "rate_limit_error": 429,
    "service_tier_capacity_exceeded": 429,
    "engine_max_pending_tokens": 429,
    "internal_server_error": 500,
    "internal_error": 500,
    "server_error": 500,
    "api_error": 500,
    "service_unavailable": 503,
    "unreachable_backend": 503,
    "overloaded_error": 529,
    "invalid_request_error": 400,
    "invalid_request_invalid_args": 400,
    "invalid_request_message_order": 400,
    "invalid_request_message_error": 400,
    "invalid_request_prompt": 400,
    "invalid_request_file": 400,
    "invalid_function_call": 400,
    "invalid_model": 400,
    "badrequesterror": 400,
    "validationexception": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
}


@dataclass(slots=True)
class Said:
    """The server's words: ``text`` for people; ``status`` and ``request_id`` where the body has them."""

    text: str
    type: str = ""
    code: str | None = None
    status: int | None = None
    request_id: str | None = None
    details: tuple[ErrorDetail, ...] = ()


def error_from_response(
    status: int, headers: Mapping[str, str], body: bytes, *, path: str = "", now: float = 0.0
) -> StatusError | ContextOverflowError:
    """The error of an HTTP answer that is no 2xx.

    ``path`` is the path that was called, shown for a 404; ``now`` is Unix seconds, for a ``retry-after`` date.
    """
    lowered = {name.lower(): value for name, value in headers.items()}
    said = read_said(body, content_type=lowered.get("content-type", ""))
    request_id = said.request_id or request_id_of(lowered)
    if 300 <= status < 400:
        said.text = f"the server redirects to another address; check base_url ({said.text})"
    elif status == 404 and path:
        said.text = f"{said.text} (called {path}; check base_url and the model)"
    error = _classified(said, status, in_stream=False, body=body)
    error.request_id = request_id
    if isinstance(error, StatusError):
        error.headers = {name: value for name, value in lowered.items() if name not in _SECRET_HEADERS}
        error.retry_after = requested_wait(lowered, now=now)
    return error


def request_id_of(headers: Mapping[str, str]) -> str | None:
    """The server's name for a request, from lower-cased response headers."""
    return next((headers[name] for name in _REQUEST_ID_HEADERS if headers.get(name)), None)


def error_in_frame(frame: JSON, data: bytes) -> APIError | None:
    """The error that an event inside a 200 stream tells of, or ``None`` when it tells of none."""
    if not (frame.get("error") or str(frame.get("object", "")).lower() == "error" or _bare_detail(frame)):
        return None
    said = _said_of(frame)
    status = said.status if said.status is not None else _STATUS_OF_TYPE.get(said.type.lower())
    if status is not None or _OVERFLOW.search(f"{said.text} {said.type}"):
        return _classified(said, status, in_stream=True, body=data)
    error = ServerReportedError(f"the server reported a failure inside the stream: {_labelled(said)}")
    error.request_id = said.request_id
    return error


def error_beside_choices(frame: CompletionChunk | ChatCompletionResponse) -> APIError | None:
    """The error that a frame tells of which the models take: some gateways put one beside the choices."""
    extra = frame.model_extra or {}
    if not extra and frame.object not in ERROR_OBJECTS:
        return None
    told: JSON = {**extra, "object": frame.object, "id": frame.id, "choices": ()}
    return error_in_frame(told, json.dumps(told).encode())


def _bare_detail(frame: JSON) -> bool:
    return "choices" not in frame and ("detail" in frame or ("message" in frame and "id" not in frame))


def _classified(said: Said, status: int | None, *, in_stream: bool, body: bytes) -> StatusError | ContextOverflowError:
    searched = f"{said.text} {said.type}"
    where = " inside the stream" if in_stream else ""
    if _OVERFLOW.search(searched) and not _NOT_OVERFLOW.search(searched):
        limit = _LIMIT.search(said.text)
        requested = next((found for pattern in _REQUESTED if (found := pattern.search(said.text))), None)
        words = said.text if said.type in said.text else _labelled(said)
        return ContextOverflowError(
            f"{OVERFLOW_MARKER}: {words}",
            requested=int(requested[1]) if requested else None,
            limit=int(limit[1] or limit[2]) if limit else None,
            status=status,
            body=body,
            request_id=said.request_id,
        )
    status = status if status is not None else 500
    kind = _kind(status, searched)
    label = f"Mistral API error ({status}){where}: {_labelled(said)}"
    exhausted = bool(_EXHAUSTED.search(searched))
    return kind(
        label,
        status=status,
        body=body,
        in_stream=in_stream,
        details=said.details,
        code=said.code,
        request_id=said.request_id,
        is_retryable=False if exhausted else None,
    )


def _kind(status: int, searched: str) -> type[StatusError]:
    if status in (401, 403):
        return AuthenticationError
    if status == 404:
        return NotFoundError
    if status == 429:
        return CapacityError if _CAPACITY.search(searched) else RateLimitError
    if status == 408 or status >= 500:
        return ServerError
    if 400 <= status < 500:
        return InvalidRequestError
    return StatusError  # a redirect, or a status that no HTTP server should end with


def _labelled(said: Said) -> str:
    facts = [fact for fact in (said.type, said.code) if fact and fact not in said.text]
    return f"{said.text} ({', '.join(facts)})" if facts else said.text


def read_said(body: bytes, *, content_type: str) -> Said:
    """The words in the body of an HTTP error, whatever its shape."""
    text = BEFORE_DATA.sub("", body.decode("utf-8", "replace")).strip()
    if not text:
        return Said("the body is empty")
    value = _json_in(text)
    if isinstance(value, dict):
        return _said_of(cast(JSON, value))
    if text[0] == "<" or "html" in content_type:
        title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
        named = f" titled {' '.join(html.unescape(title[1]).split())[:200]!r}" if title else ""
        return Said(f"an HTML page{named} in place of JSON ({len(body)} bytes)")
    if text[0] in '{["':
        return Said(f"a body that is no error object ({len(body)} bytes)")
    return Said(_clipped(" ".join(text.split()), 200))


def _json_in(text: str) -> object:
    """The JSON value that ``text`` is; ``None`` when it is none, or one that is too deep to be walked."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return None if is_nested_deeper(value, MAX_DEPTH) else without_surrogates(value)


def _said_of(body: JSON) -> Said:
    """The words in an error object: its own, those under ``error``, and those of a gateway's ``raw``."""
    inner: object = body.get("error")
    source: JSON = cast(JSON, inner) if isinstance(inner, dict) else body
    texts: list[object] = [inner] if isinstance(inner, str) else []
    texts += [source.get("message"), source.get("detail"), source.get("raw")]
    metadata = source.get("metadata")
    if isinstance(metadata, dict):
        texts.append(cast(JSON, metadata).get("raw"))
    if source is not body:
        texts += [detail for detail in (body.get("detail"), body.get("message")) if isinstance(detail, list)]
    said = [each for text in texts for each in _said_in(text)]
    # As sets that keep their order: a gateway may say everything twice.
    details = tuple(dict.fromkeys(detail for each in said for detail in each.details))
    words = dict.fromkeys(each.text for each in said if each.text)
    words |= dict.fromkeys(f"{detail.path}: {detail.message}" if detail.path else detail.message for detail in details)
    kind, code = source.get("type"), source.get("code")
    said_type = kind if isinstance(kind, str) else ""
    request_id = source.get("request_id") or body.get("request_id")
    return Said(
        _clipped("; ".join(words) or said_type or "no message", _WORDS),
        type=said_type,
        code=str(code) if isinstance(code, int | str) and not isinstance(code, bool) and code != "" else None,
        status=_status_in(source) or _status_in(body),
        request_id=request_id if isinstance(request_id, str) and request_id else None,
        details=details,
    )


def _said_in(value: object) -> Iterator[Said]:
    """What a message says: a string, a list of validation errors, or an error object, also one written as a string."""
    if isinstance(value, str):
        if not value.lstrip().startswith(("{", "[")):
            yield Said(" ".join(value.split()))
            return
        read = _json_in(value)
        if read is None:
            # It may be a text such as "[model] is busy"; only what starts like an object may be a broken payload.
            broken = f"a message that is broken JSON ({len(value)} characters)"
            yield Said(broken if value.lstrip().startswith("{") else " ".join(value.split()))
            return
        value = read
    if isinstance(value, list):
        yield Said("", details=tuple(_details(cast("list[object]", value))))
    elif isinstance(value, dict):
        nested = cast(JSON, value)
        if {"error", "message", "detail"} & nested.keys():
            yield _said_of(nested)


def _details(entries: list[object]) -> Iterator[ErrorDetail]:
    """The entries of a validation error. ``input`` is the prompt: never read."""
    for entry in entries:
        if isinstance(entry, dict):
            known = cast(JSON, entry)
            loc = known.get("loc")
            path = ".".join(str(step) for step in cast("list[object]", loc)) if isinstance(loc, list) else ""
            said, kind = known.get("msg"), known.get("type")
            yield ErrorDetail(
                _clipped(path, 300),
                _clipped(said, 300) if isinstance(said, str) else "no message",
                _clipped(kind, 100) if isinstance(kind, str) else "",
            )


def _status_in(source: JSON) -> int | None:
    for key in ("raw_status_code", "status", "status_code", "code"):
        value = source.get(key)
        number = int(value) if isinstance(value, str) and re.fullmatch(r"[45]\d\d", value) else value
        if isinstance(number, int) and 400 <= number <= 599:
            return number
    return None


def _clipped(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"
