"""The blocking client."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, Unpack

from nodrop.client.abort import AbortSignal
from nodrop.client.base import (
    BaseClient,
    ChatOptions,
    Prompt,
    WireItem,
    log_end,
    message_of,
    the_chunk,
    the_completion,
    wire_sink_of,
)
from nodrop.client.options import ClientSettings, client_options
from nodrop.client.outgoing import Outgoing
from nodrop.client.sync_driver import SyncDriver
from nodrop.client.transport import family_of
from nodrop.content import AssistantMessage
from nodrop.core.flow import RequestFlow
from nodrop.events import Event, TextDelta
from nodrop.wire import ChatCompletionRequest, ChatCompletionResponse, CompletionChunk

if TYPE_CHECKING:
    import httpx
    import httpx2

Item = TypeVar("Item")


class _Opened(Generic[Item]):
    """A request under way: iterable once, abortable from anywhere, closed at its end or by ``with``."""

    def __init__(self, driver: SyncDriver[Item], name: str) -> None:
        self._driver = driver
        self._name = name
        self._items: Iterator[Item] = iter(())

    def __iter__(self) -> Iterator[Item]:
        # A generator, because a call of __next__ for each event costs more; both take from the same items.
        while True:
            yield from self._items
            items = self._driver.next_items()
            if items is None:
                self._raise_at_end()
                return
            self._items = iter(items)

    def __next__(self) -> Item:
        while True:
            for item in self._items:
                return item
            items = self._driver.next_items()
            if items is None:
                self._raise_at_end()
                raise StopIteration
            self._items = iter(items)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._driver.leave()

    def __del__(self) -> None:
        driver: SyncDriver[Item] | None = getattr(self, "_driver", None)
        if driver is None:
            return
        forgotten = driver.holds_connection
        driver.forget()
        if forgotten:  # last, because a filter may turn it into an exception
            warnings.warn(f"unclosed {self!r}: use it in a with block, or call close()", ResourceWarning, stacklevel=2)

    def __repr__(self) -> str:
        return f"<nodrop.{type(self).__name__} {self._name}>"

    def __reduce__(self) -> Any:
        raise TypeError("a request under way holds a connection and does not pickle; its message does")

    def abort(self) -> None:
        """Ends the request, from any thread and at any moment. The iteration ends with what had arrived."""
        self._driver.abort()

    def close(self) -> None:
        """Ends the request if it is under way, as ``abort()`` does, and lets its connection go."""
        self._driver.close()

    def _raise_at_end(self) -> None:
        """Called when the iteration is over."""


class Stream(_Opened[Event]):
    """The events of an answer, and its message.

    Iterating never raises for a request that failed: the last event is :class:`nodrop.Failed` then.
    ``final_message()`` raises the typed error instead. One consumer; ``abort()`` from any thread.
    """

    @property
    def message(self) -> AssistantMessage:
        """The message: partial while it streams (``stop_reason`` is ``pending``), final afterwards."""
        return message_of(self._driver.flow)

    def text_deltas(self) -> Iterator[str]:
        """Only the text, as it comes. Raises the typed error when the request fails."""
        for event in self:
            if isinstance(event, TextDelta):
                yield event.delta
        self._raise_failure()

    def final_message(self) -> AssistantMessage:
        """Reads to the end. Raises the typed error, which carries ``.partial``, when the request failed."""
        for _ in self:
            pass
        self._raise_failure()
        return self.message

    def _raise_failure(self) -> None:
        error = self._driver.flow.error
        if error is not None:
            raise error.with_traceback(None)


class WireExchange(_Opened[WireItem]):
    """What the server answers in the generated models: the chunks of a stream, or one whole completion.

    Iterating raises the typed error when the request fails.
    """

    @property
    def request_id(self) -> str | None:
        """The server's name for the request, from the head of its answer; ``None`` before that, or when it has none."""
        return wire_sink_of(self._driver.flow).request_id

    @property
    def oddities(self) -> tuple[str, ...]:
        """What was odd about the answer and no error: ``lone_surrogate``, ``no_done_marker`` and their like."""
        return tuple(wire_sink_of(self._driver.flow).oddities)

    def _raise_at_end(self) -> None:
        error = self._driver.flow.error
        if error is not None:
            raise error.with_traceback(None)


class WireStream(WireExchange):
    """The generated chunks of an answer, as they come. Iterating raises the typed error when the request fails."""

    def __iter__(self) -> Iterator[CompletionChunk]:
        return self

    def __next__(self) -> CompletionChunk:
        item = super().__next__()
        if not isinstance(item, CompletionChunk):
            self.close()  # nothing more can come that fits
        return the_chunk(item)


class Client(BaseClient):
    """Mistral's chat completions, blocking. Safe in threads; close it, or use it in a ``with`` block.

    ``api_key`` and ``base_url`` (with or without ``/v1``) win over ``MISTRAL_API_KEY`` and ``MISTRAL_BASE_URL``, which
    are read here and not at import. ``http_client`` may be an ``httpx.Client`` or ``httpx2.Client`` of yours: its
    proxies, TLS and transport are used, and it is never closed by us. The further keywords are those of
    :class:`nodrop.ClientSettings`.

    Raises :class:`nodrop.ConfigurationError` when there is no key or an option is wrong.
    """

    def __init__(
        self, *, http_client: httpx.Client | httpx2.Client | None = None, **settings: Unpack[ClientSettings]
    ) -> None:
        options = client_options(settings)
        http: Any = _new_http_client() if http_client is None else http_client
        super().__init__(options, http, family_of(http, "Client"), owns=http_client is None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the requests that are under way, and closes the connections unless the HTTP client is the caller's."""
        if self._ends_here():
            self._http.close()

    def with_options(self, **settings: Unpack[ClientSettings]) -> Client:
        """A client with these settings changed, on the same connections; this one still owns and closes them."""
        other = Client.__new__(Client)
        self._share(other, settings)
        return other

    def stream(self, model: str, prompt: Prompt, **options: Unpack[ChatOptions]) -> Stream:
        """Asks, and streams the answer. ``prompt`` is a string, a list of messages, or a :class:`nodrop.Context`.

        What is not given is not sent. The request goes out with the first event that is asked for.
        Raises :class:`nodrop.ConfigurationError` at once for a mistake in the call.
        """
        flow, outgoing = self._chat(model, prompt, options, stream=True)
        return Stream(self._driver(flow, outgoing, options.get("signal")), f"of {model}")

    def complete(self, model: str, prompt: Prompt, **options: Unpack[ChatOptions]) -> AssistantMessage:
        """Asks, and gives the whole answer, not streamed. Arguments as for :meth:`stream`.

        Raises the typed error when it fails; after an abort that is :class:`nodrop.AbortedError`.
        """
        flow, outgoing = self._chat(model, prompt, options, stream=False)
        with Stream(self._driver(flow, outgoing, options.get("signal")), f"of {model}") as stream:
            return stream.final_message()

    def _driver(self, flow: RequestFlow[Item], outgoing: Outgoing, signal: AbortSignal | None) -> SyncDriver[Item]:
        return SyncDriver(flow, self._http, outgoing, self._signals(signal), self._on_wait, lambda: log_end(flow))

    @property
    def wire(self) -> Wire:
        """The wire level: generated models in and out, nothing mapped."""

        return Wire(lambda request, stream, signal: self._driver(*self._wire(request, stream=stream), signal))


class Wire:
    """Generated models in and out. Retries before the first chunk; typed errors are raised."""

    def __init__(
        self, open_driver: Callable[[ChatCompletionRequest, bool, AbortSignal | None], SyncDriver[WireItem]]
    ) -> None:
        self._open = open_driver

    def stream(self, request: ChatCompletionRequest, *, signal: AbortSignal | None = None) -> WireStream:
        """Streams the chunks as they come. ``request.stream`` need not be set.

        A chunk that the models refuse raises :class:`nodrop.ContentRejectedError` with the raw JSON on ``.raw``.
        """
        driver = self._open(request, True, signal)
        return WireStream(driver, f"of {request.model}")

    def exchange(
        self, request: ChatCompletionRequest, *, stream: bool, signal: AbortSignal | None = None
    ) -> WireExchange:
        """Asks for a stream or for the whole form, and hands out whichever the server answers with."""
        driver = self._open(request, stream, signal)
        return WireExchange(driver, f"of {request.model}")

    def complete(self, request: ChatCompletionRequest, *, signal: AbortSignal | None = None) -> ChatCompletionResponse:
        """The whole form, with the errors of :meth:`stream`."""
        driver = self._open(request, False, signal)
        found: list[WireItem] = []
        try:
            while (items := driver.next_items()) is not None:
                found += items
        finally:
            driver.close()
        return the_completion(found, driver.flow.error)


def _new_http_client() -> httpx.Client:
    import httpx

    # Streams are long and idle: the pool must not make the 101st wait for one to end.
    return httpx.Client(limits=httpx.Limits(max_connections=None, max_keepalive_connections=20))
