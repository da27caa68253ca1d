"""Without a real pi the end-to-end tests skip in words; where it is required, that is a failure."""

from __future__ import annotations

import pytest

from tests.pi import real_pi


def test_a_missing_pi_skips_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real_pi, "missing", lambda: "not here")
    monkeypatch.delenv("NODROP_REQUIRE_PI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="not here"):
        real_pi.require_pi()


def test_a_missing_pi_fails_where_it_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real_pi, "missing", lambda: "not here")
    monkeypatch.setenv("NODROP_REQUIRE_PI", "1")
    with pytest.raises(pytest.fail.Exception, match="not here"):
        real_pi.require_pi()
