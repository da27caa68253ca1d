"""The pytest plugin: a Mistral of its own for each test that asks for one.

It is found by entry point; installing nodrop is enough::

    def test_answer(mistral_server):
        mistral_server.enqueue(Reply.stream(text("Hel"), text("lo"), finish("stop")))
        client = nodrop.Client(api_key=mistral_server.api_key, base_url=mistral_server.url)
        assert client.complete("mistral-small-latest", "Hi").text == "Hello"

pytest loads this module in every run of every project that has nodrop installed, so it imports nothing but pytest:
the server comes with the first test that uses the fixture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nodrop.testing.server import MistralServer


@pytest.fixture
def mistral_server() -> Iterator[MistralServer]:
    """A running :class:`nodrop.testing.MistralServer`, closed when the test ends.

    Unscripted, it echoes. A request for which an exhausted script has no reply fails the test at its end
    (:class:`nodrop.testing.UnscriptedRequestError`).
    """
    from nodrop.testing.server import MistralServer

    with MistralServer() as server:
        yield server
