"""Drives one query over recorded bodies without a network: the wire sink reads them, as the client does."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nodrop.core.wire_sink import WireSink
from nodrop.document_query.declaration import Question
from nodrop.document_query.query import Query
from nodrop.document_query.result import ToolResult
from nodrop.errors import AbortedError, APIError

LIBRARY = "lib-1"
MODEL = "mistral-test"


def new_query(*, streaming: bool = True, preview_seconds: float = 0.1) -> Query:
    return Query(Question("What changed?", (LIBRARY,), MODEL), streaming=streaming, preview_seconds=preview_seconds)


def event(item: Mapping[str, Any]) -> bytes:
    """One event, every character that is not ASCII escaped: so halves of characters can be written."""
    return b"data: " + json.dumps(item).encode() + b"\n\n"


def streamed(items: Iterable[Mapping[str, Any]], cuts: Sequence[int] = ()) -> ToolResult:
    """The result of a stream whose bytes arrive in pieces."""
    body = b"".join(event(item) for item in items) + b"data: [DONE]\n\n"
    places = [0, *sorted(cut % len(body) for cut in cuts), len(body)]
    return _drive(new_query(), [body[start:end] for start, end in itertools.pairwise(places)], whole=False)


def whole(completion: Mapping[str, Any]) -> ToolResult:
    """The result of a whole completion."""
    return _drive(new_query(streaming=False), [json.dumps(completion).encode()], whole=True)


def _drive(query: Query, blocks: list[bytes], *, whole: bool) -> ToolResult:
    sink = WireSink(max_event_bytes=1 << 24)
    try:
        for block in blocks:
            for item in sink.whole(block) if whole else sink.feed(block):
                query.take(item, "request-1")
        if not whole:
            for item in sink.close():
                query.take(item, "request-1")
        if sink.error is not None:
            raise sink.error
        query.ended(tuple(sink.oddities))
    except (APIError, AbortedError) as error:
        if query.failed(error):
            raise
    return query.result(aborted=False)


def surface(result: ToolResult) -> str:
    """The bytes that must not depend on the form of the answer."""
    return result.model_dump_json(include={"content", "structured_content", "is_error"}, by_alias=True)
