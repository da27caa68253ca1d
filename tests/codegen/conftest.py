"""The gate speaks in annotations where a hosted CI shows them. These tests read its plain text, there as well."""

import pytest


@pytest.fixture(autouse=True)
def no_hosted_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
