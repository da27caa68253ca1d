"""What a client is told: key, address, environment, headers; what it refuses; pickling, forks, threads, injection."""

from __future__ import annotations

import copy
import os
import pickle
import platform
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any

import httpx
import httpx2
import pytest

import nodrop
from nodrop.testing import MistralServer, Reply, Stall, finish, start, text
from tests.client.harness import KEY, Side

WHOLE = Reply.stream(start(), text("Hello"), finish())


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MISTRAL_API_KEY", "MISTRAL_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


CLIENTS = [nodrop.Client, nodrop.AsyncClient]


@pytest.mark.parametrize("cls", CLIENTS)
def test_no_key(cls: Any) -> None:
    with pytest.raises(nodrop.ConfigurationError, match="MISTRAL_API_KEY"):
        cls()


@pytest.mark.parametrize("cls", CLIENTS)
@pytest.mark.parametrize("key", ["", "  ", "\n", "a b", "a\nb", 'a"é', "“quoted”"])
def test_a_key_that_is_none(cls: Any, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for given in ({"api_key": key}, {}):
        if not given:
            monkeypatch.setenv("MISTRAL_API_KEY", key)
        with pytest.raises(nodrop.ConfigurationError) as caught:
            cls(**given)
        assert ("api_key" if given else "MISTRAL_API_KEY") in str(caught.value)
        assert key.strip() not in str(caught.value) or not key.strip()


async def test_the_key_of_the_environment_without_its_line_end(
    side: Side, server: MistralServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.enqueue(WHOLE, repeat=True)
    monkeypatch.setenv("MISTRAL_API_KEY", f"{KEY}\n")
    monkeypatch.setenv("MISTRAL_BASE_URL", server.url + "/v1/")
    async with side.client("http://127.0.0.1:1", api_key=None, base_url=None) as client:
        assert (await client.ask()).text == "Hello"
    monkeypatch.setenv("MISTRAL_API_KEY", "another")
    monkeypatch.setenv("MISTRAL_BASE_URL", "http://127.0.0.1:1")
    async with side.client(server) as client:  # an argument wins
        assert (await client.ask()).text == "Hello"


async def test_a_key_of_the_environment_that_is_refused_is_named(
    side: Side, server: MistralServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", "another")
    async with side.client(server, api_key=None) as client:
        outcome = await client.ask()
    assert isinstance(outcome.error, nodrop.AuthenticationError)
    assert str(outcome.error).endswith("; the key is that of MISTRAL_API_KEY")
    async with side.client(server, api_key="another") as client:
        assert "MISTRAL_API_KEY" not in str((await client.ask()).error)


def test_another_key_is_not_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", "one")
    with nodrop.Client() as client:
        assert client._options.key_variable == "MISTRAL_API_KEY"
        assert client.with_options(max_retries=0)._options.key_variable == "MISTRAL_API_KEY"
        assert client.with_options(api_key="two")._options.key_variable == ""


WRONG_KINDS: dict[str, Any] = {
    "api_key": 5,
    "base_url": 5,
    "timeouts": 30,
    "max_retries": "2",
    "max_retry_delay": "2",
    "headers": ["a"],
    "rates": {"a": 1},
    "unknown_fields": ["keep"],
    "max_event_bytes": "1024",
    "on_retry": "print",
}


@pytest.mark.parametrize("cls", CLIENTS)
@pytest.mark.parametrize(("name", "value"), WRONG_KINDS.items(), ids=WRONG_KINDS.keys())
def test_an_option_of_the_wrong_kind_is_named(cls: Any, name: str, value: object) -> None:
    with pytest.raises(nodrop.ConfigurationError, match=name):
        cls(**{"api_key": KEY} | {name: value})


def test_every_option_has_such_a_test() -> None:
    assert WRONG_KINDS.keys() == nodrop.ClientSettings.__annotations__.keys()


@pytest.mark.parametrize("headers", [{"a": 1}, {1: "a"}, "a: b"])
def test_headers_that_are_no_strings(headers: Any) -> None:
    with pytest.raises(nodrop.ConfigurationError, match="headers is a mapping"):
        nodrop.Client(api_key=KEY, headers=headers)


async def test_a_signal_of_the_wrong_kind_is_named(side: Side, server: MistralServer) -> None:
    async with side.client(server) as client:
        with pytest.raises(nodrop.ConfigurationError, match="signal is an AbortSignal, not int"):
            await client.ask(signal=5)
    assert not server.requests


def test_the_environment_is_not_read_at_import() -> None:
    code = (
        "import os, nodrop; nodrop.Client\n"
        "os.environ['MISTRAL_API_KEY'] = 'later'; os.environ['MISTRAL_BASE_URL'] = 'http://127.0.0.1:1'\n"
        "client = nodrop.Client(); assert client._options.api_key == 'later'; print(client); client.close()"
    )
    environment = {**os.environ, "MISTRAL_API_KEY": "early", "MISTRAL_BASE_URL": "https://early.invalid"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "Client(base_url='http://127.0.0.1:1')\n"


@pytest.mark.parametrize("tail", ["", "/", "/v1", "/v1/", "/v1/chat/completions"])
async def test_forms_of_the_address(side: Side, server: MistralServer, tail: str) -> None:
    server.enqueue(WHOLE)
    async with side.client(server.url + tail) as client:
        assert (await client.ask()).text == "Hello"
    assert server.requests[0].path == "/v1/chat/completions"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.mistral.ai",
        "ftp://host",
        "http://",
        "http://host:x",
        "http://a b/",
        "http://u:p@h",
        "http://h/?a=1",
        "//h",
    ],
)
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(nodrop.ConfigurationError, match="base_url"):
        nodrop.Client(api_key=KEY, base_url=url)


WRONG: list[tuple[Mapping[str, Any], str]] = [
    ({"max_retries": -1}, "max_retries"),
    ({"max_retries": 1.5}, "max_retries"),
    ({"max_retries": True}, "max_retries"),
    ({"max_retry_delay": 0}, "max_retry_delay"),
    ({"timeouts": nodrop.Timeouts(connect=0)}, "timeouts.connect"),
    ({"timeouts": nodrop.Timeouts(silence=float("nan"))}, "timeouts.silence"),
    ({"timeouts": nodrop.Timeouts(total=-1)}, "timeouts.total"),
    ({"headers": {"Authorization": "Bearer x"}}, "api_key"),
    ({"headers": {"x": "a\r\nb: c"}}, "header"),
    ({"headers": {"a b": "c"}}, "header"),
    ({"unknown_fields": "drop"}, "unknown_fields"),
    ({"max_event_bytes": 10}, "max_event_bytes"),
    ({"max_retrys": 3}, "did you mean 'max_retries'"),
    ({"timeout": 3}, "did you mean 'timeouts'"),
]


@pytest.mark.parametrize(("setting", "named"), WRONG, ids=[str(setting) for setting, _ in WRONG])
def test_a_setting_that_is_wrong(setting: Mapping[str, Any], named: str) -> None:
    with pytest.raises(nodrop.ConfigurationError, match=named.replace(".", r"\.")):
        nodrop.Client(**{"api_key": KEY, **setting})
    with nodrop.Client(api_key=KEY) as client, pytest.raises(nodrop.ConfigurationError):
        client.with_options(**setting)


async def test_headers(side: Side, server: MistralServer) -> None:
    server.enqueue(WHOLE, Reply.whole("Hello"), WHOLE)
    async with side.client(server, headers={"X-Team": "blue"}) as client:
        await client.ask()
        await client.complete()
        raw = client.raw.with_options(headers={"x-more": "1", "user-agent": "mine/1"})
        await type(client)(raw, side).ask()
    streamed, whole, more = (request.headers for request in server.requests)
    module = {"httpx": httpx, "httpx2": httpx2}[side.family]
    agent = f"nodrop/{nodrop.__version__} python/{platform.python_version()} {side.family}/{module.__version__}"
    assert streamed["user-agent"] == whole["user-agent"] == agent
    assert streamed["accept"] == "text/event-stream"
    assert streamed["accept-encoding"] == "identity"
    assert whole["accept"] == "application/json"
    assert streamed["content-type"] == whole["content-type"] == "application/json"
    assert streamed["authorization"] == f"Bearer {KEY}"
    assert streamed["x-team"] == whole["x-team"] == more["x-team"] == "blue"
    assert (more["x-more"], more["user-agent"]) == ("1", "mine/1")
    assert server.requests[0].streamed
    assert "stream" not in server.requests[1].body


async def test_with_options_shares_the_connections(side: Side, server: MistralServer) -> None:
    server.enqueue(WHOLE, Reply.error(500, "No"), WHOLE)
    async with side.client(server) as client:
        await client.ask()
        changed = type(client)(client.raw.with_options(max_retries=0), side)
        assert (await changed.ask()).reason == "error"
        await changed.close()  # the connections are not its own
        with pytest.raises(nodrop.ConfigurationError, match="closed"):
            changed.stream()
        assert (await client.ask()).text == "Hello"
        later = type(client)(client.raw.with_options(max_retries=0), side)
        begun_late = client.stream()
        await client.close()
        for closed in (client, later):
            with pytest.raises(nodrop.ConfigurationError, match="closed"):
                closed.stream()
        assert [event.type async for event in begun_late] == ["error"]
        assert begun_late.message.stop_reason == "aborted"
    assert server.connections_opened == 1


async def test_an_injected_client_is_never_closed(side: Side, server: MistralServer) -> None:
    server.enqueue(WHOLE, repeat=True)
    http = side.http(headers={"x-of-the-caller": "1"})
    for _ in range(2):
        async with side.client(server, http_client=http) as client:
            assert (await client.ask()).text == "Hello"
    assert not http.is_closed
    assert server.requests[1].headers["x-of-the-caller"] == "1"
    stream = client.raw  # ours is closed, the caller's is not
    with pytest.raises(nodrop.ConfigurationError, match="closed"):
        stream.stream("mistral-test", "Hi")
    await side.close(http)


async def test_an_injected_client_that_its_owner_closed(side: Side, server: MistralServer) -> None:
    http = side.http()
    async with side.client(server, http_client=http) as client:
        begun_late = client.stream()
        await side.close(http)
        with pytest.raises(nodrop.ConfigurationError, match="HTTP client is closed"):
            client.stream()
        with pytest.raises(nodrop.ConfigurationError, match="HTTP client is closed"):
            await anext(begun_late)


@pytest.mark.parametrize("cls", CLIENTS)
@pytest.mark.parametrize("http", [object(), "client", httpx, 1])
def test_what_is_no_http_client(cls: Any, http: Any) -> None:
    with pytest.raises(TypeError, match="http_client must be an httpx"):
        cls(api_key=KEY, http_client=http)


async def test_the_other_kind_of_http_client(side: Side) -> None:
    other = Side(side.family, not side.is_async).http()
    cls: Any = nodrop.AsyncClient if side.is_async else nodrop.Client
    with pytest.raises(TypeError, match=f"not {type(other).__name__}"):
        cls(api_key=KEY, http_client=other)


async def test_proxies_are_the_callers(side: Side, server: MistralServer) -> None:
    """The embedded Mistral plays the proxy: it is asked for the whole address."""
    module: Any = {"httpx": httpx, "httpx2": httpx2}[side.family]
    http = side.http(proxy=module.Proxy(server.url, headers={"proxy-authorization": "Basic secret"}))
    async with side.client("http://mistral.invalid", http_client=http) as client:
        outcome = await client.ask()
    await side.close(http)
    assert server.requests[0].path == "http://mistral.invalid/v1/chat/completions"
    assert isinstance(outcome.error, nodrop.NotFoundError)  # its own script answers paths only


@pytest.mark.parametrize("cls", CLIENTS)
def test_pickling_and_copying_are_refused(cls: Any) -> None:
    client = cls(api_key=KEY)
    stream = client.stream("mistral-test", "Hi")
    for thing in (client, client._options, stream, stream._driver._outgoing, nodrop.AbortSignal()):
        for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match=r"pickle|generator|process"):
                attempt(thing)
        assert KEY not in repr(thing)


def _in_a_fork(task: Any) -> str:
    """What a forked child says, in one line."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = task()
        except BaseException as error:  # noqa: BLE001 - the child must end here, and tell
            said = f"{type(error).__name__}: {error}"
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        answer = pipe.read().decode()
    os.waitpid(child, 0)
    return answer


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_after_a_fork_the_child_touches_nothing(server: MistralServer) -> None:
    go_on = threading.Event()
    size = len(b"".join(WHOLE.parts[:2]))
    server.enqueue(WHOLE, WHOLE.with_faults(Stall(at=size, until=go_on, seconds=5.0)))
    client = nodrop.Client(api_key=KEY, base_url=server.url)
    idle = client.stream("mistral-test", "Hi")
    assert list(idle)[-1].type == "done"
    stream = client.stream("mistral-test", "Hi")
    seen = [next(stream)]

    def ask() -> str:
        return client.complete("mistral-test", "Hi").text

    def read_on() -> str:
        return str(next(stream))

    def leave() -> str:
        with client, stream:
            pass
        stream.abort()
        stream.__del__()
        return "left"

    assert "ConfigurationError: " in _in_a_fork(ask)
    assert "before the process forked" in _in_a_fork(ask)
    assert "before the process forked" in _in_a_fork(read_on)
    assert _in_a_fork(leave) == "left"
    go_on.set()
    seen += list(stream)  # the parent's answer is whole: nobody shut its socket down
    assert (stream.message.text, stream.message.stop_reason) == ("Hello", "stop")
    client.close()


def test_one_client_in_many_threads(server: MistralServer) -> None:
    server.enqueue(WHOLE, repeat=True)
    texts: list[str] = []
    with nodrop.Client(api_key=KEY, base_url=server.url) as client:
        threads = [
            threading.Thread(target=lambda: texts.append(client.complete("mistral-test", "Hi").text)) for _ in range(16)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert texts == ["Hello"] * 16


def test_a_callback_that_would_have_to_be_awaited_is_refused() -> None:
    async def tell(notice: nodrop.RetryNotice) -> None:
        del notice

    given: Any = tell
    with pytest.raises(nodrop.ConfigurationError, match="would never run"):
        nodrop.Client(api_key=KEY, on_retry=given)


async def test_the_wire_level_takes_a_request(side: Side, server: MistralServer) -> None:
    async with side.client(server) as client:
        for wrong in ({"model": "m", "messages": []}, None):
            with pytest.raises(nodrop.ConfigurationError, match=r"takes a nodrop\.wire\.ChatCompletionRequest"):
                client.wire_stream(wrong)
