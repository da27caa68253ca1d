"""``nodrop serve`` as a process: the token, the bind, workers, the end, and where the key never shows."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import httpx
import pytest

from nodrop.testing import MistralServer, Reply, Stall, finish, start, text
from tests.pi.gateway import TOKEN, ask, read_events

KEY: Final = "the-mistral-key-of-this-test"


@dataclass
class Process:
    process: subprocess.Popen[str]
    url: str
    lines: list[str]
    ended: str = field(default="", init=False)

    def stop(self) -> int:
        """Ends it as a service manager would; gives the exit status and keeps all that it wrote."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=20)
        self.ended = "".join(self.lines) + out + err
        return self.process.returncode


def environment(mistral: MistralServer, token: str | None) -> dict[str, str]:
    mistral.api_key = KEY
    base = {name: value for name, value in os.environ.items() if name != "NODROP_TOKEN"}
    own = {"MISTRAL_API_KEY": KEY, "MISTRAL_BASE_URL": mistral.url, "NO_PROXY": "127.0.0.1"}
    return {**base, **own, **({} if token is None else {"NODROP_TOKEN": token})}


@contextmanager
def serving(mistral: MistralServer, *arguments: str, token: str | None = TOKEN) -> Iterator[Process]:
    command = [sys.executable, "-m", "nodrop.cli", "serve", "--port", "0", *arguments]
    process = subprocess.Popen(
        command,
        env=environment(mistral, token),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert process.stdout is not None
    lines = [process.stdout.readline(), process.stdout.readline()]
    if token is None:
        lines.append(process.stdout.readline())
    running = Process(process, lines[0].split()[2], lines)
    try:
        yield running
    finally:
        running.stop()


def failed(mistral: MistralServer, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nodrop.cli", "serve", "--port", "0", *arguments]
    settings: Mapping[str, str] = {**environment(mistral, TOKEN), **more}
    return subprocess.run(command, env=settings, capture_output=True, text=True, timeout=60, check=False)


def test_a_token_is_made_printed_and_handed_to_the_workers(mistral_server: MistralServer) -> None:
    with serving(mistral_server, "--workers", "2", token=None) as gateway:
        token = gateway.lines[2].strip().removeprefix("export NODROP_TOKEN=")
        assert len(token) >= 32
        with httpx.Client(timeout=30, trust_env=False) as http:
            for given, status in ((token, 200), (TOKEN, 401)):
                headers = {"authorization": f"Bearer {given}"}
                response = http.post(f"{gateway.url}/messages", json=ask(), headers=headers)
                assert response.status_code == status
    assert token not in gateway.ended.replace(gateway.lines[2], "")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_shutdown_ends_streams_with_an_error_that_pi_retries(mistral_server: MistralServer, workers: str) -> None:
    reply = Reply.stream(start(), text("so far"), text("never"), finish())
    mistral_server.enqueue(reply.with_faults(Stall(at=sum(len(part) for part in reply.parts[:2]))))
    with serving(mistral_server, "--workers", workers) as gateway, httpx.Client(timeout=30, trust_env=False) as http:
        headers = {"authorization": f"Bearer {TOKEN}"}
        with http.stream("POST", f"{gateway.url}/messages", json=ask(), headers=headers) as response:
            blocks = response.iter_text()
            seen = next(blocks)
            while "so far" not in seen:
                seen += next(blocks)
            began = time.monotonic()
            gateway.process.send_signal(signal.SIGTERM)
            seen += "".join(blocks)
        assert time.monotonic() - began < 3
        last = read_events(seen)[-1]
        assert last["type"] == "error"
        assert last["reason"] == "error"
        assert "service unavailable" in last["errorMessage"]
        mistral_server.wait_for_open_connections(0)
        gateway.process.wait(10)


def test_the_key_and_the_token_never_show(mistral_server: MistralServer) -> None:
    mistral_server.enqueue(
        Reply.json(401, {"detail": "Invalid API Key"}),
        Reply.error(500, "boom"),
        Reply.stream(start(), text("ok"), finish()),
    )
    seen = ""
    with serving(mistral_server) as gateway, httpx.Client(timeout=30, trust_env=False) as http:
        for headers in ({"authorization": f"Bearer {TOKEN}"},) * 3 + ({"authorization": "Bearer wrong"},):
            response = http.post(f"{gateway.url}/messages", json=ask(), headers=headers)
            seen += response.text + str(response.headers)
        for path in ("/health", "/models.json", "/nothing"):
            response = http.get(gateway.url + path)
            seen += response.text + str(response.headers)
    assert "mistral-medium-latest stop in" in gateway.ended, "the log is on"
    for secret in (KEY, TOKEN):
        assert secret not in seen
        assert secret not in gateway.ended


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.invalid"])
def test_other_than_loopback_needs_the_flag(mistral_server: MistralServer, host: str) -> None:
    done = failed(mistral_server, "--host", host)
    assert done.returncode == 2
    assert "--allow-remote" in done.stderr


def test_with_the_flag_it_binds_elsewhere(mistral_server: MistralServer) -> None:
    with serving(mistral_server, "--host", "0.0.0.0", "--allow-remote") as gateway:
        port = gateway.url.rpartition(":")[2]
        assert httpx.get(f"http://127.0.0.1:{port}/health", trust_env=False).status_code == 200


@pytest.mark.parametrize(
    ("arguments", "variables", "said"),
    [
        ((), {"MISTRAL_API_KEY": ""}, "MISTRAL_API_KEY"),
        ((), {"NODROP_TOKEN": "short"}, "NODROP_TOKEN"),
        (("--workers", "0"), {}, "--workers"),
        (("--heartbeat", "0"), {}, "NODROP_PI_HEARTBEAT"),
        (("--rates", "/nowhere.toml"), {}, "/nowhere.toml"),
        (("--port", "99999"), {}, "99999"),
    ],
)
def test_mistakes_are_one_line(
    mistral_server: MistralServer, arguments: tuple[str, ...], variables: dict[str, str], said: str
) -> None:
    done = failed(mistral_server, *arguments, **variables)
    assert done.returncode == 2
    assert done.stderr.startswith("nodrop: ")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def bare(mistral: MistralServer, token: str | None, port: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "uvicorn", "nodrop.pi.asgi:app", "--port", port]
    return subprocess.Popen(
        command,
        env=environment(mistral, token),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def test_the_bare_app_refuses_to_start_without_a_token(mistral_server: MistralServer) -> None:
    process = bare(mistral_server, None, "0")
    _, err = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "no token: set NODROP_TOKEN" in err


def test_the_bare_app_under_another_server(mistral_server: MistralServer) -> None:
    """Its shutdown too: the server alone would wait for the stream."""
    reply = Reply.stream(start(), text("so far"), text("never"), finish())
    mistral_server.enqueue(reply.with_faults(Stall(at=sum(len(part) for part in reply.parts[:2]))))
    process = bare(mistral_server, TOKEN, "0")
    try:
        assert process.stderr is not None
        while "running on" not in (line := process.stderr.readline()):
            assert line, "it ended"
        url = line.partition("running on ")[2].split()[0]
        headers = {"authorization": f"Bearer {TOKEN}"}
        with httpx.Client(timeout=30, trust_env=False) as http:
            with http.stream("POST", f"{url}/messages", json=ask(), headers=headers) as response:
                blocks = response.iter_text()
                seen = ""
                while "so far" not in seen:
                    seen += next(blocks)
                process.terminate()
                seen += "".join(blocks)
        assert read_events(seen)[-1]["type"] == "error"
        process.communicate(timeout=10)
    finally:
        process.kill()
        process.communicate()
