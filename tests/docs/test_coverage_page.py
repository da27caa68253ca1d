"""The documentation's page of decisions is what the tables say today."""

from pathlib import Path

from nodrop.cli.coverage import markdown

PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == markdown(), "run: nodrop coverage --markdown > docs/coverage.md"
