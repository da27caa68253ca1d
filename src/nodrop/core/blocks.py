"""The blocks of one message and the events that tell of them. This file owns which block is open.

- The current block is a text or a thinking block, or none; contiguous content of its kind joins it, any other content
  ends it. Empty strings open and end nothing.
- Tool calls stay open beside it until the stream ends: only then is it known whether their arguments are whole. A call
  is shown once it has a name; what came before is held back, not lost.
- Pieces are gathered in lists and joined once. Events go into the list that the caller hands in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from nodrop.content import AssistantBlock, Citation, TextContent, ThinkingContent
from nodrop.core.surrogates import SurrogateJoiner
from nodrop.core.tool_calls import Fragment, OpenCall, ToolCallTable, finished_call, made_up_id
from nodrop.events import (
    Event,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)


@dataclass(slots=True, eq=False)
class Block:
    """A text or thinking block. ``length`` is in code points."""

    kind: Literal["text", "thinking"]
    content_index: int
    pieces: list[str] = field(default_factory=list[str])
    length: int = 0
    signature: str | None = None
    joiner: SurrogateJoiner = field(default_factory=SurrogateJoiner)

    @property
    def content(self) -> str:
        return "".join(self.pieces)


class Blocks:
    """The blocks of a message, in order of ``content_index``."""

    def __init__(self) -> None:
        self.citations: list[Citation] = []
        self.lone_surrogates = False
        """Set once a lone surrogate was met: from then on every string takes the way that can join two halves."""
        self._all: list[Block | OpenCall] = []
        self._current: Block | None = None
        self._calls = ToolCallTable()

    def __bool__(self) -> bool:
        return bool(self._all)

    # ---- text and thinking ----

    def text(self, text: str, out: list[Event]) -> None:
        """More text: joins the current text block, or opens one."""
        if not text:
            return
        block = self._current
        if block is None or block.kind != "text":
            block = self.text_block(out)
        if self.lone_surrogates:
            text = block.joiner.join(text)
            if not text:
                return
        block.pieces.append(text)
        block.length += len(text)
        out.append(TextDelta(block.content_index, text))

    def thought(self, text: str, out: list[Event]) -> None:
        """More thinking: joins the current thinking block, or opens one."""
        if not text:
            return
        block = self.thinking_block(out)
        if self.lone_surrogates:
            text = block.joiner.join(text)
            if not text:
                return
        self._add(block, text, out)

    def sign(self, signature: str, out: list[Event]) -> None:
        """The signature of the thinking block; it opens one if none is open."""
        self.thinking_block(out).signature = signature

    def end_if_signed_otherwise(self, signature: str, out: list[Event]) -> None:
        """A second, different signature ends the thinking block, so that each block has its own."""
        block = self._current
        if block is not None and block.kind == "thinking" and block.signature not in (None, signature):
            self.end(out)

    def reference(self, ids: list[int | str], block_of: Callable[[list[Event]], Block], out: list[Event]) -> None:
        """A citation marker in the block that ``block_of`` gives. No ids: an empty carrier, seen on the wire."""
        if not ids:
            return
        block = block_of(out)
        self._flush(block, out)
        marker = f"[{', '.join(str(number) for number in ids)}]"
        place = Citation(ids=ids, content_index=block.content_index, offset=block.length, length=len(marker))
        self.citations.append(place)
        self._add(block, marker, out)

    def text_block(self, out: list[Event]) -> Block:
        """The current text block; another kind is ended and one is opened if need be."""
        return self._block_of("text", out)

    def thinking_block(self, out: list[Event]) -> Block:
        """The current thinking block; another kind is ended and one is opened if need be."""
        return self._block_of("thinking", out)

    def end(self, out: list[Event]) -> None:
        """Ends the current block, if there is one."""
        block = self._current
        if block is None:
            return
        self._flush(block, out)
        self._current = None
        if block.kind == "text":
            out.append(TextEnd(block.content_index, block.content))
        else:
            out.append(ThinkingEnd(block.content_index, block.content, block.signature))

    def _block_of(self, kind: Literal["text", "thinking"], out: list[Event]) -> Block:
        block = self._current
        if block is not None and block.kind == kind:
            return block
        self.end(out)
        block = self._current = Block(kind, len(self._all))
        self._all.append(block)
        out.append(TextStart(block.content_index) if kind == "text" else ThinkingStart(block.content_index))
        return block

    def _add(self, block: Block, text: str, out: list[Event]) -> None:
        block.pieces.append(text)
        block.length += len(text)
        delta = TextDelta if block.kind == "text" else ThinkingDelta
        out.append(delta(block.content_index, text))

    def _flush(self, block: Block, out: list[Event]) -> None:
        left = block.joiner.flush()
        if left:
            self._add(block, left, out)

    # ---- tool calls ----

    def call_fragment(self, fragment: Fragment, path: str, out: list[Event]) -> str | None:
        """Places a fragment; gives what was odd about it. Raises :class:`StreamProtocolError` when it fits no call."""
        call, piece, oddity = self._calls.add(fragment, path)
        if call.content_index is None and call.name is not None:
            self._show(call, out)
        if self.lone_surrogates:
            piece = call.joiner.join(piece)
        if piece:
            self.end(out)
            call.pieces.append(piece)
            if call.content_index is not None:
                out.append(ToolCallDelta(call.content_index, piece))
        return oddity

    @property
    def nameless_calls(self) -> int:
        """How many calls were never named: they are held back still."""
        return sum(call.content_index is None for call in self._calls.calls)

    def settle(self, out: list[Event]) -> None:
        """The answer failed: shows all that is held back (calls without a name, halves of a character).

        The open block stays open.
        """
        if self._current is not None:
            self._flush(self._current, out)
            self._current = None
        for call in self._calls.calls:
            if call.content_index is None:
                self._show(call, out)
            self._flush_call(call, out)

    def end_calls(self, out: list[Event], *, cut: bool) -> None:
        """Ends every call, in order of index. ``cut``: the answer ended by length."""
        for call in self._calls.in_order():
            index = call.content_index
            if index is None:
                raise LookupError("a call that was never shown")
            self._flush_call(call, out)
            out.append(ToolCallEnd(index, finished_call(call, self._id_of(call), ended=True, cut=cut)))

    def _flush_call(self, call: OpenCall, out: list[Event]) -> None:
        left = call.joiner.flush()
        if left and call.content_index is not None:
            call.pieces.append(left)
            out.append(ToolCallDelta(call.content_index, left))

    def _show(self, call: OpenCall, out: list[Event]) -> None:
        self.end(out)
        call.content_index = len(self._all)
        self._all.append(call)
        out.append(ToolCallStart(call.content_index, call.name or "", call.id))
        for piece in call.pieces:  # held back until it had a name
            out.append(ToolCallDelta(call.content_index, piece))

    def _id_of(self, call: OpenCall) -> str:
        if call.id is not None:
            return call.id
        taken = {other.id for other in self._calls.calls if other.id is not None}
        for place, other in enumerate(self._calls.calls):
            if other.id is None:
                made = made_up_id(f"toolcall:{place}", taken)
                if other is call:
                    return made
                taken.add(made)
        raise LookupError("a call that is in no table")

    # ---- the message ----

    def content(self, *, ended: bool, cut: bool) -> list[AssistantBlock]:
        """A snapshot of the content. ``ended``: nothing more comes; ``cut``: it ended by length, error or abort."""
        content: list[AssistantBlock] = []
        for block in self._all:
            if isinstance(block, OpenCall):
                content.append(finished_call(block, self._id_of(block), ended=ended, cut=cut))
            elif block.kind == "text":
                content.append(TextContent(text=block.content))
            else:
                content.append(ThinkingContent(thinking=block.content, thinking_signature=block.signature))
        return content
