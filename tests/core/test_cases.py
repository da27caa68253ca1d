"""The shared cases, as far as they need no network: bodies through the decoder, HTTP errors through their reading."""

from __future__ import annotations

import pytest

from nodrop.core.decoder import Decoder
from nodrop.core.server_errors import error_from_response
from tests.cases import Case, check_answer, load, parameters
from tests.core.driving import check_events, run_blocks

DECODED = ("chunk-type", "reference", "thinking", "tool-calls", "sse", "usage")


@pytest.mark.parametrize("case", parameters(*DECODED))
def test_case(case: Case) -> None:
    (response,) = case.responses
    assert response.status == 200
    decoder = Decoder()
    events = [event for block in response.blocks for event in decoder.feed(block)]
    if response.close == "never":
        assert decoder.error is not None  # it must end by itself: the server does not
    events += decoder.close()
    check_events(events)
    check_answer(case, decoder.message, decoder.error)


@pytest.mark.parametrize("case", parameters(*DECODED))
def test_case_byte_by_byte(case: Case) -> None:
    (response,) = case.responses
    outcome = run_blocks([response.body[place : place + 1] for place in range(len(response.body))])
    check_answer(case, outcome.message, outcome.error)


@pytest.mark.parametrize("case", parameters("errors", "overflow", "config"))
def test_error_case(case: Case) -> None:
    response = case.responses[0]
    decoder = Decoder()
    if response.status == 200:
        for block in response.blocks:
            decoder.feed(block)
        decoder.close()
    else:
        assert response.status is not None
        decoder.fail(error_from_response(response.status, response.headers, response.body))
    check_answer(case, decoder.message, decoder.error)


def test_all_cases_are_here() -> None:
    cases = load()
    if not cases:
        pytest.skip("no cases at ../shared/cases")
    assert len(cases) >= 41
    assert sum(case.area in DECODED for case in cases) >= 22
