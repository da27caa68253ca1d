"""The document query on asyncio: carries a :class:`Query` out with a :class:`nodrop.AsyncClient`."""

from __future__ import annotations

import inspect
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from nodrop.client.abort import AbortSignal
from nodrop.document_query.base import DEFAULT_INTERVAL, BaseDocumentQuery, check_client
from nodrop.document_query.query import Query, refused_call
from nodrop.document_query.result import ToolResult
from nodrop.errors import AbortedError, APIError, ConfigurationError

if TYPE_CHECKING:
    from nodrop.client.aio import AsyncClient
    from nodrop.settings import Settings


class AsyncDocumentQuery(BaseDocumentQuery):
    """:class:`nodrop.DocumentQuery` on asyncio. ``on_update`` may be a plain function or a coroutine function.

    Cancelling the task propagates as usual, and closes the connection.
    """

    def __init__(
        self,
        client: AsyncClient,
        *,
        library_ids: Sequence[str] | None = None,
        model: str | None = None,
        streaming: bool | None = None,
        settings: Settings | None = None,
        preview_interval: float = DEFAULT_INTERVAL,
    ) -> None:
        check_client(client, "AsyncClient")
        super().__init__(library_ids, model, streaming, settings, preview_interval)
        self._client = client

    async def run(
        self,
        question: str,
        *,
        library_ids: Sequence[str] | None = None,
        model: str | None = None,
        on_update: Callable[[str], object] | None = None,
        abort: AbortSignal | None = None,
    ) -> ToolResult:
        """Asks, and gives the result: :meth:`nodrop.DocumentQuery.run`."""
        query = self._query({"question": question, "library_ids": library_ids, "model": model})
        return await self._run(query, on_update, abort)

    async def execute(
        self,
        tool_call_id: str,
        params: Mapping[str, Any],
        signal: AbortSignal | None = None,
        on_update: Callable[[ToolResult], object] | None = None,
    ) -> ToolResult:
        """The form for agent loops: :meth:`nodrop.DocumentQuery.execute`."""
        try:
            query = self._query(params)
        except ConfigurationError as error:
            return refused_call(error, streaming=self._streaming)
        update = query.partial_updates(on_update)
        return await self._run(query, update, signal)

    async def _run(
        self, query: Query, on_update: Callable[[str], object] | None, signal: AbortSignal | None
    ) -> ToolResult:
        self._check_call(on_update, signal)
        signal = AbortSignal() if signal is None else signal
        async with aclosing(self._exchanges(query, signal)) as steps:
            async for _ in steps:
                if on_update is not None and (text := query.preview(time.monotonic())) and not signal.aborted:
                    await _awaited(on_update(text))
        if on_update is not None and not signal.aborted and (text := query.last_preview(time.monotonic())):
            await _awaited(on_update(text))
        return query.result(aborted=signal.aborted)

    async def _exchanges(self, query: Query, signal: AbortSignal) -> AsyncGenerator[None]:
        """Each step, one item was taken. Only what the exchange raises is caught: a callback runs between the steps."""
        again = True
        while again:
            again = False
            try:
                async with self._client.wire.exchange(query.request, stream=query.streaming, signal=signal) as exchange:
                    async for item in exchange:
                        query.take(item, exchange.request_id)
                        yield
                    query.ended(exchange.oddities)
            except (APIError, AbortedError) as error:
                again = query.failed(error)


async def _awaited(given: object) -> None:
    if inspect.isawaitable(given):
        waiting: Awaitable[Any] = given
        await waiting
