"""The fixture as a user's tests see it, in a pytest of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

USERS_TESTS = """
import urllib.request
import pytest
from nodrop.testing import Reply

def post(server):
    request = urllib.request.Request(server.url + "/v1/chat/completions", b"{}")
    request.add_header("authorization", f"Bearer {server.api_key}")
    with urllib.request.urlopen(request) as response:
        return response.read()

def test_answered(mistral_server):
    mistral_server.enqueue(Reply.json(200, 1))
    assert post(mistral_server) == b"1"

def test_another_server(mistral_server):
    assert mistral_server.requests == []

def test_unscripted(mistral_server):
    mistral_server.enqueue()
    with pytest.raises(OSError, match="400"):
        post(mistral_server)
"""


def test_the_fixture_is_there_by_itself(tmp_path: Path) -> None:
    (tmp_path / "test_users.py").write_text(USERS_TESTS, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "3 passed, 1 error" in run.stdout, run.stdout + run.stderr
    assert "UnscriptedRequestError: the script had no reply for request 0" in run.stdout


def test_loading_it_loads_no_http_client_and_no_models() -> None:
    program = (
        "import sys; import nodrop.testing.pytest_plugin;"
        "print(sorted({'httpx', 'httpx2', 'pydantic', 'asyncio', 'ssl'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout == "[]\n"
