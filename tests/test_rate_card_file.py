"""A caller's own rate card file: what it may hold, and the errors that name the file and the key."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import pytest

from nodrop.errors import ConfigurationError
from nodrop.rate_card import Model, RateCard, Rates, Tier

if TYPE_CHECKING:
    from pathlib import Path

CARD = RateCard.default()

GOOD = """\
unit = "USD per million tokens"

[models."ft:mine"]
aliases = ["mine"]
rates = { input = 1, output = 2.5, tiers = [{ above = 100, input = 3, output = 4, cache_read = 0.5 }] }
context_window = 1000
max_output_tokens = 100
input = ["text", "image"]
reasoning = { high = "high", off = "none" }
source = "our contract"
date = 2026-11-01

[models.unpriced]
input = ["text"]
source = "no rate was agreed"
date = 2026-11-01
"""


def test_a_callers_file(tmp_path: Path) -> None:
    path = tmp_path / "rates.toml"
    path.write_text(GOOD)
    own = RateCard.load(path)
    mine = own.find("mine")
    assert mine == Model(
        id="ft:mine",
        aliases=("mine",),
        name="ft:mine",
        rates=Rates(input=1, output=2.5, tiers=(Tier(above=100, input=3, output=4, cache_read=0.5),)),
        context_window=1000,
        max_output_tokens=100,
        input=("text", "image"),
        reasoning=(("off", "none"), ("high", "high")),
        source="our contract",
        date=date(2026, 11, 1),
    )
    assert mine is not None
    assert mine.takes_images
    assert mine.reasoning_levels == {"off": "none", "high": "high"}
    unpriced = own.find("unpriced")
    assert unpriced is not None
    assert unpriced.rates is None
    assert own.find("mistral-small-latest") is None

    both = CARD.merged(own)
    assert both.find("ft:mine") == mine
    assert both.find("mistral-small-latest") == CARD.find("mistral-small-latest")
    assert len(both) == len(CARD) + 2


BAD = [
    ("unit =", "unit = @", r"not a TOML file: .*line"),
    ('unit = "USD per million tokens"', "", 'unit: expected unit = "USD per million tokens"'),
    ("USD per million tokens", "USD per token", 'unit: expected unit = "USD per million tokens"'),
    ("[models.unpriced]", "[model.unpriced]", "model: unknown key; expected one of unit, models"),
    ("context_window = 1000", "context = 1000", r'models\."ft:mine"\.context: unknown key; expected one of aliases'),
    ("context_window = 1000", "context_window = 0", r'models\."ft:mine"\.context_window: expected a whole number'),
    ("context_window = 1000", "context_window = true", r"context_window: expected a whole number of tokens above zero"),
    ("max_output_tokens = 100", "max_output_tokens = 1.5", "max_output_tokens: expected a whole number"),
    ("input = 1,", "input = -1,", r'models\."ft:mine"\.rates\.input: expected a number that is not negative'),
    ("input = 1,", 'input = "1",', r"rates\.input: expected a number that is not negative, in USD per million"),
    ("input = 1,", "input = true,", r"rates\.input: expected a number"),
    ("input = 1,", "input = nan,", r"rates\.input: expected a number"),
    ("input = 1,", "input = inf,", r"rates\.input: expected a number"),
    ("input = 1,", f"input = 1{'0' * 400},", r"rates\.input: expected a number"),
    ("input = 1,", "", r"rates\.input: expected a number"),
    ("output = 2.5,", "", r"rates\.output: expected a number"),
    ("output = 2.5,", "output = 2.5, cached = 1,", r"rates\.cached: unknown key; expected one of input, output"),
    ("above = 100,", "", r"rates\.tiers\[0\]\.above: expected the number of prompt tokens"),
    ("above = 100,", "above = 100, reach = 1,", r"rates\.tiers\[0\]\.reach: unknown key"),
    (", cache_read = 0.5 }]", " }, 7]", r"rates\.tiers: expected a list of tables"),
    (
        ", cache_read = 0.5 }]",
        " }, { above = 100, input = 1, output = 1 }]",
        r"rates\.tiers: expected a different `above`",
    ),
    ('input = ["text", "image"]', "", r'models\."ft:mine"\.input: expected \["text"\] or \["text", "image"\]'),
    ('input = ["text", "image"]', 'input = ["text", "audio"]', r'models\."ft:mine"\.input: expected'),
    ('high = "high"', 'highest = "high"', r"reasoning\.highest: unknown key; expected one of off, minimal, low"),
    ('high = "high"', 'high = ""', r"reasoning\.high: expected a text that is not empty"),
    ('high = "high"', "high = 3", r"reasoning\.high: expected a text that is not empty"),
    ('source = "our contract"', "", r'models\."ft:mine"\.source: expected a text that is not empty'),
    ('source = "our contract"', 'source = ""', r"source: expected a text that is not empty"),
    ('source = "our contract"', 'source = "x"\nname = 7', r"name: expected a text"),
    ("date = 2026-11-01\n\n", "\n", r'models\."ft:mine"\.date: expected the day of the rates as a TOML date'),
    ("date = 2026-11-01\n\n", 'date = "2026-11-01"\n\n', r"date: expected the day of the rates as a TOML date"),
    ("date = 2026-11-01\n\n", "date = 2026-11-01T10:00:00\n\n", r"date: expected the day of the rates"),
    ('["mine"]', '"mine"', r"aliases: expected a list of texts that are not empty"),
    ('["mine"]', '["mine", ""]', r"aliases: expected a list of texts that are not empty"),
    ('["mine"]', "[1]", r"aliases: expected a list of texts that are not empty"),
    ('["mine"]', '["unpriced"]', r'models\."ft:mine"\.aliases: .unpriced. is claimed by .unpriced. already'),
    ('["mine"]', '["a", "a"]', r'models\."ft:mine"\.aliases: .a. is claimed by .ft:mine. already'),
]


@pytest.mark.parametrize(("good", "bad", "message"), BAD)
def test_a_bad_file_is_refused_by_file_and_key(tmp_path: Path, good: str, bad: str, message: str) -> None:
    assert good in GOOD
    path = tmp_path / "rates.toml"
    path.write_text(GOOD.replace(good, bad, 1))
    with pytest.raises(ConfigurationError, match=message) as caught:
        RateCard.load(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"\xff", "not a TOML file"),
        (b'unit = "USD per million tokens"\n', "models: expected a table that is not empty"),
        (b'unit = "USD per million tokens"\nmodels = 7\n', "models: expected a table that is not empty"),
        (b'unit = "USD per million tokens"\n[models]\na = 1\n', r"models\.a: expected a table that is not empty"),
        (b'unit = "USD per million tokens"\n[models.a]\nrates = {}\n', r"models\.a\.rates: expected a table"),
    ],
)
def test_other_bad_files(tmp_path: Path, text: bytes, message: str) -> None:
    path = tmp_path / "rates.toml"
    path.write_bytes(text)
    with pytest.raises(ConfigurationError, match=message):
        RateCard.load(path)


def test_a_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "nowhere.toml"
    with pytest.raises(ConfigurationError, match=r"nowhere\.toml: the rate card cannot be read: No such file"):
        RateCard.load(path)
