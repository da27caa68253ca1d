"""Builders of what Mistral's chat completions send: chunks of a stream, whole completions, error bodies.

All are plain functions that return plain JSON objects (``dict``), so that a test can change or break any of them::

    Reply.stream(start(), thinking("Hm."), text("Hel"), text("lo"), finish("stop", usage=usage(12, 5)))
    Reply.stream(content(text_part("See "), reference_part(0, 1)), finish("stop"))
    Reply.whole("Hello", usage=usage(12, 5))

Nothing here knows nodrop's own models: these are the words of the wire, good or bad, as a server would write them.
A key is written only when it was given: :data:`ABSENT` leaves it out, ``None`` writes ``null``.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

JSONObject = dict[str, Any]
"""A JSON object as Python reads it."""

ID: Final = "cmpl-nodrop-testing"
MODEL: Final = "mistral-test"
CREATED: Final = 1_750_000_000
"""What chunks and completions carry when nothing else is asked for; constants, so that replies are deterministic."""


class Absent(enum.Enum):
    """The type of :data:`ABSENT`, so that "no such key" and ``null`` can be told apart in signatures."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT
"""Leaves a key out."""


def _present(**members: Any) -> JSONObject:
    return {key: value for key, value in members.items() if value is not ABSENT}


# ---- chunks of a stream ----


def chunk(
    delta: Mapping[str, Any] | None = None,
    *,
    finish_reason: str | None = None,
    usage: Mapping[str, Any] | Absent | None = ABSENT,
    id: str = ID,  # noqa: A002 - the wire's word
    model: str = MODEL,
    index: int = 0,
    **extra: Any,
) -> JSONObject:
    """One ``chat.completion.chunk`` with one choice; `delta` is its delta (``{}`` if None), `index` the choice's.

    `extra` are further top-level members (``p="abcd"``, ``choices=[]`` to replace the choice, …).
    """
    choice = {"index": index, "delta": dict(delta or {}), "finish_reason": finish_reason}
    members = {"id": id, "object": "chat.completion.chunk", "created": CREATED, "model": model, "choices": [choice]}
    return members | _present(usage=usage) | extra


def start(**options: Any) -> JSONObject:
    """The chunk that opens a stream: role ``assistant`` and an empty text. `options` as for :func:`chunk`."""
    return chunk({"role": "assistant", "content": ""}, **options)


def text(value: str, **options: Any) -> JSONObject:
    """A chunk whose delta is the string `value`."""
    return chunk({"content": value}, **options)


def content(*parts: Any, **options: Any) -> JSONObject:
    """A chunk whose delta is the list of `parts` (:func:`text_part` and its kin, or anything that is JSON)."""
    return chunk({"content": list(parts)}, **options)


def thinking(value: str, *, signature: str | Absent | None = ABSENT, closed: bool | Absent = ABSENT) -> JSONObject:
    """A chunk whose delta is a list with one thinking part that holds the text `value`."""
    return content(thinking_part(value, signature=signature, closed=closed))


def reference(*ids: int | str) -> JSONObject:
    """A chunk whose delta is a list with one reference part: ``reference(0, 1)`` cites sources 0 and 1."""
    return content(reference_part(*ids))


def tool_call(
    id: str | Absent | None = ABSENT,  # noqa: A002 - the wire's word
    name: str | Absent | None = ABSENT,
    arguments: str | Mapping[str, Any] | Absent = ABSENT,
    *,
    index: int | Absent | None = ABSENT,
    type: str | Absent | None = ABSENT,  # noqa: A002 - the wire's word
) -> JSONObject:
    """A chunk with one fragment of one tool call (see :func:`call_part`).

    ``tool_call("aB3dE5gH7", "look_up", '{"ci', index=0)`` opens a call, ``tool_call(arguments='ty": 1}', index=0)``
    continues it.
    """
    return tool_calls(call_part(id, name, arguments, index=index, type=type))


def tool_calls(*parts: Any, **options: Any) -> JSONObject:
    """A chunk with several fragments of tool calls at once (:func:`call_part`)."""
    return chunk({"tool_calls": list(parts)}, **options)


def tool_message(value: str | Sequence[Any], *, tool_call_id: str | Absent = ABSENT, **options: Any) -> JSONObject:
    """A chunk whose delta is a message of role ``tool``: what a tool that the server ran has said."""
    return chunk({"role": "tool", "content": value} | _present(tool_call_id=tool_call_id), **options)


def finish(
    reason: str | None = "stop",
    *,
    usage: Mapping[str, Any] | Absent | None = ABSENT,
    **options: Any,
) -> JSONObject:
    """The chunk that ends the answer: an empty text, the finish reason, and the usage if given."""
    return chunk({"content": ""}, finish_reason=reason, usage=usage, **options)


# ---- parts ----


def text_part(value: str) -> JSONObject:
    """``{"type": "text", …}``"""
    return {"type": "text", "text": value}


def thinking_part(
    *parts: str | Mapping[str, Any],
    signature: str | Absent | None = ABSENT,
    closed: bool | Absent = ABSENT,
) -> JSONObject:
    """``{"type": "thinking", …}``; strings among its `parts` become text parts."""
    inner = [text_part(part) if isinstance(part, str) else dict(part) for part in parts]
    return {"type": "thinking", "thinking": inner} | _present(signature=signature, closed=closed)


def reference_part(*ids: int | str) -> JSONObject:
    """``{"type": "reference", …}``"""
    return {"type": "reference", "reference_ids": list(ids)}


def image_part(url: str) -> JSONObject:
    """``{"type": "image_url", …}`` with an object, as the server writes it."""
    return {"type": "image_url", "image_url": {"url": url}}


def call_part(
    id: str | Absent | None = ABSENT,  # noqa: A002 - the wire's word
    name: str | Absent | None = ABSENT,
    arguments: str | Mapping[str, Any] | Absent = ABSENT,
    *,
    index: int | Absent | None = ABSENT,
    type: str | Absent | None = ABSENT,  # noqa: A002 - the wire's word
) -> JSONObject:
    """One fragment of a tool call. `arguments` is JSON as a string, or a piece of it; an object stays an object."""
    function = _present(name=name, arguments=arguments)
    return _present(id=id, type=type, function=function, index=index)


# ---- whole completions ----


def message(
    content: str | Sequence[Any] | None = None,
    *,
    role: str = "assistant",
    tool_calls: Sequence[Any] | Absent | None = ABSENT,
    **extra: Any,
) -> JSONObject:
    """One message of a whole completion; `content` is a text, a list of parts, or null."""
    return {"role": role, "content": content} | _present(tool_calls=tool_calls) | extra


def completion(
    answer: str | Sequence[Any] | Mapping[str, Any] | None = None,
    *,
    messages: Sequence[Mapping[str, Any]] | None = None,
    finish_reason: str | None = "stop",
    usage: Mapping[str, Any] | Absent | None = ABSENT,
    id: str = ID,  # noqa: A002 - the wire's word
    model: str = MODEL,
    **extra: Any,
) -> JSONObject:
    """A whole ``chat.completion`` with one choice.

    `answer` is the message's content (a text or a list of parts) or a :func:`message`. `messages` writes a choice that
    holds ``messages`` in place of ``message``; both at once is possible, as it is on the wire. `extra` are further
    top-level members (``choices=[…]`` replaces the choice). Raises :class:`ValueError` when `answer` is a completion
    already: it would come out empty.
    """
    if isinstance(answer, Mapping) and "choices" in answer:
        raise ValueError("the answer is a message, its text or its parts; a completion goes into Reply.json(200, …)")
    choice: JSONObject = {"index": 0, "finish_reason": finish_reason}
    if isinstance(answer, Mapping):
        choice["message"] = dict(answer)
    elif answer is not None or messages is None:
        choice["message"] = message(answer)
    if messages is not None:
        choice["messages"] = [dict(each) for each in messages]
    members = {"id": id, "object": "chat.completion", "created": CREATED, "model": model, "choices": [choice]}
    return members | _present(usage=usage) | extra


# ---- usage and errors ----


def usage(prompt_tokens: int, completion_tokens: int, *, cached_tokens: int | None = None, **extra: Any) -> JSONObject:
    """Token counts; the total is the sum. `cached_tokens` are part of the prompt's. `extra` adds or replaces."""
    total = prompt_tokens + completion_tokens
    members = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens, "total_tokens": total}
    cached = {} if cached_tokens is None else {"prompt_tokens_details": {"cached_tokens": cached_tokens}}
    return members | cached | extra


def error_body(
    message: str | Mapping[str, Any],
    *,
    type: str = "invalid_request_error",  # noqa: A002 - the wire's word
    code: str | int | None = None,
    param: str | None = None,
    **extra: Any,
) -> JSONObject:
    """The server's error envelope: the body of a failed request, or a frame inside a stream."""
    return {"object": "error", "message": message, "type": type, "param": param, "code": code} | extra


# ---- framing ----

DONE: Final = b"data: [DONE]\n\n"
"""The event that ends a stream."""

StreamItem = Mapping[str, Any] | str | bytes
"""One item of a stream: a JSON object (one event), a string (the data of one event, JSON or not), or raw bytes."""


def encode_json(value: Any) -> bytes:
    """Compact UTF-8 JSON, in the order given."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def encode_item(item: StreamItem) -> bytes:
    """The bytes of one item: events get ``data:`` and a blank line (a string, ``data:`` per line), bytes nothing."""
    if isinstance(item, bytes):
        return item
    if isinstance(item, str):
        return b"".join(b"data: " + line + b"\n" for line in item.encode().split(b"\n")) + b"\n"
    return b"data: " + encode_json(item) + b"\n\n"


def big_event(size: int = 1 << 20) -> bytes:
    """A text chunk whose event, blank line included, is exactly `size` bytes long.

    Raises ValueError if `size` is smaller than the chunk around an empty text.
    """
    frame = len(encode_item(text("")))
    if size < frame:
        raise ValueError(f"an event cannot be smaller than {frame} bytes")
    return encode_item(text("x" * (size - frame)))
