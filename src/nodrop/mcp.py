"""``mistral_document_query`` as an MCP server, over stdio or streamable HTTP.

The low-level server of the ``mcp`` package is used, which advertises tools only: others make pi add three resource
tools. Rules:

- Each preview is the whole text so far, in the ``message`` of a progress notification; ``progress`` is its length in
  characters, which only grows. A client that asks for no progress gets none.
- Cancelling the call aborts the request upstream at once.
- The result's text is the document query's own. ``structuredContent`` holds what it found (``answer``, ``chunks``,
  ``citations``, ``tool_messages``; absent on failure), ``usage`` in tokens, and ``details``. A failure is ``isError``
  with our words, never a bare exception.
- The client is made at the first use, so that the server answers ``initialize`` early.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from nodrop.errors import ConfigurationError
from nodrop.settings import Settings
from nodrop.version import __version__

try:
    import anyio
    from mcp import types
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server
    from mcp.shared.exceptions import MCPError
except ModuleNotFoundError as error:
    if error.name not in ("mcp", "anyio"):
        raise
    raise ConfigurationError("the MCP server needs the extra: pip install 'nodrop[mcp]'") from None

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from starlette.applications import Starlette

    from nodrop.client.aio import AsyncClient
    from nodrop.document_query import AsyncDocumentQuery, ToolResult

_ENDING_SECONDS: Final = 1.0


class Queries:
    """The document query of a server, made when it is first asked for."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._client: AsyncClient | None = None
        self._query: AsyncDocumentQuery | None = None

    def get(self) -> AsyncDocumentQuery:
        if self._query is None:
            from nodrop.client.aio import AsyncClient
            from nodrop.document_query import AsyncDocumentQuery

            self._client = AsyncClient(**self._settings.client_settings())
            self._query = AsyncDocumentQuery(self._client, settings=self._settings)
        return self._query

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()


def document_query_server(settings: Settings) -> Server[Queries]:
    """The server, for any transport of the ``mcp`` package."""

    @asynccontextmanager
    async def lifespan(server: Server[Queries]) -> AsyncGenerator[Queries]:
        queries = Queries(settings)
        try:
            yield queries
        finally:
            await queries.close()

    return Server(
        "nodrop",
        version=__version__,
        title="nodrop: Mistral document query",
        lifespan=lifespan,
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
    )


async def serve_stdio(settings: Settings) -> None:
    """Serves one client over this process's stdin and stdout, which carry JSON-RPC only, until stdin ends."""
    server = document_query_server(settings)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def http_app(settings: Settings, host: str) -> Starlette:
    """The ASGI application of streamable HTTP, at ``/mcp``. It has no authentication of its own."""
    return document_query_server(settings).streamable_http_app(host=host)


async def _list_tools(
    context: ServerRequestContext[Queries], params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    tool = context.lifespan_context.get().tool
    annotations = types.ToolAnnotations(read_only_hint=True, open_world_hint=True)
    described = types.Tool(
        name=tool.name,
        title="Mistral document query",
        description=tool.description,
        input_schema=tool.parameters,
        annotations=annotations,
    )
    return types.ListToolsResult(tools=[described])


async def _call_tool(
    context: ServerRequestContext[Queries], params: types.CallToolRequestParams
) -> types.CallToolResult:
    query = context.lifespan_context.get()
    if params.name != query.name:
        raise MCPError(types.INVALID_PARAMS, f"this server has one tool, {query.name}")

    async def preview(partial: ToolResult) -> None:
        await context.session.report_progress(float(len(partial.text)), message=partial.text)

    return _result(await _executed(query, str(context.request_id), params.arguments or {}, preview))


async def _executed(query: AsyncDocumentQuery, call_id: str, arguments: dict[str, Any], preview: Any) -> ToolResult:
    """Runs the query in a task of its own, and aborts it when the call is cancelled.

    ``mcp`` cancels through anyio, which cancels every later wait of the call as well; the query would not come to close
    its connection. An abort lets it end in order, within its 100 ms.
    """
    from nodrop.client.abort import AbortSignal

    signal = AbortSignal()
    running = asyncio.ensure_future(query.execute(call_id, arguments, signal, preview))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        signal.abort()
        with anyio.CancelScope(shield=True):
            await asyncio.wait([running], timeout=_ENDING_SECONDS)
        running.cancel()  # no more than a word if it has ended, as it should have
        raise


def _result(result: ToolResult) -> types.CallToolResult:
    structured: dict[str, Any] = {"usage": result.usage.model_dump(mode="json"), "details": result.details}
    if result.structured_content is not None:
        structured.update(result.structured_content)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=block.text) for block in result.content],
        structured_content=structured,
        is_error=result.is_error,
    )
