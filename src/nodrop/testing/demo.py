"""The scripted answers of ``nodrop demo``, in the shapes that Mistral's models were seen to send.

    with MistralServer() as server:
        server.enqueue(*demo.replies())

Two replies, for one request each; both together take about three seconds at the default pace:

1. :func:`answer`: thinking (list deltas), text with citations of sources 0 to 2, two parallel tool calls whose
   arguments come in interleaved fragments, and usage with cached tokens. Finish reason ``tool_calls``.
2. :func:`rejected`: text, and behind it in the same delta an image, which has no place in an assistant's answer.
"""

from __future__ import annotations

from typing import Any, Final

from nodrop.testing import wire
from nodrop.testing.replies import Reply

MODEL: Final = "mistral-medium-latest"
DELAY: Final = 0.04
"""Seconds between events."""

PROMPT: Final = (
    "Is Bergen or Stavanger the calmer harbour this evening? Cite the pilot book, and fetch both tide tables."
)
"""What the first reply answers."""
CHART_PROMPT: Final = "Show me the chart of Bergen."
"""What the second reply answers."""

TOOL_NAME: Final = "tide_table"
TOOL_DESCRIPTION: Final = "The tide table of one port for one evening."
TOOL_PARAMETERS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"port": {"type": "string"}, "unit": {"type": "string", "enum": ["m", "ft"]}},
    "required": ["port", "unit"],
}
"""The tool that the first reply calls, twice; the parameters are a JSON Schema."""

_THOUGHTS = (
    "The user wants the calmer of two harbours, with sources. The pilot book describes both: Bergen lies behind "
    "islands, Stavanger is open to the north-west. The wind is north-westerly, so shelter decides. For the tides I "
    "need the tool, once for each port; the calls do not depend on each other."
)
_CLAIMS: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("Bergen will be calmer. Its harbour lies behind a chain of islands", (0,)),
    (", while Stavanger is open to this evening's north-westerly wind", (1, 2)),
    (". I am fetching both tide tables now.", ()),
)
# The smallest PNG there is: one transparent pixel.
_IMAGE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAA"
    "DUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


def replies(*, delay: float = DELAY) -> tuple[Reply, Reply]:
    """Both replies in their order, with `delay` seconds between events."""
    return answer(delay=delay), rejected(delay=delay)


def answer(*, delay: float = DELAY) -> Reply:
    """The reasoning answer: thinking, text, citations, two parallel tool calls, usage."""
    usage = wire.usage(412, 156, cached_tokens=320, service_tier="standard")
    chunks = [
        wire.start(),
        *(wire.thinking(piece) for piece in _pieces(_THOUGHTS, 3)),
        *_cited_text(),
        *_parallel_calls(),
        wire.finish("tool_calls", usage=usage),
    ]
    return Reply.stream(*(chunk | {"model": MODEL} for chunk in chunks), delay=delay)


def rejected(*, delay: float = DELAY) -> Reply:
    """An answer whose last delta holds text and an image."""
    chunks = [
        wire.start(),
        *(wire.text(piece) for piece in _pieces("The approach from the west is shown ", 1)),
        wire.content(wire.text_part("on this chart: "), wire.image_part(_IMAGE)),
        wire.finish(usage=wire.usage(598, 14, cached_tokens=576)),
    ]
    return Reply.stream(*(chunk | {"model": MODEL} for chunk in chunks), delay=delay)


def _pieces(text: str, words: int) -> list[str]:
    """The text in pieces of so many words, spaces kept."""
    parts = text.split(" ")
    spaced = [part + " " for part in parts[:-1]] + [parts[-1]]
    pieces = ["".join(spaced[at : at + words]) for at in range(0, len(spaced), words)]
    return [piece for piece in pieces if piece]


def _cited_text() -> list[wire.JSONObject]:
    chunks: list[wire.JSONObject] = []
    for claim, sources in _CLAIMS:
        chunks += [wire.text(piece) for piece in _pieces(claim, 1)]
        if sources:
            chunks.append(wire.reference(*sources))
    return chunks


def _parallel_calls() -> list[wire.JSONObject]:
    """Two calls, their fragments interleaved; those that continue have an empty name, and no id or the word "null"."""
    return [
        wire.tool_call("tb7Kq2Lx9", TOOL_NAME, "", index=0, type="function"),
        wire.tool_call("Zs4Wm8Rc1", TOOL_NAME, "", index=1, type="function"),
        *(
            wire.tool_call(id, "", fragment, index=index)
            for id, index, fragment in (  # noqa: A001 - the wire's word
                (wire.ABSENT, 0, '{"port": "Ber'),
                (wire.ABSENT, 1, '{"port": '),
                ("null", 0, 'gen", "un'),
                ("null", 1, '"Stavanger", '),
                (wire.ABSENT, 1, '"unit": "m"'),
                (wire.ABSENT, 0, 'it": "m"}'),
                ("null", 1, "}"),
            )
        ),
    ]
