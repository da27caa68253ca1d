"""Strategies for wire chunks, and an oracle that reads them by itself: it knows nothing of the mapper."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from nodrop.content import AssistantMessage, TextContent, ThinkingContent, ToolCall

JSON = dict[str, Any]

PIECES = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
IDS = st.lists(st.one_of(st.integers(-5, 2**40), PIECES), max_size=3)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)  # JSON has no others
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), FLOATS, PIECES)
ANY_JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(PIECES, inner, max_size=3)),
    max_leaves=6,
)
NAMES = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=12)


def _text(value: str) -> JSON:
    return {"type": "text", "text": value}


def _reference(ids: list[int | str]) -> JSON:
    return {"type": "reference", "reference_ids": ids}


def _thinking(parts: list[JSON], extra: JSON) -> JSON:
    return {"type": "thinking", "thinking": parts} | extra


TEXT_ITEMS = PIECES.map(_text)
REFERENCE_ITEMS = IDS.map(_reference)
THINKING_ITEMS = st.builds(
    _thinking,
    st.lists(st.one_of(TEXT_ITEMS, REFERENCE_ITEMS), max_size=3),
    st.sampled_from([{}, {"closed": True}, {"closed": False}, {"signature": "S"}, {"signature": None, "closed": None}]),
)
ITEMS = st.one_of(TEXT_ITEMS, THINKING_ITEMS, REFERENCE_ITEMS)
CONTENTS: st.SearchStrategy[Any] = st.one_of(st.none(), PIECES, PIECES, st.lists(ITEMS, max_size=4))
DELTAS: st.SearchStrategy[JSON] = st.one_of(
    st.fixed_dictionaries(
        {"content": CONTENTS}, optional={"role": st.sampled_from(["assistant", None, ""]), "index": st.just(0)}
    ),
    st.just({}),
)
USAGES: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.just({}),
    st.fixed_dictionaries(
        {
            "prompt_tokens": st.integers(0, 99),
            "completion_tokens": st.integers(0, 99),
            "total_tokens": st.integers(0, 99),
        }
    ),
)


def as_chunk(delta: JSON, finish_reason: str | None = None, **members: Any) -> JSON:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]} | members


CONTENT_CHUNKS = st.builds(as_chunk, DELTAS, usage=USAGES)


@st.composite
def call_fragments(draw: st.DrawFn) -> list[list[JSON]]:
    """The fragments of a few parallel calls in one discipline, as deltas in order: each a list of fragments."""
    by_index: bool = draw(st.booleans())
    again: str = draw(st.sampled_from(["nothing", "id", "empty words", "null words", "all"]))
    queues: list[list[JSON]] = []
    for number in range(draw(st.integers(0, 3))):
        pieces = draw(st.lists(PIECES, min_size=1, max_size=4))
        identity: JSON = {"index": number} if by_index else {}
        call_id, name = f"callid{number}AB", draw(NAMES)
        queue = [identity | {"id": call_id, "function": {"name": name, "arguments": pieces[0]}}]
        for piece in pieces[1:]:
            function: JSON = {"arguments": piece}
            words: JSON = {} if by_index else {"id": call_id}
            if again == "id":
                words = {"id": call_id}
            elif again == "empty words" and by_index:
                words, function = {"id": ""}, function | {"name": ""}
            elif again == "null words" and by_index:
                words, function = {"id": "null", "type": None}, function | {"name": None}
            elif again == "all":
                words, function = {"id": call_id}, function | {"name": name}
            queue.append(identity | words | {"function": function})
        queues.append(queue)
    deltas: list[list[JSON]] = []
    while any(queues):
        queue = draw(st.sampled_from([each for each in queues if each]))
        same_delta: bool = draw(st.booleans())
        if deltas and same_delta:
            deltas[-1].append(queue.pop(0))
        else:
            deltas.append([queue.pop(0)])
    return deltas


@st.composite
def chunk_lists(draw: st.DrawFn) -> list[JSON]:
    """The chunks of one answer, in order, the finish included."""
    chunks = draw(st.lists(CONTENT_CHUNKS, max_size=6))
    for fragments in draw(call_fragments()):
        chunks += [as_chunk(draw(DELTAS) | {"tool_calls": fragments}), *draw(st.lists(CONTENT_CHUNKS, max_size=1))]
    reason = draw(st.sampled_from(["stop", "length", "tool_calls", "model_length"]))
    return [*chunks, as_chunk({"content": ""}, reason)]


def as_events(chunks: Iterable[JSON]) -> list[bytes]:
    return [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks]


@dataclass
class Oracle:
    """What the wire says, read from raw JSON: runs of text ``T`` and thinking ``R``, and calls ``C``."""

    runs: list[tuple[str, str]] = field(default_factory=list)
    arguments: dict[Any, str] = field(default_factory=dict)
    markers: list[list[int | str]] = field(default_factory=list)
    open: bool = False

    def read(self, chunk: JSON) -> Oracle:
        for choice in chunk["choices"]:
            delta = choice["delta"]
            content = delta.get("content")
            for item in [_text(content)] if isinstance(content, str) else content or []:
                self._item(item)
            for fragment in delta.get("tool_calls") or []:
                self._fragment(fragment)
        return self

    def _item(self, item: JSON) -> None:
        if item["type"] == "thinking":
            for part in item["thinking"]:
                self._piece("R", part)
            if item.get("signature"):
                self._more("R", "")
        else:
            self._piece("T", item)

    def _piece(self, kind: str, part: JSON) -> None:
        if part["type"] == "reference":
            if part["reference_ids"]:
                self.markers.append(part["reference_ids"])
                self._more(kind, "[" + ", ".join(str(number) for number in part["reference_ids"]) + "]")
        elif part["text"]:
            self._more(kind, part["text"])

    def _more(self, kind: str, value: str) -> None:
        if self.open and self.runs[-1][0] == kind:
            self.runs[-1] = (kind, self.runs[-1][1] + value)
        else:
            self.runs.append((kind, value))
            self.open = True

    def _fragment(self, fragment: JSON) -> None:
        key = fragment["index"] if "index" in fragment else fragment["id"]
        if key not in self.arguments:
            self.arguments[key] = ""
            self.runs.append(("C", key))
            self.open = False
        self.arguments[key] += fragment["function"]["arguments"]
        self.open = self.open and not fragment["function"]["arguments"]

    def expected(self) -> list[tuple[str, str]]:
        return [(kind, self.arguments[value] if kind == "C" else value) for kind, value in self.runs]


def read_by_oracle(chunks: Iterable[JSON]) -> Oracle:
    oracle = Oracle()
    for chunk in chunks:
        oracle.read(chunk)
    return oracle


def found(message: AssistantMessage) -> list[tuple[str, str]]:
    """A message in the oracle's words."""
    runs: list[tuple[str, str]] = []
    for block in message.content:
        if isinstance(block, TextContent):
            runs.append(("T", block.text))
        elif isinstance(block, ThinkingContent):
            runs.append(("R", block.thinking))
        else:
            assert isinstance(block, ToolCall)
            runs.append(("C", block.raw_arguments))
    return runs
