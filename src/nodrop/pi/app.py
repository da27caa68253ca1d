"""The routes, the token, and the way from a request to an answer.

A request that is wrong gets an HTTP error in pi's form, ``{"error": {"message", "code"}}``; everything later, failures
upstream included, is an event of the stream. One attempt is made upstream: pi retries. Nothing is kept between
requests.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from nodrop.bearer import presents
from nodrop.client.aio import AsyncClient
from nodrop.errors import ConfigurationError
from nodrop.pi.models import models_json, unpriced
from nodrop.pi.options import cache_key, chat_options, effort
from nodrop.pi.request import PiRequest, read_request
from nodrop.pi.settings import GatewaySettings
from nodrop.pi.stream import AnswerStream
from nodrop.pi.termination import on_termination
from nodrop.pi.transcript import pi_context
from nodrop.pi.wording import SHUTTING_DOWN, final_text
from nodrop.version import __version__

LOG: Final = logging.getLogger("nodrop.pi")


def gateway_app(settings: GatewaySettings) -> Starlette:
    """The application. Its client is opened when the server starts it, in the server's own process and event loop."""
    gateway = _Gateway(settings)
    routes: list[Route] = []
    for base in ("", "/{base:path}"):  # whatever stands before it in pi's baseUrl
        routes += [
            Route(f"{base}/messages", gateway.messages, methods=["POST"]),
            Route(f"{base}/health", _health, methods=["GET"]),
            Route(f"{base}/models.json", gateway.models, methods=["GET"]),
        ]
    return Starlette(routes=routes, lifespan=gateway.lifespan, exception_handlers={HTTPException: _refused})


class _Tracked:
    """An answer that a shutdown can reach while it runs."""

    def __init__(self, answer: AnswerStream, running: set[AnswerStream]) -> None:
        self._answer = answer
        self._running = running

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._running.add(self._answer)
        try:
            await self._answer(scope, receive, send)
        finally:
            self._running.discard(self._answer)


class _Gateway:
    def __init__(self, settings: GatewaySettings) -> None:
        self._settings = settings
        self._client: AsyncClient | None = None
        self._running: set[AnswerStream] = set()
        self._stopping = False

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncGenerator[None]:
        settings = self._settings
        missing = unpriced(settings.rates)
        if missing:
            LOG.warning("no rate is known for %s: pi will show a cost of zero", ", ".join(missing))
        async with AsyncClient(
            api_key=settings.api_key, base_url=settings.base_url, rates=settings.rates, max_retries=0
        ) as client:
            self._client = client
            with on_termination(self._shut_down):
                yield
            self._shut_down()
            self._client = None

    def _shut_down(self) -> None:
        self._stopping = True
        for answer in self._running:
            answer.shut_down()

    async def messages(self, request: Request) -> Response | _Tracked:
        if not presents(request.headers.get("authorization", ""), self._settings.token):
            return _error(401, "unauthorized", "the token is missing or wrong: pi presents apiKey of models.json")
        if self._client is None or self._stopping:
            return _error(503, "shutting_down", SHUTTING_DOWN)
        try:
            body = await _body(request, self._settings.max_request_bytes)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is left to read it
        if body is None:
            limit = self._settings.max_request_bytes
            return _error(413, "request_too_large", f"the request is larger than {limit} bytes")
        try:
            asked = read_request(body)
        except ConfigurationError as error:
            return _error(400, "invalid_request", final_text(str(error)))
        return self._answer(self._client, asked)

    def _answer(self, client: AsyncClient, asked: PiRequest) -> Response | _Tracked:
        model = self._settings.rates.find(asked.model)
        if model is None:
            return _error(404, "unknown_model", "the rate card has no such model; GET /models.json lists them all")
        messages = asked.context.messages
        affinity = cache_key(asked.options)
        if affinity is not None:
            client = client.with_options(headers={"x-affinity": affinity})
        try:
            options = chat_options(asked.options, model, messages)
            answer = client.stream(asked.model, pi_context(messages), **options)
        except ConfigurationError as error:
            return _error(400, "invalid_request", final_text(str(error)))
        sent_effort = effort(asked.options, model)
        stream = AnswerStream(answer, model=asked.model, effort=sent_effort, heartbeat=self._settings.heartbeat)
        return _Tracked(stream, self._running)

    async def models(self, request: Request) -> Response:
        base = str(request.url.replace(query="", fragment="")).removesuffix("/models.json")
        return JSONResponse(models_json(self._settings.rates, base))


async def _health(request: Request) -> Response:
    return JSONResponse({"status": "ok", "version": __version__})


async def _body(request: Request, limit: int) -> bytes | None:
    """The body, or ``None`` when it is too large. It is read to its end, so that the client reads the answer."""
    pieces: list[bytes] = []
    size = 0
    async for piece in request.stream():
        size += len(piece)
        if size <= limit:
            pieces.append(piece)
        else:
            pieces.clear()
    return b"".join(pieces) if size <= limit else None


async def _refused(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    text = f"{error.detail}: this is POST .../messages, GET .../health and GET .../models.json"
    return _error(error.status_code, "no_route", text, headers=dict(error.headers or {}))


def _error(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> Response:
    body: dict[str, Any] = {"error": {"message": message, "code": code}}
    return JSONResponse(body, status_code=status, headers=headers)
