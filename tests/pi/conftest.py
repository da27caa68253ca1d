"""Fixtures of the gateway's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nodrop.testing import MistralServer
from tests.pi.gateway import Gateway, running_gateway


@pytest.fixture
def gateway(mistral_server: MistralServer) -> Iterator[Gateway]:
    with running_gateway(mistral_server) as running:
        yield running
