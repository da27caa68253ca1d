"""pi's ``models.json``, from the rate card: one provider with every model and alias, ready to be pasted.

``promptCache`` is left out on purpose: with it pi would replay requests to keep a cache warm.
"""

from __future__ import annotations

from typing import Any, Final

from nodrop.pi.settings import TOKEN_VARIABLE
from nodrop.rate_card import THINKING_LEVELS, Model, RateCard, Rates, Tier

PROVIDER: Final = "nodrop"
API: Final = "pi-messages"


def models_json(rates: RateCard, base_url: str) -> dict[str, Any]:
    """``base_url`` is where pi reaches the gateway. The rates in it are for display: cost comes with each answer."""
    models = [_entry(model, name) for model in rates for name in model.names]
    provider = {"name": "Mistral via nodrop", "api": API, "baseUrl": base_url, "apiKey": f"${TOKEN_VARIABLE}"}
    return {"providers": {PROVIDER: {**provider, "models": models}}}


def unpriced(rates: RateCard) -> list[str]:
    """The models that have no rate. pi demands numbers: there their cost is zero, which is not measured."""
    return [model.id for model in rates if model.rates is None]


def _entry(model: Model, name: str) -> dict[str, Any]:
    title = model.name or model.id
    levels = model.reasoning_levels
    entry: dict[str, Any] = {
        "id": name,
        "name": title if name == model.id else f"{title} ({name})",
        "input": list(model.input),
        "reasoning": bool(levels),
    }
    if levels:
        entry["thinkingLevelMap"] = {level: levels.get(level) for level in THINKING_LEVELS}
    if model.context_window is not None:
        entry["contextWindow"] = model.context_window
    if model.max_output_tokens is not None:
        entry["maxTokens"] = model.max_output_tokens
    entry["cost"] = _cost(model.rates)
    return entry


def _cost(rates: Rates | None) -> dict[str, Any]:
    if rates is None:
        return {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    cost: dict[str, Any] = _four(rates)
    if rates.tiers:
        cost["tiers"] = [{"inputTokensAbove": tier.above, **_four(tier)} for tier in rates.tiers]
    return cost


def _four(rates: Rates | Tier) -> dict[str, float]:
    # Without a rate of their own, cached tokens cost as much as other input: the rate card's rule.
    read = rates.input if rates.cache_read is None else rates.cache_read
    write = rates.input if rates.cache_write is None else rates.cache_write
    return {"input": rates.input, "output": rates.output, "cacheRead": read, "cacheWrite": write}
