"""The answers of the server itself: to what is not scripted, and to what is no chat completion."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from nodrop.testing import wire
from nodrop.testing.replies import Reply

if TYPE_CHECKING:
    from nodrop.testing.records import RecordedRequest

LABEL = "[simulator]"
"""In front of each answer, so that nobody takes it for a model's."""

# 400 and not 500: clients retry a 500, and each attempt would be one more unscripted request.
EXHAUSTED_STATUS = 400


def echo(request: RecordedRequest) -> Reply:
    """A deterministic answer that repeats the last message's text: a stream if the request asks for one, else whole.

    Token counts are counts of words.
    """
    said = [_text(message) for message in _list(request.body.get("messages"))]
    answer = f"{LABEL} You said: {said[-1] if said else ''}"
    model = str(request.body.get("model", wire.MODEL))
    prompt_tokens = sum(len(words.split()) for words in said)
    counts = wire.usage(prompt_tokens, len(answer.split()))
    if not request.streamed:
        return Reply.whole(answer, model=model, usage=counts)
    words = answer.split(" ")
    pieces = [words[0], *(" " + word for word in words[1:])]
    return Reply.stream(
        wire.start(model=model),
        *(wire.text(piece, model=model) for piece in pieces),
        wire.finish(model=model, usage=counts),
    )


def last_text(request: RecordedRequest) -> str:
    """The text of the last message; empty when there is none."""
    messages = _list(request.body.get("messages"))
    return _text(messages[-1]) if messages else ""


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _text(value: object) -> str:
    """The text of a message or of a part; nothing for what has none."""
    if not isinstance(value, dict):
        return ""
    members = cast("dict[str, object]", value)
    inner = members.get("content", members.get("text"))
    if isinstance(inner, str):
        return inner
    return "".join(_text(part) for part in _list(inner))


def exhausted(number: int) -> Reply:
    """The answer to a request for which the script has no reply left."""
    return Reply.error(
        EXHAUSTED_STATUS,
        f"nodrop.testing: the script has no reply left for request {number} (counted from 0)",
        type="script_exhausted",
    )


def no_route(number: int) -> Reply:
    """The gateway's 404."""
    return Reply.json(404, {"message": "no Route matched with those values", "request_id": request_id(number)})


def unauthorized() -> Reply:
    """The server's 401."""
    return Reply.json(401, {"detail": "Invalid API Key"})


def not_json() -> Reply:
    """The server's 422 for a body that is not a JSON object."""
    problem = {"type": "json_invalid", "loc": ["body"], "msg": "JSON decode error"}
    return Reply.json(422, {"detail": [problem]})


def request_id(number: int) -> str:
    """The id that the reply to this request carries in ``mistral-correlation-id``, unless it is scripted."""
    return f"simulated-{number:06d}"
