"""What the sync and the async client share: options, the plan of a request, and its log lines."""

from __future__ import annotations

import json
import logging
import os
import random
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar, cast
from urllib.parse import urlsplit

from nodrop.client.abort import AbortSignal
from nodrop.client.options import ClientOptions, ClientSettings, RetryNotice, changed
from nodrop.client.outgoing import Outgoing
from nodrop.client.transport import AFTER_FORK, check_open
from nodrop.content import AssistantMessage, Context, Message, Tool, now_ms
from nodrop.core.commands import Wait
from nodrop.core.flow import Plan, RequestFlow
from nodrop.core.message_sink import MessageSink
from nodrop.core.sink import Sink
from nodrop.core.wire_sink import WireSink
from nodrop.errors import ConfigurationError, NodropError, StreamProtocolError, UnsupportedContentError
from nodrop.events import Event, Start
from nodrop.options import RequestOptions
from nodrop.request import as_context, build_request
from nodrop.wire import ChatCompletionRequest, ChatCompletionResponse, CompletionChunk

LOG: Final = logging.getLogger("nodrop")
Item = TypeVar("Item")
Prompt = str | Sequence[Message] | Context
"""A prompt of the user, the messages so far, or the messages with their tools."""
WireItem = CompletionChunk | ChatCompletionResponse


class ChatOptions(RequestOptions, total=False):
    """The keywords of ``stream`` and ``complete``: those of the request, and these of the call."""

    system_prompt: str | None
    """Shorthand for a first system message."""
    tools: Sequence[Tool] | None
    """The tools that the model may call, beside those of a context."""
    takes_images: bool | None
    """Whether the model takes images, over what the catalogue says."""
    signal: AbortSignal | None
    """A signal whose ``abort()`` ends this request."""


_OF_THE_CALL: Final = ChatOptions.__annotations__.keys() - RequestOptions.__annotations__.keys()


class BaseClient:
    """Holds the options and the HTTP client. ``_owns``: we opened the HTTP client, so we close it."""

    def __init__(self, options: ClientOptions, http: Any, family: str, *, owns: bool) -> None:
        self._options = options
        self._http = http
        self._family = family
        self._owns = owns
        self._pid = os.getpid()
        self._closing = AbortSignal()
        self._owner = self

    def __repr__(self) -> str:
        return f"{type(self).__name__}(base_url={self._options.base_url!r})"

    def __reduce__(self) -> Any:
        raise TypeError(
            f"a {type(self).__name__} holds a key and connections and does not pickle; build one in each process"
        )

    def _share(self, other: BaseClient, settings: ClientSettings) -> None:
        """Makes ``other`` a client on these connections, which it does not own."""
        self._usable()
        BaseClient.__init__(other, changed(self._options, settings), self._http, self._family, owns=False)
        other._owner = self._owner

    def _usable(self) -> None:
        if self._closing.aborted or self._owner._closing.aborted:
            raise ConfigurationError("the client is closed")
        if os.getpid() != self._pid:
            # Two processes on one socket would read each other's answers.
            raise ConfigurationError(AFTER_FORK)
        check_open(self._http)

    def _signals(self, signal: AbortSignal | None) -> tuple[AbortSignal, ...]:
        """All that ends a request of this client: its own signal, and closing the client or the owner of the pool."""
        if signal is not None and not isinstance(signal, AbortSignal):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"signal is an AbortSignal, not {type(signal).__name__}")
        signals = (self._closing,) if self._owner is self else (self._closing, self._owner._closing)
        return signals if signal is None else (*signals, signal)

    def _ends_here(self) -> bool:
        """Ends all requests under way; whether the connections are to be closed too."""
        self._closing.abort()
        return self._owns and os.getpid() == self._pid  # after a fork they are the parent's

    def _chat(
        self, model: str, prompt: Prompt, options: ChatOptions, *, stream: bool
    ) -> tuple[RequestFlow[Event], Outgoing]:
        """The flow of a chat, and what goes out. Local mistakes raise here, at once."""
        request = cast(RequestOptions, {key: value for key, value in options.items() if key not in _OF_THE_CALL})
        self._usable()
        context = as_context(prompt, system_prompt=options.get("system_prompt"), tools=options.get("tools"))
        refused: NodropError | None = None
        body: dict[str, Any] = {}
        notes: list[tuple[str, dict[str, Any]]] = []
        try:
            built = build_request(
                model,
                context,
                request,
                rates=self._options.rates,
                takes_images=options.get("takes_images"),
            )
        except UnsupportedContentError as error:
            refused = error.with_traceback(None)  # a failure of the stream, as the contract has it: nothing is sent
        else:
            body, notes = built.body, [(note.type, note.details or {}) for note in built.diagnostics]

        def new_sink() -> Sink[Event]:
            sink = MessageSink(
                model=model,
                rates=self._options.rates,
                now=now_ms,
                unknown_fields=self._options.unknown_fields,
                max_event_bytes=self._options.max_event_bytes,
            )
            for kind, details in notes:
                sink.note(kind, **details)
            return sink

        plan = self._plan(new_sink, lambda: [Start()])
        extra = {"stream": True} if stream else {}
        return RequestFlow(plan, refused=refused), self._outgoing({**body, **extra}, stream=stream)

    def _wire(self, request: ChatCompletionRequest, *, stream: bool) -> tuple[RequestFlow[WireItem], Outgoing]:
        self._usable()
        if not isinstance(request, ChatCompletionRequest):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(
                f"the wire level takes a nodrop.wire.ChatCompletionRequest, not a Python {type(request).__name__}"
            )
        body = {**request.model_dump(mode="json"), "stream": stream}

        def new_sink() -> Sink[WireItem]:
            return WireSink(max_event_bytes=self._options.max_event_bytes)

        plan = self._plan(new_sink, list[WireItem])
        return RequestFlow(plan), self._outgoing(body, stream=stream)

    def _plan(self, new_sink: Any, opening: Any) -> Plan[Any]:
        address = urlsplit(self._options.url)
        return Plan(
            new_sink=new_sink,
            opening=opening,
            timeouts=self._options.timeouts,
            retries=self._options.retries,
            clock=time.monotonic,
            wall=time.time,
            chance=random.random,
            host=address.netloc,
            path=address.path,
            secret=self._options.api_key,
            secret_from=self._options.key_variable,
        )

    def _outgoing(self, body: Mapping[str, Any], *, stream: bool) -> Outgoing:
        bounds = self._options.timeouts
        return Outgoing(
            url=self._options.url,
            headers=self._options.request_headers(self._family, stream=stream),
            body=json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode(),
            timeout=(bounds.connect, bounds.silence, bounds.silence, bounds.connect),
        )

    def _on_wait(self, wait: Wait) -> None:
        LOG.warning("attempt %d failed, next in %.2f s: %s", wait.attempt, wait.seconds, wait.error)
        if self._options.on_retry is not None:
            self._options.on_retry(RetryNotice(wait.attempt, wait.error, wait.seconds))


def log_end(flow: RequestFlow[Any]) -> None:
    """One line for each diagnostic of a finished message: its type and details, which never hold content."""
    if not isinstance(flow.sink, MessageSink):
        return
    for note in flow.sink.message.diagnostics:
        LOG.info("diagnostic %s %s", note.type, note.details or "")


def message_of(flow: RequestFlow[Event]) -> AssistantMessage:
    """The message of a chat's flow: partial while it streams, then final."""
    sink = flow.sink
    if not isinstance(sink, MessageSink):
        raise TypeError("the flow of a chat fills a MessageSink")
    return sink.message


def wire_sink_of(flow: RequestFlow[WireItem]) -> WireSink:
    """What the answer of a request at the wire level is poured into."""
    if not isinstance(flow.sink, WireSink):
        raise TypeError("a flow at the wire level fills a WireSink")
    return flow.sink


def the_chunk(item: WireItem) -> CompletionChunk:
    """A chunk of a wire stream. Raises :class:`StreamProtocolError` for a whole completion in its place."""
    if isinstance(item, ChatCompletionResponse):
        raise StreamProtocolError("a whole completion came in place of a stream; client.wire.complete reads it")
    return item


def the_completion(found: list[WireItem], error: NodropError | None) -> ChatCompletionResponse:
    """The one whole completion among what came. Raises the typed error when the request failed."""
    if error is not None:
        raise error.with_traceback(None)
    if len(found) != 1 or not isinstance(found[0], ChatCompletionResponse):
        raise StreamProtocolError("a stream came in place of a whole completion; client.wire.stream reads it")
    return found[0]
