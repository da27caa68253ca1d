"""What strikes in the middle of our own code: an interrupt or a signal handler, between any two lines of it.

A signal handler runs in the main thread between two bytecodes, and may raise (Ctrl-C does) or call ``abort()``. Both
are played at every line of the driver that a stream passes, one line a run.
"""

from __future__ import annotations

import linecache
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import nodrop
from nodrop.client import abort, guard, sender, sync, sync_driver
from nodrop.events import Done, Failed
from nodrop.testing import MistralServer, Reply, Stall, finish, start, text
from tests.client.harness import KEY, until

FILES = {str(module.__file__) for module in (abort, guard, sender, sync, sync_driver)}
WHOLE = Reply.stream(start(), text("Hel"), text("lo"), finish())


class Interrupt(BaseException):
    """Like KeyboardInterrupt, but pytest does not take it for one."""


class At:
    """Calls ``strike`` once, at the ``number``-th line of ours that the main thread passes; ``struck`` is where."""

    def __init__(self, number: int, strike: Callable[[], None]) -> None:
        self.left = number
        self.struck = ""
        self._strike = strike
        self._before = (0, 0)

    def __enter__(self) -> At:
        sys.settrace(self._trace)
        return self

    def __exit__(self, *facts: object) -> None:
        sys.settrace(None)

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename not in FILES or frame.f_code.co_name == "_observe":
            return (
                None  # not our code, or called in the middle of httpcore's own closing, which we cannot take up again
            )
        if event == "line" and not self._leaves_with(frame):
            self.left -= 1
            if self.left == 0:
                self.struck = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
                sys.settrace(None)
                self._strike()
                return None
        return self._trace

    def _leaves_with(self, frame: FrameType) -> bool:
        """Whether the line is the end of a with block: between it and its exit CPython takes no signal."""
        before, self._before = self._before, (id(frame), frame.f_lineno)
        source = linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip()
        return source.startswith("with ") and before[0] == id(frame) and before[1] > frame.f_lineno


def _read(client: nodrop.Client, stream: nodrop.Stream) -> None:
    with stream:
        for _ in stream:
            pass


def _at_work(client: nodrop.Client) -> bool:
    pool = client._http._transport._pool
    return not all(connection.is_idle() or connection.is_closed() for connection in pool.connections)


def _interrupt() -> None:
    raise Interrupt


def test_an_interrupt_at_any_line_leaks_nothing(server: MistralServer) -> None:
    # In a thread of its own: an exception that a trace function raises at the first line of an ``except`` block stays
    # the thread's handled exception for ever (CPython 3.11), and would be the context of every later error.
    with ThreadPoolExecutor(max_workers=1) as executor:
        seen = executor.submit(_interrupted_at_every_line, server).result()
    print(f"{len(seen)} lines")
    assert len(seen) > 100


def _interrupted_at_every_line(server: MistralServer) -> set[str]:
    server.enqueue(WHOLE, repeat=True)
    seen: set[str] = set()
    with nodrop.Client(api_key=KEY, base_url=server.url) as client:
        for number in range(1, 10_000):
            stream = client.stream("mistral-test", "Hi")
            strike = At(number, _interrupt)
            try:
                with strike:
                    _read(client, stream)
            except Interrupt:
                stream.close()  # for the lines of leaving the block itself
            if not strike.struck:
                break
            seen.add(strike.struck)
            assert not stream._driver.holds_connection, strike.struck
            assert stream.message.stop_reason in ("aborted", "stop"), strike.struck
            until(lambda: not _at_work(client), f"an end of all connections after {strike.struck}")
        else:
            raise AssertionError("the stream never got through")
        assert client.complete("mistral-test", "Hi").text == "Hello"
    return seen


@pytest.mark.parametrize("place", ["goes on", "before_headers", "in_the_body"])
def test_an_abort_by_a_signal_handler_at_any_line_deadlocks_nowhere(server: MistralServer, place: str) -> None:
    """The handler interrupts the thread that reads: whatever lock that holds, abort() and close() must not need it."""
    reply = WHOLE
    if place != "goes on":
        stall = "before_headers" if place == "before_headers" else WHOLE.size - 40
        reply = WHOLE.with_faults(Stall(at=stall, seconds=0.1))  # type: ignore[arg-type]
    server.enqueue(reply, repeat=True)
    step = 1 if place == "goes on" else 31
    finished = threading.Event()
    seen: list[str] = []

    def run() -> None:
        with nodrop.Client(api_key=KEY, base_url=server.url) as client:
            for number in range(1, 10_000, step):
                stream = client.stream("mistral-test", "Hi")

                def handler(stream: nodrop.Stream = stream, number: int = number) -> None:
                    stream.abort()
                    if number % 2:
                        stream.close()

                with At(number, handler) as strike:
                    terminals = [event for event in stream if isinstance(event, Done | Failed)]
                if not strike.struck:
                    break
                seen.append(strike.struck)
                stream.close()
                assert len(terminals) == 1, strike.struck
                assert not stream._driver.holds_connection, strike.struck
        finished.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(60)
    assert finished.is_set(), f"stuck or failed after {seen[-1:]}"
    print(f"{len(seen)} lines")
