"""The server's usage report → :class:`Usage`, and its estimated cost."""

from __future__ import annotations

from nodrop.content import Cost, Usage
from nodrop.rate_card import RateCard, cost
from nodrop.wire import UsageInfo


def _is_report(usage: UsageInfo) -> bool:
    """Whether the server reported anything: a usage whose counters are all absent or null is no report."""
    counters = (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens)
    return any(counter is not None for counter in counters)


def usage_of(report: UsageInfo | None) -> Usage | None:
    """The counters of ``chunk.usage`` at the wire level in the content model's terms; ``None`` when it reports none."""
    return _read(report) if report is not None and _is_report(report) else None


def _read(report: UsageInfo) -> Usage:
    """The counters in pi's terms.

    Audio lies outside ``prompt_tokens`` on this API and counts as input. Cached tokens lie inside it; the first of the
    three places that has them is taken, never more than the prompt. Reasoning is part of the output.
    """
    plural, singular = report.prompt_tokens_details, report.prompt_token_details
    places = (
        plural.cached_tokens if plural else None,
        singular.cached_tokens if singular else None,
        report.num_cached_tokens,
    )
    cached = next((count for count in places if count is not None), 0)
    audio = (plural.audio_tokens if plural else None) or (singular.audio_tokens if singular else None) or 0
    prompt = (report.prompt_tokens or 0) + audio
    output = report.completion_tokens or 0
    cached = max(0, min(cached, prompt))
    details = report.completion_tokens_details
    return Usage(
        input=prompt - cached,
        output=output,
        cache_read=cached,
        reasoning=details.reasoning_tokens if details else None,
        total_tokens=prompt + output if report.total_tokens is None else report.total_tokens,
        raw=report.model_dump(mode="json"),
    )


def priced(usage: Usage, model: str, rates: RateCard) -> Usage:
    """``usage`` with the cost that the rate card estimates for ``model``; without one when it has no rate."""
    known = rates.find(model)
    try:
        estimate = cost(
            known.rates if known else None,
            input=usage.input,
            output=usage.output,
            cache_read=usage.cache_read,
            cache_write=usage.cache_write,
        )
    except OverflowError:  # a counter beyond any float
        return usage
    if not usage.reported or estimate is None:
        return usage
    return usage.model_copy(update={"cost": Cost(**estimate._asdict())})
