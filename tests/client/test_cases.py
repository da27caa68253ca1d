"""The shared cases through real HTTP, on every side: answers, errors, request bodies, attempts, waits, connections."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import nodrop
from nodrop.events import Event
from nodrop.testing import MistralServer
from tests.cases import Case, check_answer, load, parameters
from tests.client.case_server import check_exchange, history, reply
from tests.client.harness import Side


@pytest.mark.parametrize("case", parameters())
async def test_case(side: Side, server: MistralServer, case: Case) -> None:
    read = threading.Event()
    server.enqueue(*[reply(response, read) for response in case.responses], repeat=case.repeat)
    prompt, options = history(case)
    notices: list[nodrop.RetryNotice] = []
    with nodrop.no_retry_waits():
        async with side.client(server, on_retry=notices.append) as client:
            stream = client.stream(prompt, **options)
            events: list[Event] = []
            async for event in stream:
                events.append(event)
                if stream.message.stop_reason == "pending" and stream.message.text == case.expect.get("text"):
                    read.set()
                    if case.cancel_after_events is not None:
                        stream.abort()
            outcome = await stream.outcome(events)
            check_answer(case, outcome.message, outcome.error)
            check_exchange(case, server.requests, notices)
            if outcome.error is not None:
                with pytest.raises(type(outcome.error)) as caught:
                    await stream.final_message()
                assert caught.value is outcome.error
            if "open_connections_after" in case.expect:
                server.wait_for_open_connections(case.expect["open_connections_after"])


def _told_at_once(areas: tuple[str, ...]) -> list[Any]:
    """Without those whose reset comes when the consumer has read, which complete() does not show."""
    return [
        each
        for each in parameters(*areas)
        if each.values[0] is None or each.values[0].responses[0].raises != "ReadError"
    ]


@pytest.mark.parametrize("case", _told_at_once(("errors", "overflow", "config", "retry")))
async def test_case_without_streaming(side: Side, server: MistralServer, case: Case) -> None:
    """What the server answers does not depend on whether a stream was asked for."""
    server.enqueue(*[reply(response, threading.Event()) for response in case.responses], repeat=case.repeat)
    notices: list[nodrop.RetryNotice] = []
    with nodrop.no_retry_waits():
        async with side.client(server, on_retry=notices.append) as client:
            try:
                message, error = await client.complete(), None
            except nodrop.APIError as raised:
                error, partial = raised, raised.partial
                message = partial if partial is not None else nodrop.AssistantMessage(content=[])
    check_answer(case, message, error)
    check_exchange(case, server.requests, notices)


def test_no_case_is_left_out() -> None:
    cases = load()
    if not cases:
        pytest.skip("no cases at ../shared/cases")
    assert len(cases) >= 41
