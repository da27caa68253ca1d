"""``nodrop models``: the rate card."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from nodrop.errors import ConfigurationError
from nodrop.rate_card import ESTIMATE_NOTICE, UNIT, Model, RateCard
from nodrop.settings import load_settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", nargs="*", metavar="ID", help="only these models, by id or alias")
    parser.add_argument(
        "--rates", type=Path, metavar="FILE", help="a rate card of your own, over that of the settings files"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")


def run(arguments: argparse.Namespace) -> int:
    card = load_settings().rate_card()
    if arguments.rates is not None:
        card = card.merged(RateCard.load(arguments.rates))
    models = [_known(card, name) for name in arguments.ids] if arguments.ids else list(card.models)
    if arguments.json:
        for model in models:
            print(json.dumps(_as_json(model), ensure_ascii=False))
        return 0
    widths = (max(len(model.id) for model in models), 9, 9, 9, 9)
    print(f"rates in {UNIT}; {ESTIMATE_NOTICE}\n")
    print(_row(("id", "in", "out", "cached", "context"), widths) + "  takes       effort  date        aliases")
    for model in models:
        rates = model.rates
        amounts = ("none", "none", "none") if rates is None else (rates.input, rates.output, rates.cache_read)
        cells = (model.id, *(_amount(amount) for amount in amounts), _amount(model.context_window))
        effort = "yes" if model.reasoning else "-"
        print(
            _row(cells, widths)
            + f"  {'+'.join(model.input):<10}  {effort:<6}  {model.date.isoformat()}  {', '.join(model.aliases)}"
        )
    if arguments.ids:
        for model in models:
            print(f"\n{model.id}: {model.name}. Source: {model.source}." + (f" {model.note}" if model.note else ""))
    return 0


def _known(card: RateCard, name: str) -> Model:
    model = card.find(name)
    if model is None:
        raise ConfigurationError(f"the rate card knows no model {name!r}; `nodrop models` lists them")
    return model


def _amount(amount: float | int | str | None) -> str:
    return "-" if amount is None else f"{amount:g}" if isinstance(amount, float) else str(amount)


def _row(cells: tuple[str, ...], widths: tuple[int, ...]) -> str:
    first, *rest = zip(cells, widths, strict=True)
    return "  ".join([f"{first[0]:<{first[1]}}", *(f"{cell:>{width}}" for cell, width in rest)])


def _as_json(model: Model) -> dict[str, Any]:
    rates = model.rates
    return {
        "id": model.id,
        "aliases": list(model.aliases),
        "name": model.name,
        "rates": None
        if rates is None
        else {
            "input": rates.input,
            "output": rates.output,
            "cacheRead": rates.cache_read,
            "cacheWrite": rates.cache_write,
            "unit": UNIT,
        },
        "contextWindow": model.context_window,
        "maxOutputTokens": model.max_output_tokens,
        "input": list(model.input),
        "reasoningEffort": model.reasoning_levels,
        "source": model.source,
        "date": model.date.isoformat(),
        **({"note": model.note} if model.note else {}),
    }
