"""200 streams at once through one gateway process: nothing stalls, nothing crosses over, memory stays flat."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import httpx
import pytest

from nodrop.testing import MistralServer, RecordedRequest, Reply, finish, text, usage
from tests.pi.gateway import MODEL, TOKEN, ask, read_events, user

STREAMS: Final = 200
DELTAS: Final = 40
_PAUSE: Final = 0.05


def marked(request: RecordedRequest) -> Reply:
    """Each answer repeats the marker of its own request, delta by delta."""
    marker = request.body["messages"][-1]["content"][0]["text"]
    items = [text(f"{marker}.{number} ") for number in range(DELTAS)]
    return Reply.stream(*items, finish("stop", usage=usage(7, DELTAS), model=MODEL), delay=_PAUSE)


@pytest.fixture
def mistral() -> Iterator[MistralServer]:
    with MistralServer(handler=marked) as server:
        yield server


def memory_mib(pid: int) -> float:
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


async def one(http: httpx.AsyncClient, url: str, marker: str) -> tuple[float, float]:
    """The seconds to the first delta, and the longest silence between two blocks."""
    began = last = time.monotonic()
    first = gap = 0.0
    body = bytearray()
    headers = {"authorization": f"Bearer {TOKEN}"}
    async with http.stream("POST", f"{url}/messages", json=ask(user(marker)), headers=headers) as response:
        assert response.status_code == 200
        async for block in response.aiter_raw():
            now = time.monotonic()
            if b"text_delta" in body:
                gap = max(gap, now - last)
            elif b"text_delta" in block:
                first = now - began
            last = now
            body += block
    events = read_events(body.decode())
    said = "".join(event["delta"] for event in events if event["type"] == "text_delta")
    assert said == "".join(f"{marker}.{number} " for number in range(DELTAS))
    assert events[-1]["type"] == "done"
    return first, gap


async def wave(url: str, name: str) -> tuple[float, float]:
    """All streams at once; the worst of each."""
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(timeout=60, limits=limits, trust_env=False) as http:
        found = await asyncio.gather(*(one(http, url, f"{name}-{number}") for number in range(STREAMS)))
    return max(first for first, _ in found), max(gap for _, gap in found)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the memory of a process from /proc")
def test_two_hundred_streams(mistral: MistralServer, capsys: pytest.CaptureFixture[str]) -> None:
    environment = {
        **os.environ,
        "MISTRAL_API_KEY": str(mistral.api_key),
        "MISTRAL_BASE_URL": mistral.url,
        "NODROP_TOKEN": TOKEN,
        "NO_PROXY": "127.0.0.1",
    }
    command = [sys.executable, "-m", "nodrop.cli", "serve", "--port", "0"]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, encoding="utf-8"
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().split()[2]
        asyncio.run(wave(url, "warm-up"))
        before = memory_mib(process.pid)
        measured = [asyncio.run(wave(url, f"wave{number}")) for number in range(3)]
        after = memory_mib(process.pid)
    finally:
        process.terminate()
        process.communicate(timeout=20)
    first, gap = max(found[0] for found in measured), max(found[1] for found in measured)
    with capsys.disabled():
        print(
            f"\n  {STREAMS} streams: first delta after {first:.2f} s at most, longest silence {gap:.2f} s, "
            f"memory {before:.0f} -> {after:.0f} MiB over three more waves"
        )
    # The machine is shared and the server and the load share its cores: a stall would be far longer than this.
    assert gap < 3.0
    assert after - before < 20
