"""One way to write a test of the client, for the blocking and the asyncio one, on httpx and on httpx2.

A test is a coroutine that gets a ``side``. On an asyncio side it runs in an event loop; on a blocking side nothing in
it ever suspends, so it runs by itself, and each ``await`` is an ordinary call.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

import httpx
import httpx2

import nodrop
from nodrop.content import AssistantMessage
from nodrop.events import Done, Event, Failed, Start
from nodrop.testing import MistralServer
from tests.core.driving import check_events

Result = TypeVar("Result")
KEY = "nodrop-testing-key"
FREE_WITHIN = 1.0
"""The bound of the tests for an abort; the target is 0.1 s, and benchmarks/abort.py measures it."""
_FDS = Path("/proc/self/fd")


@dataclass(frozen=True)
class Side:
    """Which client: blocking or not, on which HTTP library."""

    family: str
    is_async: bool

    def __str__(self) -> str:
        return f"{self.family}-{'async' if self.is_async else 'sync'}"

    def run(self, test: Coroutine[Any, Any, Result]) -> Result:
        """Runs a test."""
        if self.is_async:
            return asyncio.run(test)
        try:
            test.send(None)
        except StopIteration as end:
            result: Result = end.value
            return result
        test.close()
        raise AssertionError("a blocking side has nothing to wait for")

    def http(self, **options: Any) -> Any:
        """An HTTP client of this side, the caller's own."""
        module: Any = {"httpx": httpx, "httpx2": httpx2}[self.family]
        return (module.AsyncClient if self.is_async else module.Client)(**options)

    @asynccontextmanager
    async def client(self, server: MistralServer | str, **settings: Any) -> AsyncGenerator[Client]:
        """A client of this side; on httpx it has its own HTTP client, on httpx2 an injected one."""
        url = server if isinstance(server, str) else server.url
        given = settings.pop("http_client", None)
        http = given
        if http is None and self.family == "httpx2":
            http = self.http(verify=not url.startswith("http:"))  # without TLS it opens faster
        cls: Any = nodrop.AsyncClient if self.is_async else nodrop.Client
        client = Client(cls(**{"api_key": KEY, "base_url": url, "http_client": http} | settings), self)
        try:
            yield client
        finally:
            await client.close()
            if http is not None and given is None:
                await self.close(http)

    async def close(self, http: Any) -> None:
        """Closes an HTTP client of this side."""
        if self.is_async:
            await http.aclose()
        else:
            http.close()


SIDES = [Side(family, is_async) for family in ("httpx", "httpx2") for is_async in (False, True)]


class Client:
    """A client with awaitable calls."""

    def __init__(self, raw: Any, side: Side) -> None:
        self.raw = raw
        self.side = side

    async def close(self) -> None:
        await self._done(self.raw.close())

    async def complete(self, prompt: Any = "Hi", **options: Any) -> AssistantMessage:
        message: AssistantMessage = await self._done(self.raw.complete("mistral-test", prompt, **options))
        return message

    def stream(self, prompt: Any = "Hi", **options: Any) -> Stream:
        return Stream(self.raw.stream("mistral-test", prompt, **options), self.side)

    def wire_stream(self, request: Any, **options: Any) -> Stream:
        return Stream(self.raw.wire.stream(request, **options), self.side)

    async def wire_complete(self, request: Any, **options: Any) -> Any:
        return await self._done(self.raw.wire.complete(request, **options))

    async def ask(self, prompt: Any = "Hi", **options: Any) -> Outcome:
        """Streams an answer to its end."""
        async with self.stream(prompt, **options) as stream:
            return await stream.outcome()

    async def _done(self, result: Any) -> Any:
        return await result if self.side.is_async else result


class Stream:
    """A stream with an asynchronous face."""

    def __init__(self, raw: Any, side: Side) -> None:
        self.raw = raw
        self.side = side

    async def __aenter__(self) -> Self:
        if self.side.is_async:
            await self.raw.__aenter__()
        else:
            self.raw.__enter__()
        return self

    async def __aexit__(self, *facts: Any) -> None:
        if self.side.is_async:
            await self.raw.__aexit__(*facts)
        else:
            self.raw.__exit__(*facts)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        if self.side.is_async:
            return await self.raw.__anext__()
        try:
            return next(self.raw)
        except StopIteration:
            raise StopAsyncIteration from None

    async def next(self, kind: type[Any]) -> Any:
        """The next event of a kind."""
        async for event in self:
            if isinstance(event, kind):
                return event
        raise AssertionError(f"no {kind.__name__} came")

    async def outcome(self, before: list[Event] | None = None) -> Outcome:
        """The rest of the events, to the end. ``before`` are those that were read already."""
        events = [*(before or ()), *[event async for event in self]]
        return Outcome(events, self.message, self.raw._driver.flow.error, time.monotonic())

    @property
    def message(self) -> AssistantMessage:
        message: AssistantMessage = self.raw.message
        return message

    def abort(self) -> None:
        self.raw.abort()

    async def close(self) -> None:
        result = self.raw.close()
        if self.side.is_async:
            await result

    async def final_message(self) -> AssistantMessage:
        result = self.raw.final_message()
        message: AssistantMessage = await result if self.side.is_async else result
        return message


@dataclass
class Outcome:
    """How a stream ended; the invariants of any stream are checked."""

    events: list[Event]
    message: AssistantMessage
    error: nodrop.NodropError | None
    ended_at: float
    kinds: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.kinds = [event.type for event in self.events]
        last = self.events[-1]
        assert isinstance(last, Done | Failed)
        assert last.message == self.message
        if isinstance(self.events[0], Start):
            check_events(self.events)
        else:
            assert self.kinds == ["error"]
        if isinstance(last, Failed):
            assert last.exception is self.error
            assert self.error is not None
            assert self.message.error_message == str(self.error)
        else:
            assert self.error is None

    @property
    def text(self) -> str:
        return self.message.text

    @property
    def reason(self) -> str:
        return self.message.stop_reason


class Aborter:
    """Aborts from another thread as soon as a fact holds, and measures how long it takes until the caller is free."""

    def __init__(self, abort: Callable[[], None], fact: Callable[[], object]) -> None:
        self.at = 0.0
        self._abort = abort
        self._fact = fact
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="aborter")
        self._thread.start()

    def _run(self) -> None:
        try:
            self._fact()
        except BaseException as error:  # noqa: BLE001 - shown by the thread that waits; the abort comes all the same
            self._failure = error
        self.at = time.monotonic()
        self._abort()

    def freed(self, what: str, moment: float | None = None) -> float:
        """The seconds from the abort to ``moment`` (now), printed; never more than the bound."""
        moment = time.monotonic() if moment is None else moment
        self._thread.join()
        if self._failure is not None:
            raise self._failure
        took = moment - self.at
        print(f"{what}: free after {took * 1000:.1f} ms")
        assert took < FREE_WITHIN
        return took


def open_files() -> int:
    """File descriptors of this process; 0 where they cannot be counted."""
    return len(os.listdir(_FDS)) if _FDS.exists() else 0


def until(condition: Callable[[], bool], what: str, seconds: float = 3.0) -> None:
    """Waits for what no event tells of: threads that end, descriptors that close, the states of sockets."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what} within {seconds} s"
        time.sleep(0.002)


@contextmanager
def nothing_left() -> Generator[None]:
    """Checks that the block leaves no thread and no descriptor behind."""
    threads, files = set(threading.enumerate()), open_files()
    yield

    def left() -> list[str]:
        return [thread.name for thread in threading.enumerate() if thread not in threads]

    until(lambda: not left(), "the end of the threads that the block started")
    until(lambda: open_files() <= files, f"{files} descriptors, not {open_files()}")


def connecting_to(url: str) -> Callable[[], None]:
    """A wait until this machine is in the middle of connecting to a URL's port (Linux)."""
    port = f":{int(url.rpartition(':')[2]):04X}"

    def syn_sent() -> bool:
        rows = [line.split() for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
        mine = [row for row in rows if row[2].endswith(port) and row[3] == "02" and row[9] in _own_inodes()]
        return bool(mine)

    return lambda: until(syn_sent, "a connection under way")


def _own_inodes() -> set[str]:
    """The sockets of this process that wait for a connection; the fillers of ``unanswered_url`` are left out."""
    found: set[str] = set()
    for entry in _FDS.iterdir():
        try:
            target = os.readlink(entry)
        except OSError:
            continue  # closed meanwhile
        if target.startswith("socket:["):
            found.add(target[8:-1])
    return found
