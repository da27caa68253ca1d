"""The fault matrix of faults.py on every side, each followed by a good answer from the same client."""

from __future__ import annotations

import pytest

from tests.client.faults import FAULTS, Fault, check, play
from tests.client.harness import Side


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
async def test_fault(side: Side, fault: Fault) -> None:
    check(fault, await play(fault, side))
