"""``nodrop mcp``: the document query for MCP clients. Over stdio, stdout carries JSON-RPC and nothing else."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from typing import TYPE_CHECKING, Final

from nodrop.bearer import presents
from nodrop.cli.listening import TOKEN_VARIABLE, add_listening_arguments, check_host, ensure_token, listener
from nodrop.client.options import client_options
from nodrop.settings import load_settings

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

DEFAULT_PORT: Final = 8090


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "MISTRAL_API_KEY holds the key; libraries and model come from the settings files (`nodrop doctor` shows them). "
        "docs/mcp.md has the configuration of common clients."
    )
    parser.add_argument("--http", action="store_true", help="serve streamable HTTP at /mcp in place of stdio")
    add_listening_arguments(parser, DEFAULT_PORT)


def run(arguments: argparse.Namespace) -> int:
    settings = load_settings()
    for warning in settings.warnings:
        print(f"nodrop: {warning}", file=sys.stderr)
    client_options(settings.client_settings())  # without a key it ends here, in words, and not at the first question
    if not arguments.http:
        from nodrop.mcp import serve_stdio

        asyncio.run(serve_stdio(settings))
        return 0
    check_host(arguments)
    about_token = ensure_token()
    from nodrop.mcp import http_app

    app = http_app(settings, arguments.host)
    import uvicorn

    listening, url = listener(arguments)
    print(f"nodrop mcp: {url}/mcp speaks MCP over streamable HTTP")
    print("\n".join(about_token), flush=True)
    config = uvicorn.Config(_Guarded(app, os.environ[TOKEN_VARIABLE]), lifespan="on", log_level="warning")
    server = uvicorn.Server(config)
    server.run(sockets=[listening])
    return 0 if server.started else 1


class _Guarded:
    """Lets in who presents the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            found = [value for name, value in scope["headers"] if name == b"authorization"]
            if len(found) != 1 or not presents(found[0].decode("latin-1"), self._token):
                head = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0")]
                await send({"type": "http.response.start", "status": 401, "headers": head})
                await send({"type": "http.response.body", "body": b""})
                return
        await self._app(scope, receive, send)
