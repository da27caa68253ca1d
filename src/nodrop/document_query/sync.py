"""The blocking document query: carries a :class:`Query` out with a :class:`nodrop.Client`."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from nodrop.client.abort import AbortSignal
from nodrop.document_query.base import DEFAULT_INTERVAL, BaseDocumentQuery, check_client
from nodrop.document_query.query import Query, refused_call
from nodrop.document_query.result import ToolResult
from nodrop.errors import AbortedError, APIError, ConfigurationError

if TYPE_CHECKING:
    from nodrop.client.sync import Client
    from nodrop.settings import Settings


class DocumentQuery(BaseDocumentQuery):
    """The tool ``mistral_document_query``: asks document libraries, and gives one complete result.

    ``library_ids``, ``model`` and ``streaming`` are used where a call does not say; ``None``: from ``settings``, else
    from the settings files (docs/settings.md). ``preview_interval`` is the least time in seconds between two previews.

    Raises :class:`nodrop.ConfigurationError` for a wrong argument or a wrong settings file.
    """

    def __init__(
        self,
        client: Client,
        *,
        library_ids: Sequence[str] | None = None,
        model: str | None = None,
        streaming: bool | None = None,
        settings: Settings | None = None,
        preview_interval: float = DEFAULT_INTERVAL,
    ) -> None:
        check_client(client, "Client")
        super().__init__(library_ids, model, streaming, settings, preview_interval)
        self._client = client

    def run(
        self,
        question: str,
        *,
        library_ids: Sequence[str] | None = None,
        model: str | None = None,
        on_update: Callable[[str], object] | None = None,
        abort: AbortSignal | None = None,
    ) -> ToolResult:
        """Asks, and gives the result; a failed query is a result with ``is_error``, and so is an aborted one.

        ``on_update`` gets the whole text so far while it is generated, each time longer than before, never after the
        result. What it raises ends the query and comes out of here. ``abort`` ends the query from any thread.

        Raises :class:`nodrop.ConfigurationError` for a mistake in the call; nothing is sent then.
        """
        query = self._query({"question": question, "library_ids": library_ids, "model": model})
        return self._run(query, on_update, abort)

    def execute(
        self,
        tool_call_id: str,
        params: Mapping[str, Any],
        signal: AbortSignal | None = None,
        on_update: Callable[[ToolResult], object] | None = None,
    ) -> ToolResult:
        """The form for agent loops: wrong ``params`` are an error result that tells the model what to change.

        ``tool_call_id`` is the loop's own name for the call; it is not sent. ``on_update`` gets a whole partial result
        in place of the one before it.
        """
        try:
            query = self._query(params)
        except ConfigurationError as error:
            return refused_call(error, streaming=self._streaming)
        update = query.partial_updates(on_update)
        return self._run(query, update, signal)

    def _run(self, query: Query, on_update: Callable[[str], object] | None, signal: AbortSignal | None) -> ToolResult:
        self._check_call(on_update, signal)
        if inspect.iscoroutinefunction(on_update):
            raise ConfigurationError("on_update is called and not awaited here: a coroutine function would never run")
        signal = AbortSignal() if signal is None else signal
        with closing(self._exchanges(query, signal)) as steps:
            for _ in steps:
                if on_update is not None and (text := query.preview(time.monotonic())) and not signal.aborted:
                    on_update(text)
        if on_update is not None and not signal.aborted and (text := query.last_preview(time.monotonic())):
            on_update(text)
        return query.result(aborted=signal.aborted)

    def _exchanges(self, query: Query, signal: AbortSignal) -> Generator[None]:
        """Each step, one item was taken. Only what the exchange raises is caught: a callback runs between the steps."""
        again = True
        while again:
            again = False
            try:
                with self._client.wire.exchange(query.request, stream=query.streaming, signal=signal) as exchange:
                    for item in exchange:
                        query.take(item, exchange.request_id)
                        yield
                    query.ended(exchange.oddities)
            except (APIError, AbortedError) as error:
                again = query.failed(error)
