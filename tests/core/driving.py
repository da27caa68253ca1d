"""Drives the decoder over scripted bodies. Every run checks the invariants that hold for any body whatever."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from nodrop.content import AssistantMessage, TextContent, ThinkingContent, ToolCall
from nodrop.core.decoder import Decoder
from nodrop.errors import NodropError
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
from nodrop.testing.wire import DONE, StreamItem, encode_item, encode_json

NOW = 1_750_000_000_000


@dataclass(frozen=True)
class Outcome:
    """What a body became."""

    events: list[Event]
    message: AssistantMessage
    error: NodropError | None

    @property
    def text(self) -> str:
        return self.message.text

    @property
    def thinking(self) -> str:
        return self.message.thinking

    @property
    def notes(self) -> list[str]:
        return [note.type for note in self.message.diagnostics]

    @property
    def short(self) -> list[str]:
        """The events between start and the terminal one, each as a word: ``text_start 0``, ``text_delta 0 'Hi'``."""
        return [_short(event) for event in self.events[1:-1]]


def pieces(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    """``data`` cut at the given places."""
    places = [0, *sorted(cut for cut in cuts if cut <= len(data)), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(places)]


def body(*items: StreamItem, done: bool = True) -> bytes:
    """The bytes of a stream."""
    return b"".join(encode_item(item) for item in items) + (DONE if done else b"")


def run(*items: StreamItem, done: bool = True, **options: Any) -> Outcome:
    """A stream of ``items``, with ``[DONE]`` unless told otherwise."""
    return run_blocks([body(*items, done=done)], **options)


def run_blocks(blocks: Sequence[bytes], **options: Any) -> Outcome:
    """A stream that comes in these blocks."""
    decoder = Decoder(now=lambda: NOW, **options)
    events = [event for block in blocks for event in decoder.feed(block)]
    events += decoder.close()
    return _outcome(decoder, events)


def run_whole(value: object, **options: Any) -> Outcome:
    """A body that is plain JSON (bytes stay as they are)."""
    decoder = Decoder(now=lambda: NOW, **options)
    return _outcome(decoder, decoder.whole(value if isinstance(value, bytes) else encode_json(value)))


def _outcome(decoder: Decoder, events: list[Event]) -> Outcome:
    assert decoder.feed(b"data: {}\n\n") == decoder.close() == decoder.abort() == []  # nothing after the terminal event
    check_events(events)
    terminal = events[-1]
    assert isinstance(terminal, Done | Failed)
    assert decoder.message == terminal.message
    if isinstance(terminal, Failed):
        assert decoder.error is terminal.exception
        assert terminal.message.error_message == str(decoder.error)
    else:
        assert decoder.error is None
    return Outcome(events, decoder.message, decoder.error)


def check_events(events: Sequence[Event]) -> None:
    """The invariants of contract 1, for any whole run."""
    assert isinstance(events[0], Start)
    assert isinstance(events[-1], Done | Failed)
    shown = [""] * len(events[-1].message.content)
    opened: dict[int, type[Event]] = {}
    ended: set[int] = set()
    for event in events[1:-1]:
        assert not isinstance(event, Start | Done | Failed)
        index = event.content_index
        match event:
            case TextStart() | ThinkingStart() | ToolCallStart():
                assert index == len(opened)  # from 0, without gaps
                if not isinstance(event, ToolCallStart):
                    others = [place for place, kind in opened.items() if kind is not ToolCallStart]
                    assert ended.issuperset(others)  # text and thinking come one at a time
                opened[index] = type(event)
            case TextDelta() | ThinkingDelta() | ToolCallDelta():
                assert event.delta
                assert index not in ended
                assert opened[index] is {TextDelta: TextStart, ThinkingDelta: ThinkingStart}.get(
                    type(event), ToolCallStart
                )
                shown[index] += event.delta
            case TextEnd() | ThinkingEnd():
                assert opened[index] is (TextStart if isinstance(event, TextEnd) else ThinkingStart)
                assert event.content == shown[index]
                assert index not in ended
                ended.add(index)
            case ToolCallEnd():
                assert opened[index] is ToolCallStart
                assert event.tool_call.raw_arguments == shown[index]
                assert index not in ended
                ended.add(index)
    _check_message(events, shown, opened, ended)


def _check_message(events: Sequence[Event], shown: list[str], opened: dict[int, type[Event]], ended: set[int]) -> None:
    terminal = events[-1]
    assert isinstance(terminal, Done | Failed)
    message = terminal.message
    assert message.stop_reason == terminal.reason
    assert set(opened) == set(range(len(message.content)))
    if isinstance(terminal, Done):
        assert ended == set(opened)
    names = {event.content_index: event.tool_name for event in events if isinstance(event, ToolCallStart)}
    ids = {event.content_index: event.id for event in events if isinstance(event, ToolCallStart)}
    for index, block in enumerate(message.content):
        if isinstance(block, TextContent):
            assert (opened[index], shown[index]) == (TextStart, block.text)
        elif isinstance(block, ThinkingContent):
            assert (opened[index], shown[index]) == (ThinkingStart, block.thinking)
        else:
            assert isinstance(block, ToolCall)
            assert (opened[index], shown[index]) == (ToolCallStart, block.raw_arguments)
            assert names[index] == block.name
            assert ids[index] in (None, block.id)
    ends = {event.content_index: event.tool_call for event in events if isinstance(event, ToolCallEnd)}
    assert all(message.content[index] == call for index, call in ends.items())
    call_ids = [call.id for call in message.tool_calls]
    assert all(call_ids)
    for citation in message.citations:
        cited = message.content[citation.content_index]
        whole = cited.text if isinstance(cited, TextContent) else getattr(cited, "thinking", "")
        marker = f"[{', '.join(map(str, citation.ids))}]"
        assert whole[citation.offset : citation.offset + citation.length] == marker
    assert AssistantMessage.model_validate_json(message.model_dump_json(by_alias=True)) == message
    for event in events:
        encode_json(event_to_json(event))  # is JSON, and UTF-8


def _short(event: Event) -> str:
    match event:
        case ToolCallStart():
            return f"{event.type} {event.content_index} {event.tool_name} {event.id}"
        case TextStart() | ThinkingStart():
            return f"{event.type} {event.content_index}"
        case TextDelta() | ThinkingDelta() | ToolCallDelta():
            return f"{event.type} {event.content_index} {event.delta!r}"
        case TextEnd() | ThinkingEnd():
            return f"{event.type} {event.content_index}"
        case ToolCallEnd():
            return f"{event.type} {event.content_index}"
        case _:
            return event.type
