"""The asyncio client: the words of the blocking one."""

from __future__ import annotations

import asyncio
import warnings
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar, Unpack

from nodrop.client.abort import AbortSignal
from nodrop.client.async_driver import AsyncDriver
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
from nodrop.client.transport import family_of
from nodrop.content import AssistantMessage
from nodrop.core.flow import RequestFlow
from nodrop.errors import ConfigurationError
from nodrop.events import Event, TextDelta
from nodrop.wire import ChatCompletionRequest, ChatCompletionResponse, CompletionChunk

if TYPE_CHECKING:
    import httpx
    import httpx2

Item = TypeVar("Item")
_EVENTS_A_TURN: Final = 32


class _Opened(Generic[Item]):
    """A request under way: iterable once, abortable from anywhere, closed at its end or by ``async with``."""

    def __init__(self, driver: AsyncDriver[Item], name: str) -> None:
        self._driver = driver
        self._name = name
        self._items: Iterator[Item] = iter(())
        self._since_turn = 0

    def __aiter__(self) -> AsyncIterator[Item]:
        return self

    async def __anext__(self) -> Item:
        while True:
            if self._since_turn >= _EVENTS_A_TURN:  # other tasks get a turn while buffered bytes last
                self._since_turn = 0
                await asyncio.sleep(0)  # with no item in hand: a cancellation here would lose it
            for item in self._items:
                self._since_turn += 1
                return item
            items = await self._driver.next_items()
            if items is None:
                self._raise_at_end()
                raise StopAsyncIteration
            self._items = iter(items)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __del__(self) -> None:
        driver: AsyncDriver[Item] | None = getattr(self, "_driver", None)
        if driver is None:
            return
        forgotten = driver.holds_connection
        driver.forget()
        if forgotten:  # last, because a filter may turn it into an exception
            warnings.warn(
                f"unclosed {self!r}: use it in an async with block, or close() it", ResourceWarning, stacklevel=2
            )

    def __repr__(self) -> str:
        return f"<nodrop.{type(self).__name__} {self._name}>"

    def __reduce__(self) -> Any:
        raise TypeError("a request under way holds a connection and does not pickle; its message does")

    def abort(self) -> None:
        """Ends the request, from any thread or task and at any moment. The iteration ends with what had arrived."""
        self._driver.abort()

    async def close(self) -> None:
        """Ends the request if it is under way, as ``abort()`` does, and lets its connection go."""
        await self._driver.close()

    def _raise_at_end(self) -> None:
        """Called when the iteration is over."""


class AsyncStream(_Opened[Event]):
    """The events of an answer, and its message: :class:`nodrop.Stream` on asyncio."""

    @property
    def message(self) -> AssistantMessage:
        """The message: partial while it streams (``stop_reason`` is ``pending``), final afterwards."""
        return message_of(self._driver.flow)

    async def text_deltas(self) -> AsyncIterator[str]:
        """Only the text, as it comes. Raises the typed error when the request fails."""
        async for event in self:
            if isinstance(event, TextDelta):
                yield event.delta
        self._raise_failure()

    async def final_message(self) -> AssistantMessage:
        """Reads to the end. Raises the typed error, which carries ``.partial``, when the request failed."""
        async for _ in self:
            pass
        self._raise_failure()
        return self.message

    def _raise_failure(self) -> None:
        error = self._driver.flow.error
        if error is not None:
            raise error.with_traceback(None)


class AsyncWireExchange(_Opened[WireItem]):
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


class AsyncWireStream(AsyncWireExchange):
    """The generated chunks of an answer, as they come. Iterating raises the typed error when the request fails."""

    def __aiter__(self) -> AsyncIterator[CompletionChunk]:
        return self

    async def __anext__(self) -> CompletionChunk:
        item = await super().__anext__()
        if not isinstance(item, CompletionChunk):
            await self.close()  # nothing more can come that fits
        return the_chunk(item)


class AsyncClient(BaseClient):
    """Mistral's chat completions on asyncio: :class:`nodrop.Client` with ``async with``, ``async for`` and ``await``.

    ``http_client`` may be an ``httpx.AsyncClient`` or ``httpx2.AsyncClient`` of yours.
    """

    def __init__(
        self, *, http_client: httpx.AsyncClient | httpx2.AsyncClient | None = None, **settings: Unpack[ClientSettings]
    ) -> None:
        options = client_options(settings)
        http: Any = _new_http_client() if http_client is None else http_client
        super().__init__(options, http, family_of(http, "AsyncClient"), owns=http_client is None)
        self._home = _Home()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the requests that are under way, and closes the connections unless the HTTP client is the caller's."""
        if self._ends_here():
            await self._http.aclose()

    def with_options(self, **settings: Unpack[ClientSettings]) -> AsyncClient:
        """A client with these settings changed, on the same connections; this one still owns and closes them."""
        other = AsyncClient.__new__(AsyncClient)
        self._share(other, settings)
        other._home = self._home
        return other

    def stream(self, model: str, prompt: Prompt, **options: Unpack[ChatOptions]) -> AsyncStream:
        """Asks, and streams the answer: :meth:`nodrop.Client.stream`."""
        flow, outgoing = self._chat(model, prompt, options, stream=True)
        return AsyncStream(self._driver(flow, outgoing, options.get("signal")), f"of {model}")

    async def complete(self, model: str, prompt: Prompt, **options: Unpack[ChatOptions]) -> AssistantMessage:
        """Asks, and gives the whole answer: :meth:`nodrop.Client.complete`."""
        flow, outgoing = self._chat(model, prompt, options, stream=False)
        async with AsyncStream(self._driver(flow, outgoing, options.get("signal")), f"of {model}") as stream:
            return await stream.final_message()

    def _driver(self, flow: RequestFlow[Item], outgoing: Outgoing, signal: AbortSignal | None) -> AsyncDriver[Item]:
        return AsyncDriver(
            flow,
            self._http,
            outgoing,
            self._signals(signal),
            self._on_wait,
            lambda: log_end(flow),
            self._home.check,
        )

    @property
    def wire(self) -> AsyncWire:
        """The wire level: generated models in and out, nothing mapped."""

        return AsyncWire(lambda request, stream, signal: self._driver(*self._wire(request, stream=stream), signal))


class AsyncWire:
    """Generated models in and out: :class:`nodrop.Wire` on asyncio."""

    def __init__(
        self, open_driver: Callable[[ChatCompletionRequest, bool, AbortSignal | None], AsyncDriver[WireItem]]
    ) -> None:
        self._open = open_driver

    def stream(self, request: ChatCompletionRequest, *, signal: AbortSignal | None = None) -> AsyncWireStream:
        """Streams the chunks as they come. ``request.stream`` need not be set."""
        driver = self._open(request, True, signal)
        return AsyncWireStream(driver, f"of {request.model}")

    def exchange(
        self, request: ChatCompletionRequest, *, stream: bool, signal: AbortSignal | None = None
    ) -> AsyncWireExchange:
        """Asks for a stream or for the whole form, and hands out whichever the server answers with."""
        driver = self._open(request, stream, signal)
        return AsyncWireExchange(driver, f"of {request.model}")

    async def complete(
        self, request: ChatCompletionRequest, *, signal: AbortSignal | None = None
    ) -> ChatCompletionResponse:
        """The whole form, with the errors of :meth:`stream`."""
        driver = self._open(request, False, signal)
        found: list[WireItem] = []
        try:
            while (items := await driver.next_items()) is not None:
                found += items
        finally:
            await driver.close()
        return the_completion(found, driver.flow.error)


def _new_http_client() -> httpx.AsyncClient:
    import httpx

    # Streams are long and idle: the pool must not make the 101st wait for one to end.
    return httpx.AsyncClient(limits=httpx.Limits(max_connections=None, max_keepalive_connections=20))


class _Home:
    """The event loop of a client's connections: the first one that it is used in."""

    def __init__(self) -> None:
        self._loop: weakref.ref[asyncio.AbstractEventLoop] | None = None

    def check(self) -> None:
        """Raises :class:`ConfigurationError` in another loop: a connection of one cannot be used in the next."""
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = weakref.ref(loop)
        elif self._loop() is not loop:
            raise ConfigurationError(
                "this AsyncClient was used in another event loop, and its connections belong to that; "
                "build one in each loop (in each asyncio.run)"
            )
