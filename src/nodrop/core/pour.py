"""The command of a flow for the body of a stream, which is the way of every event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from nodrop.core.sink import Sink

Item = TypeVar("Item")


class Pour(Generic[Item]):
    """Read the body into the sink, block by block, until it has ended or what is read is no bytes.

    While a body pours the flow steps aside, for this is the way of every event: a client calls ``due``, reads until
    ``deadline``, feeds the ``sink``, and hands its items to the consumer. ``full`` is that of :class:`Read`.
    """

    __slots__ = ("_clock", "_end", "_events", "_silence", "deadline", "full", "sink")

    def __init__(self, sink: Sink[Item], clock: Callable[[], float], silence: float, end: float | None) -> None:
        self.deadline = 0.0
        self.full = False
        self.sink = sink
        self._clock = clock
        self._silence = silence
        self._end = end  # of the total timeout
        self._events = -1

    def due(self) -> None:
        """Sets the deadline of the next read. Only an event ends a silence: a comment does not."""
        events = self.sink.events
        self.full = events != self._events and self._end is None
        if events != self._events:
            self._events = events
            deadline = self._clock() + self._silence
            self.deadline = deadline if self._end is None else min(deadline, self._end)
