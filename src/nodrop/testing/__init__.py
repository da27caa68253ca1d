"""An embedded Mistral for your tests: real HTTP on loopback, scripted answers, faults included. No key, no network.

    from nodrop.testing import Cut, MistralServer, Reply, finish, text

    with MistralServer() as server:
        server.enqueue(
            Reply.error(429, "Rate limit exceeded", type="rate_limited", headers={"retry-after": "0"}),
            Reply.stream(text("Hel"), text("lo")).with_faults(Cut(at="end", how="abrupt")),
        )
        ...  # nodrop.Client(api_key=server.api_key, base_url=server.url)
        assert server.requests[0].body["model"] == "mistral-small-latest"
        server.wait_for_open_connections(0)

- :class:`MistralServer`: the server, what it was asked, and how far its replies got.
- :class:`Reply`: one response; its builders take the chunks of :mod:`nodrop.testing.wire`.
- :class:`Stall`, :class:`Cut`, :class:`Comments`, :class:`IgnoreClose`, :func:`refused_url`, :func:`unanswered_url`:
  what can go wrong (:mod:`nodrop.testing.faults`).
- :class:`DocumentLibraries`: answers document queries from text files, by keywords (:mod:`nodrop.testing.library`).
- :mod:`nodrop.testing.demo`: the scripted answers of ``nodrop demo``.
- the pytest fixture ``mistral_server`` (:mod:`nodrop.testing.pytest_plugin`), there by itself once nodrop is installed.

It needs the standard library and h11 alone, and listens on 127.0.0.1 only.
"""

from nodrop.testing.faults import Comments, Cut, Fault, IgnoreClose, Place, Stall, refused_url, unanswered_url
from nodrop.testing.library import DocumentLibraries
from nodrop.testing.records import PlayedReply, RecordedRequest
from nodrop.testing.replies import Framing, Packets, Reply
from nodrop.testing.server import Handler, MistralServer, UnscriptedRequestError
from nodrop.testing.wire import (
    ABSENT,
    DONE,
    StreamItem,
    big_event,
    call_part,
    chunk,
    completion,
    content,
    error_body,
    finish,
    image_part,
    message,
    reference,
    reference_part,
    start,
    text,
    text_part,
    thinking,
    thinking_part,
    tool_call,
    tool_calls,
    tool_message,
    usage,
)

__all__ = [
    "ABSENT",
    "DONE",
    "Comments",
    "Cut",
    "DocumentLibraries",
    "Fault",
    "Framing",
    "Handler",
    "IgnoreClose",
    "MistralServer",
    "Packets",
    "Place",
    "PlayedReply",
    "RecordedRequest",
    "Reply",
    "Stall",
    "StreamItem",
    "UnscriptedRequestError",
    "big_event",
    "call_part",
    "chunk",
    "completion",
    "content",
    "error_body",
    "finish",
    "image_part",
    "message",
    "reference",
    "reference_part",
    "refused_url",
    "start",
    "text",
    "text_part",
    "thinking",
    "thinking_part",
    "tool_call",
    "tool_calls",
    "tool_message",
    "unanswered_url",
    "usage",
]
