"""The command of a flow for the body of a stream, which is the way of every event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from nodrop.core.sinks import Sink

Item = TypeVar("Item")


class Pour(Generic[Item]):
    """Read the body into the sink, block by block, until it has ended or what is read is no bytes.

    While a body pours the flow steps aside, for this is the way of every event: a client calls ``due``, reads until
    ``deadline``, and hands the items that ``take`` gives to the consumer. ``full`` is that of :class:`Read`.
    """

    __slots__ = ("_clock", "_end", "_events", "_silence", "_sink", "deadline", "full")

    def __init__(self, sink: Sink[Item], clock: Callable[[], float], silence: float, end: float | None) -> None:
        self.deadline = 0.0
        self.full = False
        self._sink = sink
        self._clock = clock
        self._silence = silence
        self._end = end  # of the total timeout
        self._events = -1

    def due(self) -> None:
        """Sets the deadline of the next read. Only an event ends a silence: a comment does not."""
        events = self._sink.events
        self.full = events != self._events and self._end is None
        if events != self._events:
            self._events = events
            deadline = self._clock() + self._silence
            self.deadline = deadline if self._end is None else min(deadline, self._end)

    def take(self, block: bytes) -> list[Item]:
        """The items that ``block`` completes."""
        return self._sink.feed(block)

    @property
    def over(self) -> bool:
        """Whether the sink has ended: nothing more is to be read."""
        return self._sink.finished or self._sink.error is not None
