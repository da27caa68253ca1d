"""An independent reading of a recorded body: what an answer says, by its raw JSON alone.

It knows nothing of nodrop (and imports nothing from it): its own split into events, ``json.loads``, and the rules of
the contract (response side, tool calls, end of a stream, usage) written down a second time, for whole bodies, without
events or increments. Tests compare the two. It reads on past whatever it refuses, and lists that.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

JSON = dict[str, Any]

SURFACED = ("text", "thinking", "reference")
FOREIGN_FIELDS = ("reasoning_content", "reasoning", "refusal")
COUNTERS = ("prompt_tokens", "completion_tokens", "total_tokens")


@dataclass
class Call:
    """A tool call; ``arguments`` is the raw text, its fragments joined. ``id`` is ``None`` when none ever came."""

    id: str | None = None
    name: str = ""
    arguments: str = ""
    index: int | None = None


@dataclass
class Block:
    """``kind`` is ``text``, ``thinking`` or ``toolCall``; a call's text is its raw arguments."""

    kind: str
    pieces: list[str] = field(default_factory=list)
    signature: str | None = None
    call: Call | None = None

    @property
    def text(self) -> str:
        return self.call.arguments if self.call else _well_formed("".join(self.pieces))


@dataclass
class Reading:
    """What a body says.

    ``blocks`` in order as (kind, text); ``unnamed`` are calls that never got a name, which no block holds.
    ``finish`` is the first finish reason that is not null or empty, ``finishes`` all different ones. ``usage`` is the
    last report that has a counter. ``candidates`` are the choice indexes in order of appearance; all but index 0 go
    unread. ``rejected`` names what has no place in an answer, in order. ``done`` tells whether ``[DONE]`` was seen.
    ``error`` is an error object that came in place of a chunk.
    """

    blocks: list[tuple[str, str]]
    tool_calls: list[Call]
    unnamed: list[Call]
    finishes: list[str]
    usage: JSON | None
    candidates: list[int]
    rejected: list[str]
    models: list[str]
    done: bool
    error: JSON | None

    @property
    def text(self) -> str:
        return "".join(text for kind, text in self.blocks if kind == "text")

    @property
    def thinking(self) -> str:
        return "".join(text for kind, text in self.blocks if kind == "thinking")

    @property
    def finish(self) -> str | None:
        return self.finishes[0] if self.finishes else None


def read_body(raw: bytes, *, whole: bool) -> Reading:
    """Reads a body; ``whole`` says that it is a whole completion (JSON) and not a stream."""
    reader = _Reader()
    if whole:
        reader.chunk(json.loads(raw), "message")
    else:
        for data in split(raw):
            if data == "[DONE]":
                reader.done = True
                break
            reader.chunk(json.loads(data), "delta")
    return reader.reading()


def split(raw: bytes) -> list[str]:
    """The data of each server-sent event, in order."""
    text = raw.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    events: list[str] = []
    data: list[str] = []
    lines = iter(text.split("\n"))
    for line in lines:
        if line == "":
            if data:
                events.append("\n".join(data))
            data = []
        elif line.startswith("{"):  # no field of an event: an error that a gateway wrote without framing
            frame = line
            while not _is_json(frame) and (more := next(lines, None)) is not None:
                frame += "\n" + more
            events.append(frame)
        elif line == "data" or line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
    rest = "\n".join(data)
    if rest == "[DONE]" or (rest and _is_json(rest)):
        events.append(rest)
    return [event for event in events if event]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return False
    return True


def _well_formed(text: str) -> str:
    # Halves of a pair meet when joined; a half that stays alone becomes U+FFFD.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class _Reader:
    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.open: Block | None = None
        self.calls: list[Call] = []
        self.at_index: dict[int, Call] = {}
        self.finishes: list[str] = []
        self.usage: JSON | None = None
        self.candidates: list[int] = []
        self.rejected: list[str] = []
        self.models: list[str] = []
        self.done = False
        self.error: JSON | None = None

    def reading(self) -> Reading:
        return Reading(
            blocks=[(block.kind, block.text) for block in self.blocks],
            tool_calls=[block.call for block in self.blocks if block.call],
            unnamed=[call for call in self.calls if not call.name],
            finishes=self.finishes,
            usage=self.usage,
            candidates=self.candidates,
            rejected=self.rejected,
            models=self.models,
            done=self.done,
            error=self.error,
        )

    # ---- chunks and choices ----

    def chunk(self, chunk: JSON, holder: str) -> None:
        if chunk.get("object") == "error" or chunk.get("error"):
            self.error = chunk
            return
        if chunk.get("model") and chunk["model"] not in self.models:
            self.models.append(chunk["model"])
        usage = chunk.get("usage") or {}
        if any(usage.get(counter) is not None for counter in COUNTERS):
            self.usage = usage
        for place, choice in enumerate(chunk.get("choices") or []):
            index = choice.get("index", place)
            if index not in self.candidates:
                self.candidates.append(index)
            if index == 0:
                self.choice(choice, holder)

    def choice(self, choice: JSON, holder: str) -> None:
        single, several = choice.get(holder), choice.get("messages")
        if single and several:
            self.rejected.append("messages beside message")
        for part in several or ([single] if single else []):
            self.delta(part)
        reason = choice.get("finish_reason")
        if reason and reason not in self.finishes:
            self.finishes.append(reason)

    def delta(self, delta: JSON) -> None:
        role = delta.get("role")
        if role and role != "assistant":
            self.rejected.append(f"role {role}")
            return
        self.rejected.extend(name for name in FOREIGN_FIELDS if delta.get(name))
        content = delta.get("content")
        if isinstance(content, str):
            self.add("text", content)
        elif isinstance(content, list):
            for item in content:
                self.item(item)
        elif content is not None:
            self.rejected.append("content")
        for fragment in delta.get("tool_calls") or []:
            self.fragment(fragment)

    # ---- content ----

    def item(self, item: object) -> None:
        kind = item.get("type") if isinstance(item, dict) else None
        if not isinstance(item, dict) or kind is None:
            self.rejected.append("no type")
        elif kind == "text" and isinstance(item.get("text"), str):
            self.add("text", item["text"])
        elif kind == "reference" and isinstance(item.get("reference_ids"), list):
            self.add("text", marker(item["reference_ids"]))
        elif kind == "thinking" and isinstance(item.get("thinking"), list):
            self.thinking(item)
        else:
            self.rejected.append(str(kind))

    def thinking(self, item: JSON) -> None:
        # A second, different signature begins a block, to which the text that comes with it belongs.
        signature = item.get("signature")
        if signature and self.open and self.open.kind == "thinking" and self.open.signature not in (None, signature):
            self.open = None
        for part in item["thinking"]:
            kind = part.get("type") if isinstance(part, dict) else None
            if kind == "text" and isinstance(part.get("text"), str):
                self.add("thinking", part["text"])
            elif kind == "reference" and isinstance(part.get("reference_ids"), list):
                self.add("thinking", marker(part["reference_ids"]))
            else:
                self.rejected.append(f"thinking: {kind or 'no type'}")
        if signature:
            self.block("thinking").signature = signature

    def add(self, kind: str, text: str) -> None:
        if text:
            self.block(kind).pieces.append(text)

    def block(self, kind: str) -> Block:
        if self.open is None or self.open.kind != kind:
            self.open = Block(kind)
            self.blocks.append(self.open)
        return self.open

    # ---- tool calls ----

    def fragment(self, fragment: JSON) -> None:
        function = fragment.get("function") or {}
        index = fragment.get("index")
        call_id = fragment.get("id") if fragment.get("id") not in ("", "null") else None
        name = function.get("name") or ""
        call = self.continued(index, call_id, name)
        if call is None and not name and not call_id:
            self.rejected.append("tool_calls: a fragment without a call")
            return
        if call is None:
            call = Call(index=index)
            self.calls.append(call)
            if index is not None:
                self.at_index[index] = call
        call.id = call.id or call_id
        if name and not call.name:  # a call stands where it got its name: its start event must carry that
            call.name = name
            self.blocks.append(Block("toolCall", call=call))
            self.open = None
        arguments = function.get("arguments")
        if arguments is not None and arguments != "":  # what is empty ends no text
            self.open = None
            call.arguments += (
                arguments
                if isinstance(arguments, str)
                else json.dumps(arguments, separators=(",", ":"), ensure_ascii=False)
            )

    def continued(self, index: int | None, call_id: str | None, name: str) -> Call | None:
        """The call that a fragment belongs to; ``None`` when it opens one."""
        last = self.calls[-1] if self.calls else None
        if index is None:
            with_id = next((call for call in self.calls if call_id and call.id == call_id), None)
            return with_id or (None if name else last)
        there = self.at_index.get(index)
        if name:
            return None if there is None or (call_id and there.id and there.id != call_id) else there
        if there is None and call_id:
            return None
        return there or last


def marker(ids: list[object]) -> str:
    """``[0, 1]``; nothing for no ids."""
    return f"[{', '.join(str(one) for one in ids)}]" if ids else ""
