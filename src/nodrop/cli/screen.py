"""Shows the events of an answer: for people, live, or as JSON lines for programs."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import Final, TextIO, assert_never

from nodrop.content import AssistantMessage, ToolCall, Usage
from nodrop.events import (
    Done,
    Event,
    Failed,
    Start,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    event_to_json,
)
from nodrop.rate_card import ESTIMATE_NOTICE

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]")


class Screen:
    """Writes an answer as it arrives. ``status`` is the exit status, known after the terminal event.

    The answer, with its thinking, calls and citations, goes to standard output; what is said about it (usage, notes, an
    error) to ``notes``, standard error: so a failure shows although the answer goes to a file. JSON is all on standard
    output.
    """

    def __init__(self, *, as_json: bool = False, notes: TextIO | None = None) -> None:
        self.status = 1
        self._json = as_json
        self._out = sys.stdout
        self._notes = sys.stderr if notes is None else notes
        self._at_line_start = True

    def show(self, event: Event) -> None:
        """Shows one event at once."""
        if isinstance(event, Done | Failed):
            self.status = _status_of(event)
        if self._json:
            self._out.write(json.dumps(event_to_json(event), ensure_ascii=False) + "\n")
        else:
            self._show(event)
        self._out.flush()

    def show_all(self, events: Iterator[Event] | list[Event]) -> int:
        """Shows every event; gives the exit status."""
        for event in events:
            self.show(event)
        return self.status

    def line(self, text: str, *, dim: bool = False) -> None:
        """One line that belongs to the answer, or stands between answers; not in JSON output."""
        if not self._json:
            self._fresh_line()
            self._write(text, dim=dim)
            self._fresh_line()
            self._out.flush()

    def note(self, text: str, *, dim: bool = True) -> None:
        """One line about the answer; not in JSON output."""
        if not self._json:
            self._fresh_line()
            self._out.flush()
            self._notes.write(_styled(text, self._notes, dim=dim) + "\n")
            self._notes.flush()

    def write(self, text: str) -> None:
        """Text of an answer, as far as it came; not in JSON output."""
        if not self._json:
            self._write(text)
            self._out.flush()

    def _show(self, event: Event) -> None:
        match event:
            case Start() | TextStart() | ThinkingStart() | ToolCallDelta():
                pass  # what they announce is shown with what follows
            case TextDelta():
                self._write(event.delta)
            case ThinkingDelta():
                self._write(event.delta, dim=True)
            case TextEnd() | ThinkingEnd():
                self._fresh_line()
            case ToolCallStart():
                self.line(f"→ {event.tool_name} …", dim=True)
            case ToolCallEnd():
                self.line(_call_line(event.tool_call))
            case Done():
                self._summary(event.message)
            case Failed():
                self.note(f"{event.reason}: {event.message.error_message}", dim=False)
                self._summary(event.message)
            case _:
                assert_never(event)

    def _summary(self, message: AssistantMessage) -> None:
        for citation in message.citations:
            ids = ", ".join(str(number) for number in citation.ids)
            self.line(f"[{ids}] cited in block {citation.content_index} at character {citation.offset}", dim=True)
        self.note(f"{message.stop_reason} · {usage_line(message.usage)}")
        for note in message.diagnostics:
            self.note(f"note: {note.type} {json.dumps(note.details) if note.details else ''}".rstrip())

    def _write(self, text: str, *, dim: bool = False) -> None:
        if text:
            self._out.write(_styled(text, self._out, dim=dim))
            self._at_line_start = text.endswith("\n")

    def _fresh_line(self) -> None:
        if not self._at_line_start:
            self._out.write("\n")
            self._at_line_start = True


def _styled(text: str, out: TextIO, *, dim: bool) -> str:
    shown = _CONTROL.sub(_visible, text)  # an answer must not steer the terminal
    coloured = dim and out.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    return f"\x1b[2m{shown}\x1b[0m" if coloured else shown


def usage_line(usage: Usage) -> str:
    """Tokens and the cost estimate in one line."""
    if not usage.reported:
        return "the server reported no usage"
    cached = f" + {usage.cache_read} cached" if usage.cache_read else ""
    reasoning = f" ({usage.reasoning} reasoning)" if usage.reasoning else ""
    cost = "no rate known" if usage.cost is None else f"${usage.cost.total:.6f}, {ESTIMATE_NOTICE}"
    return f"{usage.input}{cached} tokens in, {usage.output}{reasoning} out · {cost}"


def _call_line(call: ToolCall) -> str:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    if call.complete:
        return f"→ {call.name}({arguments}) {call.id}"
    return f"→ {call.name} {call.id}: incomplete, not to be run: {call.arguments_error}"


def _visible(control: re.Match[str]) -> str:
    return f"\\x{ord(control[0]):02x}"


def _status_of(event: Done | Failed) -> int:
    if isinstance(event, Done):
        return 0
    return 130 if event.reason == "aborted" else 1


class aborting_on_interrupt:  # noqa: N801 - it reads as what it does: `with aborting_on_interrupt(stream.abort):`
    """While it is entered, Ctrl-C calls ``abort`` instead of raising: the answer ends, and what arrived is kept."""

    def __init__(self, abort: Callable[[], None]) -> None:
        self._abort = abort

    def __enter__(self) -> None:
        import signal

        self._before = signal.signal(signal.SIGINT, self._on_signal)

    def _on_signal(self, number: int, frame: object) -> None:
        self._abort()

    def __exit__(self, *_: object) -> None:
        import signal

        signal.signal(signal.SIGINT, self._before)
