"""Runs the coroutine tests of this directory on every side, and checks that each leaves nothing behind."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nodrop.testing import MistralServer
from tests.client.harness import SIDES, Side, nothing_left
from tests.client.tls import OPENSSL, make_certificate


@pytest.fixture(scope="session")
def certificate(_trusts_only_the_tests: None) -> Path:
    """A certificate with its key, which the clients of the tests trust."""
    if OPENSSL is None:
        pytest.skip("no openssl to make a certificate with")
    return Path(os.environ["SSL_CERT_FILE"])


@pytest.fixture(scope="session", autouse=True)
def _trusts_only_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Every client loads its trusted certificates; one is faster to load than the world's."""
    if OPENSSL is None:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(make_certificate(tmp_path_factory.mktemp("trust"))))
        yield


@pytest.fixture(params=SIDES, ids=str)
def side(request: pytest.FixtureRequest) -> Side:
    """Each of the four clients."""
    found: Side = request.param
    return found


@pytest.fixture(autouse=True)
def _leaves_nothing() -> Iterator[None]:
    with nothing_left():
        yield


@pytest.fixture
def server(_leaves_nothing: None) -> Iterator[MistralServer]:
    """A Mistral; a request without a scripted reply fails the test."""
    with MistralServer() as running:
        yield running


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> object | None:
    """A coroutine test runs on its side."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments: dict[str, Any] = {
        name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters
    }
    arguments["side"].run(pyfuncitem.obj(**arguments))
    return True
