"""A gateway in a thread of the test, in front of an embedded Mistral, and a plain HTTP client of its protocol."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import httpx
import uvicorn

from nodrop.pi import GatewaySettings, create_app
from nodrop.testing import MistralServer

TOKEN: Final = "a-token-of-the-tests-0123456789"
MODEL: Final = "mistral-medium-latest"
JSON = dict[str, Any]


@dataclass
class Gateway:
    """``url`` is the gateway's base URL, ``mistral`` the server behind it."""

    url: str
    mistral: MistralServer
    http: httpx.Client

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {TOKEN}", "accept": "text/event-stream"}

    def post(self, body: Any, **options: Any) -> httpx.Response:
        return self.http.post(f"{self.url}/messages", json=body, **{"headers": self.headers, **options})

    def events(self, body: Any) -> list[JSON]:
        """The events of an answer, in order."""
        response = self.post(body)
        assert response.status_code == 200, response.text
        assert response.headers["content-type"].startswith("text/event-stream")
        return read_events(response.text)

    @property
    def sent(self) -> JSON:
        """The body of the last request upstream."""
        return self.mistral.requests[-1].body


def read_events(text: str) -> list[JSON]:
    """As pi reads them: per event the first ``data:`` line, one JSON object on it."""
    found: list[JSON] = []
    for block in text.split("\n\n"):
        lines = [line for line in block.split("\n") if line.startswith("data:")]
        assert len(lines) <= 1
        if lines:
            found.append(json.loads(lines[0][5:]))
    return found


@contextmanager
def running_gateway(mistral: MistralServer, **settings: Any) -> Iterator[Gateway]:
    given = GatewaySettings(token=TOKEN, api_key=mistral.api_key, base_url=mistral.url, **settings)
    config = uvicorn.Config(create_app(given), host="127.0.0.1", port=0, lifespan="on", log_config=None)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        thread.join(0.01)
        assert thread.is_alive(), "the gateway did not start"
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        with httpx.Client(timeout=30, trust_env=False) as http:
            yield Gateway(f"http://127.0.0.1:{port}", mistral, http)
    finally:
        server.should_exit = True
        thread.join(10)
        assert not thread.is_alive()


def user(text: str) -> JSON:
    return {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 1}


def assistant(*content: JSON, stop: str = "stop", **more: Any) -> JSON:
    zero = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
    return {
        "role": "assistant",
        "content": list(content),
        "api": "pi-messages",
        "provider": "nodrop",
        "model": MODEL,
        "usage": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2, "cost": zero},
        "stopReason": stop,
        "timestamp": 2,
        "durationMs": 12.5,
        "thinkingLevel": "high",
        **more,
    }


def call(call_id: str, name: str = "read", **arguments: Any) -> JSON:
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}


def result(call_id: str, text: str, *, name: str = "read", is_error: bool = False) -> JSON:
    content = [{"type": "text", "text": text}]
    return {
        "role": "toolResult",
        "toolCallId": call_id,
        "toolName": name,
        "content": content,
        "isError": is_error,
        "timestamp": 3,
    }


def ask(*messages: JSON, model: str = MODEL, **options: Any) -> JSON:
    return {"model": model, "context": {"messages": list(messages) or [user("Hi")]}, "options": options}
