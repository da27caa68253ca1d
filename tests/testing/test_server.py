"""The ordinary path: HTTP, the script, what is recorded, and the end."""

from __future__ import annotations

import gc
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from nodrop.testing import (
    MistralServer,
    RecordedRequest,
    Reply,
    UnscriptedRequestError,
    chunk,
    completion,
    finish,
    message,
    text,
    text_part,
    tool_message,
)
from tests.testing.peer import QUESTION, Peer

PATH = "/v1/chat/completions"


@pytest.fixture
def client(mistral_server: MistralServer) -> Iterator[httpx.Client]:
    headers = {"authorization": f"Bearer {mistral_server.api_key}"}
    with httpx.Client(base_url=mistral_server.url, headers=headers) as client:
        yield client


def events(body: str) -> list[Any]:
    payloads = [line.removeprefix("data: ") for line in body.split("\n") if line]
    assert payloads.pop() == "[DONE]"
    return [json.loads(payload) for payload in payloads]


# ---- the script ----


def test_a_scripted_stream(mistral_server: MistralServer, client: httpx.Client) -> None:
    mistral_server.enqueue(Reply.stream(text("Hel"), text("lo"), finish("stop")))
    response = client.post(PATH, json=QUESTION)
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert response.headers["transfer-encoding"] == "chunked"
    assert response.headers["mistral-correlation-id"] == "simulated-000000"
    assert events(response.text) == [text("Hel"), text("lo"), finish("stop")]


def test_replies_come_in_order_and_without_the_v1_too(mistral_server: MistralServer, client: httpx.Client) -> None:
    mistral_server.enqueue(Reply.error(429, "Slow down"), Reply.whole("a"))
    mistral_server.enqueue(Reply.json(200, {"b": 1}, headers={"mistral-correlation-id": "mine"}))
    assert mistral_server.pending == 3
    assert client.post(PATH, json=QUESTION).status_code == 429
    assert client.post("/chat/completions", json=QUESTION).json() == completion("a")
    last = client.post(PATH, json=QUESTION)
    assert (last.json(), last.headers["mistral-correlation-id"]) == ({"b": 1}, "mine")
    assert mistral_server.pending == 0


def test_both_forms_of_several_messages(mistral_server: MistralServer, client: httpx.Client) -> None:
    several = [message("Looking."), message("found", role="tool", tool_call_id="x"), message([text_part("So.")])]
    streamed = [text("Looking."), tool_message("found", tool_call_id="x"), chunk({"content": "So."}), finish()]
    mistral_server.enqueue(Reply.whole(messages=several), Reply.stream(*streamed))
    assert client.post(PATH, json=QUESTION).json()["choices"][0]["messages"] == several
    assert events(client.post(PATH, json=QUESTION).text) == streamed


def test_the_last_reply_can_repeat(mistral_server: MistralServer, client: httpx.Client) -> None:
    mistral_server.enqueue(Reply.json(200, 1), Reply.json(200, 2), repeat=True)
    assert [client.post(PATH, json=QUESTION).json() for _ in range(4)] == [1, 2, 2, 2]
    assert mistral_server.pending == 0
    with pytest.raises(ValueError, match="repeats"):
        mistral_server.enqueue(Reply.json(200, 3))


def test_nothing_to_repeat(mistral_server: MistralServer) -> None:
    with pytest.raises(ValueError, match="nothing to repeat"):
        mistral_server.enqueue(repeat=True)


def test_an_exhausted_script_fails_the_request_and_the_test() -> None:
    def users_test() -> None:
        with MistralServer(api_key=None) as server, httpx.Client(base_url=server.url) as client:
            server.enqueue(Reply.json(200, 1))
            assert client.post(PATH, json=QUESTION).json() == 1
            for number in (1, 2):
                failed = client.post(PATH, json=QUESTION)
                assert failed.status_code == 400
                assert failed.json()["type"] == "script_exhausted"
                assert f"request {number}" in failed.json()["message"]

    with pytest.raises(UnscriptedRequestError, match=r"request 1, 2 \(counted from 0\)"):
        users_test()


def test_the_tests_own_failure_is_not_replaced() -> None:
    def users_test() -> None:
        with MistralServer(api_key=None) as server:
            server.enqueue()
            assert httpx.post(server.url + PATH, json=QUESTION).status_code == 400
            raise KeyError

    with pytest.raises(KeyError):
        users_test()


def test_a_handler_answers_by_request(mistral_server: MistralServer, client: httpx.Client) -> None:
    mistral_server.handler = lambda request: Reply.json(200, request.body["n"] * 2)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: client.post(PATH, json={"n": n}).json(), range(40)))
    assert answers == [n * 2 for n in range(40)]
    assert sorted(request.body["n"] for request in mistral_server.requests) == list(range(40))
    for request, played in zip(mistral_server.requests, mistral_server.replies, strict=True):
        assert played.request is request
        assert played.reply is not None
        assert played.reply.body == str(request.body["n"] * 2).encode()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_exception_in_the_handler_ends_the_connection(mistral_server: MistralServer, client: httpx.Client) -> None:
    def handler(request: RecordedRequest) -> Reply:
        raise LookupError(request.number)

    mistral_server.handler = handler
    with pytest.raises(httpx.RemoteProtocolError):
        client.post(PATH, json=QUESTION)
    mistral_server.wait_for_open_connections(0)


# ---- unscripted ----


def test_unscripted_it_echoes(mistral_server: MistralServer, client: httpx.Client) -> None:
    parts = [{"type": "text", "text": "Hello"}, {"type": "image_url", "image_url": "x:y"}, text_part(" there")]
    question = {"model": "m", "messages": [{"role": "system", "content": "Be brief."}, {"content": parts}]}
    whole = client.post(PATH, json=question).json()
    assert whole["model"] == "m"
    assert whole["choices"][0]["message"]["content"] == "[simulator] You said: Hello there"
    assert whole["usage"] == {"prompt_tokens": 4, "completion_tokens": 5, "total_tokens": 9}
    streamed = events(client.post(PATH, json=question | {"stream": True}).text)
    answer = "".join(each["choices"][0]["delta"]["content"] for each in streamed)
    assert answer == whole["choices"][0]["message"]["content"]
    assert streamed[-1]["usage"] == whole["usage"]
    assert {each["model"] for each in streamed} == {"m"}


@pytest.mark.parametrize("messages", [[], "x", [1], [{"content": None}], [{"content": [1]}]])
def test_the_echo_takes_any_messages(mistral_server: MistralServer, client: httpx.Client, messages: Any) -> None:
    answer = client.post(PATH, json={"messages": messages}).json()
    assert answer["choices"][0]["message"]["content"] == "[simulator] You said: "


@pytest.mark.parametrize(
    ("method", "path"), [("GET", PATH), ("POST", "/v1/models"), ("POST", PATH + "?a=b"), ("HEAD", PATH)]
)
def test_anything_else_has_no_route(
    mistral_server: MistralServer, client: httpx.Client, method: str, path: str
) -> None:
    mistral_server.enqueue(Reply.json(200, 1))
    response = client.request(method, path)
    assert response.status_code == 404
    if method != "HEAD":
        assert response.json() == {
            "message": "no Route matched with those values",
            "request_id": "simulated-000000",
        }
    assert (mistral_server.requests[0].method, mistral_server.requests[0].path) == (method, path)
    assert client.post(PATH, json=QUESTION).json() == 1
    assert mistral_server.connections_opened == 1


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer other"}, {"authorization": "nodrop-testing-key"}])
def test_a_wrong_key_is_refused(mistral_server: MistralServer, headers: dict[str, str]) -> None:
    mistral_server.enqueue(Reply.json(200, 1))
    response = httpx.post(mistral_server.url + PATH, json=QUESTION, headers=headers)
    assert (response.status_code, response.json()) == (401, {"detail": "Invalid API Key"})
    assert mistral_server.pending == 1


def test_without_a_key_to_check_all_are_welcome() -> None:
    with MistralServer(api_key=None) as server:
        assert httpx.post(server.url + PATH, json=QUESTION).status_code == 200


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b"\xff"])
def test_a_body_that_is_no_json_object_is_refused(
    mistral_server: MistralServer, client: httpx.Client, body: bytes
) -> None:
    mistral_server.enqueue(Reply.json(200, 1))
    assert client.post(PATH, content=body).status_code == 422
    assert mistral_server.requests[0].raw_body == body
    with pytest.raises(ValueError, match=r".+"):
        _ = mistral_server.requests[0].body
    assert mistral_server.pending == 1


# ---- what is recorded ----


def test_requests_and_replies_are_recorded(mistral_server: MistralServer, client: httpx.Client) -> None:
    before = time.monotonic()
    client.post(PATH, json=QUESTION, headers=[("X-Twice", "a"), ("x-twice", "b")])
    mistral_server.enqueue(Reply.stream("é"))
    client.post(PATH, content=b'{"a": 1}')
    mistral_server.wait_until(lambda: mistral_server.replies[1].finished_at is not None)
    first, second = mistral_server.requests
    assert (first.number, second.number, first.connection, second.connection) == (0, 1, 0, 0)
    assert (first.body, first.streamed) == (QUESTION, True)
    assert (second.raw_body, second.streamed) == (b'{"a": 1}', False)
    assert first.headers["x-twice"] == "a, b"
    assert mistral_server.api_key is not None
    assert mistral_server.api_key in first.headers["authorization"]
    assert before < first.at < second.at < time.monotonic()
    played = mistral_server.replies[1]
    assert played.reply is not None
    assert played.bytes_sent == played.reply.size == len("data: é\n\ndata: [DONE]\n\n".encode())
    assert played.client_closed_at is None


def test_the_key_and_the_prompt_are_in_no_repr(mistral_server: MistralServer, client: httpx.Client) -> None:
    client.post(PATH, json={"messages": [{"content": "marker-of-the-prompt"}]})
    seen = repr(mistral_server.replies) + repr(mistral_server.requests)
    assert "RecordedRequest" in seen
    assert str(mistral_server.api_key) not in seen
    assert "marker-of-the-prompt" not in seen


def test_connections_are_kept_alive_and_counted(mistral_server: MistralServer, client: httpx.Client) -> None:
    for _ in range(3):
        client.post(PATH, json=QUESTION)
    assert (mistral_server.connections_opened, mistral_server.open_connections) == (1, 1)
    with Peer(mistral_server):
        mistral_server.wait_for_open_connections(2)
    mistral_server.wait_for_open_connections(1)
    client.close()
    mistral_server.wait_for_open_connections(0)
    assert mistral_server.connections_opened == 2


def test_waiting_for_what_does_not_come(mistral_server: MistralServer) -> None:
    with pytest.raises(TimeoutError, match=r"3 open connections did not come within 0\.01 s"):
        mistral_server.wait_for_open_connections(3, timeout=0.01)
    with pytest.raises(TimeoutError, match="2 requests"):
        mistral_server.wait_for_requests(2, timeout=0.01)
    with pytest.raises(TimeoutError, match="7 bytes of reply 0"):
        mistral_server.wait_for_bytes(7, timeout=0.01)


# ---- HTTP ----


def test_a_chunked_request_body(mistral_server: MistralServer, client: httpx.Client) -> None:
    client.post(PATH, content=iter([b'{"a"', b": 1}"]))
    assert mistral_server.requests[0].body == {"a": 1}


def test_an_http10_client(mistral_server: MistralServer) -> None:
    with Peer(mistral_server) as peer:
        peer.send(b"GET / HTTP/1.0\r\n\r\n")
        answer, end = peer.read_to_end()
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert end == "eof"


def test_expect_100_continue(mistral_server: MistralServer) -> None:
    with Peer(mistral_server) as peer:
        peer.send(b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert peer.read_head().startswith(b"HTTP/1.1 100 ")
        peer.send(b"{}")
        assert peer.read_head().startswith(b"HTTP/1.1 404 ")


def test_pipelined_requests_are_answered_in_order(mistral_server: MistralServer) -> None:
    mistral_server.enqueue(Reply.stream("a", "b", delay=0.01), Reply.stream("c"))
    with Peer(mistral_server) as peer:
        peer.ask()
        peer.ask()
        for payloads in (["a", "b", "[DONE]"], ["c", "[DONE]"]):
            peer.read_head()
            assert peer.read_chunks() == [f"data: {payload}\n\n".encode() for payload in payloads]


def test_what_is_no_http_gets_400(mistral_server: MistralServer) -> None:
    with Peer(mistral_server) as peer:
        peer.send(b"\x16\x03\x01 hello\r\n\r\n")
        answer, _ = peer.read_to_end()
    assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert mistral_server.requests == []
    mistral_server.wait_for_open_connections(0)


def test_half_a_request_is_none(mistral_server: MistralServer) -> None:
    with Peer(mistral_server) as peer:
        peer.send(f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{{".encode())
        mistral_server.wait_for_open_connections(1)
    mistral_server.wait_for_open_connections(0)
    assert mistral_server.requests == []


# ---- the end ----


def descriptors() -> int:
    folder = Path(f"/proc/{os.getpid()}/fd")
    if not folder.exists():
        pytest.skip("needs /proc")
    gc.collect()  # what earlier tests left to the collector is not ours
    return len(list(folder.iterdir()))


def test_it_listens_on_loopback_only(mistral_server: MistralServer) -> None:
    assert mistral_server.url == f"http://127.0.0.1:{mistral_server.port}"


def test_closing_leaves_no_thread_and_no_file_descriptor() -> None:
    before, threads = descriptors(), threading.active_count()
    with MistralServer() as server, Peer(server) as idle, Peer(server) as asking:
        asking.ask()
        asking.read_head()
        asking.read_chunks()
        server.wait_for_open_connections(2)
        server.close()
        assert idle.read_to_end() == (b"", "eof")
        assert asking.read_to_end() == (b"", "eof")
        server.close()
    assert threading.active_count() == threads
    assert descriptors() == before
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port))


def test_connections_that_end_leave_no_thread_and_no_file_descriptor(mistral_server: MistralServer) -> None:
    def connect(times: int) -> None:
        for _ in range(times):
            with Peer(mistral_server) as peer:
                peer.ask()
                peer.read_head()
        mistral_server.wait_for_open_connections(0)

    connect(1)  # what a first connection opens for good is no leak
    before, threads = descriptors(), threading.active_count()
    connect(20)
    assert threading.active_count() <= threads
    assert descriptors() <= before


def test_a_handler_that_blocks_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodrop.testing.server._JOIN_SECONDS", 0.01)
    release = threading.Event()

    def handler(_: RecordedRequest) -> Reply:
        release.wait()
        return Reply.stream()

    server = MistralServer(handler=handler)
    with Peer(server) as peer:
        peer.ask()
        server.wait_for_requests(1)
        with pytest.raises(RuntimeError, match="still running"):
            server.close()
        release.set()
        monkeypatch.undo()
        server.close()
        assert peer.read_to_end() == (b"", "eof")
