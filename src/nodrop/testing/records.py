"""What a server keeps of the conversation, for tests to look at."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from nodrop.testing.replies import Reply


@dataclass(frozen=True)
class RecordedRequest:
    """One request as it arrived."""

    number: int
    """0 for the server's first request."""
    connection: int
    """0 for the server's first connection; equal numbers: the same connection, kept alive."""
    method: str
    path: str
    """With the query, if there is one."""
    headers: dict[str, str] = field(repr=False)
    """Names in lower case; values of a repeated header joined by a comma. Not in the repr: it holds the key."""
    raw_body: bytes = field(repr=False)
    at: float
    """When the last byte had arrived (:func:`time.monotonic`)."""

    @cached_property
    def body(self) -> dict[str, Any]:
        """The JSON object that was sent. Raises ValueError when the body is anything else."""
        value: object = json.loads(self.raw_body)
        if not isinstance(value, dict):
            raise ValueError(  # noqa: TRY004 - to the caller it is as malformed as what is no JSON
                "the request's body is JSON, but not an object"
            )
        return cast("dict[str, Any]", value)

    @property
    def streamed(self) -> bool:
        """Whether the request asks for a stream."""
        return self.body.get("stream") is True


@dataclass
class PlayedReply:
    """How far one reply got; it is filled in while the reply is played."""

    request: RecordedRequest
    reply: Reply | None = None
    """None until it is chosen."""
    bytes_sent: int = 0
    """Bytes of the body (HTTP's framing not counted) handed to the system."""
    finished_at: float | None = None
    """When the reply had been played as scripted, faults included (:func:`time.monotonic`)."""
    client_closed_at: float | None = None
    """When the server saw the client leave before the reply was finished."""
