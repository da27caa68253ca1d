"""Many streams of one client at once: aborting some at any moment never harms the others, and nothing is left."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable

import pytest

import nodrop
from nodrop.events import Failed, TextDelta
from nodrop.testing import MistralServer, Reply, finish, start, text
from nodrop.testing.records import RecordedRequest
from tests.client.harness import KEY, SIDES, Side, nothing_left

STREAMS, ABORTS, AT_ONCE = 300, 200, 24
WORDS = 10
SYNC = [side for side in SIDES if not side.is_async]
ASYNC = [side for side in SIDES if side.is_async]


def answer(request: RecordedRequest) -> Reply:
    """Repeats the marker of the prompt in every word, at a pace that differs from stream to stream."""
    marker = request.body["messages"][-1]["content"]
    words = [text(f"{marker}:{number} ") for number in range(WORDS)]
    return Reply.stream(start(), *words, finish(), delay=0.002 * (1 + request.number % 4))


def whole(marker: str) -> str:
    return "".join(f"{marker}:{number} " for number in range(WORDS))


class Tally:
    """What became of the streams; the random numbers are seeded, the moments they meet are not."""

    def __init__(self) -> None:
        self.chance = random.Random(20261201)
        self.done = self.aborted = 0
        self.wrong: list[str] = []
        self.slowest = 0.0
        self.lock = threading.Lock()
        self.plans = [number % 3 != 0 for number in range(STREAMS)]  # ABORTS of them
        self.moments = [self.chance.random() * 0.08 for _ in range(STREAMS)]

    def count(self, number: int, message: nodrop.AssistantMessage, seen: str, since_abort: float) -> None:
        marker, aborted = f"m{number}", self.plans[number]
        right = whole(marker)
        with self.lock:
            if seen != message.text or not right.startswith(message.text):
                self.wrong.append(f"{marker}: foreign or lost text")
            if message.stop_reason == "stop" and message.text == right:
                self.done += 1
            elif message.stop_reason == "aborted" and aborted:
                self.aborted += 1
                self.slowest = max(self.slowest, since_abort)
            else:
                self.wrong.append(f"{marker}: {message.stop_reason} {message.error_message}")

    def check(self, side: Side) -> None:
        print(f"{side}: {self.aborted} aborted, {self.done} whole, slowest abort {self.slowest * 1000:.0f} ms")
        assert self.wrong == []
        assert sum(self.plans) == ABORTS
        assert self.done + self.aborted == STREAMS
        assert self.aborted > ABORTS / 4  # most come before the end
        assert self.slowest < 1.0


def _abort_later(moment: float, abort: Callable[[], None]) -> tuple[threading.Timer, list[float]]:
    at: list[float] = []

    def strike() -> None:
        at.append(time.monotonic())
        abort()

    timer = threading.Timer(moment, strike)
    timer.start()
    return timer, at


@pytest.mark.parametrize("side", SYNC, ids=str)
def test_threads_of_one_blocking_client(side: Side) -> None:
    tally = Tally()
    numbers = iter(range(STREAMS))
    turn = threading.Lock()

    def work(client: nodrop.Client) -> None:
        while True:
            with turn:
                number = next(numbers, None)
            if number is None:
                return
            stream = client.stream("mistral-test", f"m{number}")
            timer, at = _abort_later(tally.moments[number], stream.abort) if tally.plans[number] else (None, [])
            seen = "".join(event.delta for event in stream if isinstance(event, TextDelta))
            ended = time.monotonic()
            if timer is not None:
                timer.cancel()
                timer.join()
            tally.count(number, stream.message, seen, max((ended - moment for moment in at), default=0.0))

    with nothing_left(), MistralServer(handler=answer) as server, side.http(verify=False) as http:
        with nodrop.Client(api_key=KEY, base_url=server.url, http_client=http, max_retries=0) as client:
            threads = [threading.Thread(target=work, args=(client,)) for _ in range(AT_ONCE)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert client.complete("mistral-test", "again").text.startswith("again:0")
            pool = http._transport._pool
            assert [each for each in pool.connections if not each.is_idle()] == []
            assert pool._requests == []
    tally.check(side)


@pytest.mark.parametrize("side", ASYNC, ids=str)
async def test_tasks_of_one_asyncio_client(side: Side) -> None:
    tally = Tally()
    numbers = iter(range(STREAMS))

    async def work(client: nodrop.AsyncClient) -> None:
        for number in numbers:
            stream = client.stream("mistral-test", f"m{number}")
            loop = asyncio.get_running_loop()
            at: list[float] = []
            timer: asyncio.TimerHandle | None = None
            if tally.plans[number]:

                def strike(stream: nodrop.AsyncStream = stream, at: list[float] = at) -> None:
                    at.append(time.monotonic())
                    stream.abort()

                timer = loop.call_later(tally.moments[number], strike)
            seen = ""
            async for event in stream:
                if isinstance(event, TextDelta):
                    seen += event.delta
                elif isinstance(event, Failed):
                    break  # a consumer may leave here
            ended = time.monotonic()
            if timer is not None:
                timer.cancel()
            tally.count(number, stream.message, seen, max((ended - moment for moment in at), default=0.0))

    with nothing_left(), MistralServer(handler=answer) as server:
        async with (
            side.http(verify=False) as http,
            nodrop.AsyncClient(api_key=KEY, base_url=server.url, http_client=http, max_retries=0) as client,
        ):
            async with asyncio.TaskGroup() as tasks:
                for _ in range(AT_ONCE):
                    tasks.create_task(work(client))
            assert (await client.complete("mistral-test", "again")).text.startswith("again:0")
            pool = http._transport._pool
            assert [each for each in pool.connections if not each.is_idle()] == []
            assert pool._requests == []
    tally.check(side)
