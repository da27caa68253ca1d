"""Runs the real pi, headless and apart from everything else here: own home, own folder, no network but loopback."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from tests.pi.gateway import MODEL, TOKEN, Gateway
from tests.pi.install_pi import CLI, missing, node_folder

JSON = dict[str, Any]
SECONDS: Final = 60.0

# Fast retries, and compaction of even a short history.
SETTINGS: Final[JSON] = {
    "retry": {"enabled": True, "maxRetries": 3, "baseDelayMs": 50},
    "compaction": {"enabled": True, "keepRecentTokens": 200},
}


def require_pi() -> None:
    """Skips without a real pi; where ``NODROP_REQUIRE_PI=1`` is set (.ci/run), that is a failure."""
    reason = missing()
    if reason is None:
        return
    if os.environ.get("NODROP_REQUIRE_PI") == "1":
        pytest.fail(f"the real pi is required here: {reason}")
    pytest.skip(f"the real pi is not here: {reason}")


@dataclass
class Pi:
    """``home`` is a fresh folder. ``models`` is pi's models.json; by default what the gateway hands out."""

    home: Path
    gateway: Gateway
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    change_models: Callable[[JSON], None] | None = None
    environment: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        self.agent = self.home / "agent"
        self.folder = self.home / "work"
        for folder in (self.agent, self.folder):
            folder.mkdir(parents=True, exist_ok=True)
        models = self.gateway.http.get(f"{self.gateway.url}/pi/models.json").json()
        if self.change_models is not None:
            self.change_models(models)
        (self.agent / "models.json").write_text(json.dumps(models))
        (self.agent / "settings.json").write_text(json.dumps({**SETTINGS, **self.settings}))

    def _start(self, arguments: Sequence[str], *, stdin: int, model: str) -> subprocess.Popen[str]:
        node = node_folder()
        assert node is not None
        environment = {
            "PATH": f"{node / 'bin'}:/usr/bin:/bin",
            "HOME": str(self.home),
            "PI_CODING_AGENT_DIR": str(self.agent),
            "PI_OFFLINE": "1",
            "PI_TELEMETRY": "0",
            "NODROP_TOKEN": TOKEN,
            **self.environment,
        }
        command = [str(node / "bin" / "node"), str(CLI), "--model", f"nodrop/{model}", *arguments]
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def print(self, prompt: str, *arguments: str, model: str = MODEL) -> subprocess.CompletedProcess[str]:
        """Print mode: the answer's text on stdout."""
        return self._whole(["--no-session", *arguments, "--print", prompt], model)

    def events(self, prompt: str, *arguments: str, model: str = MODEL) -> list[JSON]:
        """JSON mode: every event of the run, to ``agent_settled``."""
        done = self._whole(["--no-session", "--mode", "json", *arguments, prompt], model)
        assert done.returncode == 0, done.stderr
        found = [json.loads(line) for line in done.stdout.split("\n") if line]
        assert found[-1]["type"] == "agent_settled", (found[-1], done.stderr)
        return found

    def _whole(self, arguments: Sequence[str], model: str) -> subprocess.CompletedProcess[str]:
        process = self._start(arguments, stdin=subprocess.DEVNULL, model=model)
        try:
            out, err = process.communicate(timeout=SECONDS)
        finally:
            process.kill()
            process.wait()
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    @contextmanager
    def rpc(self, *arguments: str, model: str = MODEL) -> Iterator[Rpc]:
        """RPC mode: commands in, events out."""
        process = self._start(["--mode", "rpc", *arguments], stdin=subprocess.PIPE, model=model)
        session = Rpc(process)
        try:
            yield session
        finally:
            process.kill()
            process.wait()
            session.reader.join(5)
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()


class Rpc:
    """A pi in RPC mode. ``seen`` holds every line that it wrote."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.seen: list[JSON] = []
        self._lines: queue.Queue[JSON] = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.strip():
                self._lines.put(json.loads(line))

    def send(self, kind: str, **fields: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"type": kind, **fields}) + "\n")
        self.process.stdin.flush()

    def wait_for(self, kind: str, accept: Callable[[JSON], bool] = lambda _: True, seconds: float = SECONDS) -> JSON:
        """The next line of this type that ``accept`` takes."""
        end = time.monotonic() + seconds
        while True:
            try:
                line = self._lines.get(timeout=max(end - time.monotonic(), 0.01))
            except queue.Empty:
                kinds = [seen["type"] for seen in self.seen[-20:]]
                raise TimeoutError(f"no {kind} within {seconds} s; the last lines were {kinds}") from None
            self.seen.append(line)
            if line["type"] == kind and accept(line):
                return line

    def ask(self, kind: str, **fields: Any) -> Any:
        """Sends a command and gives the data of its response."""
        self.send(kind, **fields)
        response = self.wait_for("response", lambda line: line.get("command") == kind)
        assert response["success"], response
        return response.get("data")

    def prompt(self, text: str, **fields: Any) -> list[JSON]:
        """Asks, waits until the agent has settled, and gives the lines in between."""
        before = len(self.seen)
        self.send("prompt", message=text, **fields)
        self.wait_for("agent_settled")
        return self.seen[before:]


def updates(events: Sequence[JSON], kind: str) -> list[JSON]:
    """The streamed updates of one kind (``text_delta``, ``thinking_delta``, ...)."""
    found = [event["assistantMessageEvent"] for event in events if event["type"] == "message_update"]
    return [update for update in found if update["type"] == kind]


def messages(events: Sequence[JSON], role: str = "assistant") -> list[JSON]:
    """The finished messages of a role, in order."""
    return [event["message"] for event in events if event["type"] == "message_end" and event["message"]["role"] == role]


def text_of(message: JSON) -> str:
    return "".join(block["text"] for block in message["content"] if block["type"] == "text")
