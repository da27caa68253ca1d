"""1,000 aborts at random points: each an error result that says so, nothing of the answer in it, nothing after it."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable
from typing import Final

import nodrop
from nodrop.testing import MistralServer, Place, Reply, Stall, finish, reference, text, thinking
from nodrop.testing.records import RecordedRequest
from tests.document_query.driving import LIBRARY, MODEL

COUNT: Final = 500  # on each of the two clients: half of them by the clock, half at a preview
BY_CLOCK: Final = "by clock"
BY_PREVIEW: Final = "by preview"
BODY = Reply.stream(thinking("Hm"), *(text("SECRET ") for _ in range(20)), reference(0), finish())
WHOLE = Reply.whole("SECRET " * 20)


class Server:
    """Answers up to a random byte, or not at all, and then says nothing more: so an abort always comes in time."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lock = threading.Lock()

    def answer(self, request: RecordedRequest) -> Reply:
        reply = BODY if request.streamed else WHOLE
        with self.lock:
            places: list[Place] = ["before_headers", "in_headers", self.random.randrange(reply.size), reply.size - 14]
            place = self.random.choice(places)
        if request.body["messages"][0]["content"] == BY_PREVIEW:
            place = reply.size - 14  # behind the answer, before its end
        return reply.with_faults(Stall(at=place))


class Updates:
    """Counts the previews, and those that came when none may come any more; may abort at one of them."""

    def __init__(self, abort: Callable[[], None], abort_at: int) -> None:
        self.abort = abort
        self.abort_at = abort_at
        self.over = False
        self.count = 0
        self.late = 0

    def __call__(self, so_far: str) -> None:
        assert set(so_far.split()) <= {"SECRET", "SECRET[0]", "[0]"}
        self.count += 1
        self.late += self.over
        if self.count == self.abort_at:
            self.over = True
            self.abort()


def check(result: nodrop.ToolResult, updates: Updates) -> None:
    updates.over = True
    assert result.is_error
    assert result.details["aborted"] is True
    assert result.structured_content is None
    assert "SECRET" not in result.model_dump_json()


def plan(number: int, rng: random.Random) -> tuple[str, bool, int]:
    """The question, whether it is streamed, and at which preview to abort (0: at none)."""
    return (BY_PREVIEW, True, rng.randint(1, 21)) if number % 2 else (BY_CLOCK, bool(number % 4), 0)


def test_on_the_blocking_client() -> None:
    rng = random.Random(20261201)
    all_updates: list[Updates] = []
    before = threading.active_count()
    with MistralServer(handler=Server(1).answer) as server:
        with nodrop.Client(api_key=server.api_key, base_url=server.url) as client:
            for number in range(COUNT):
                question, streaming, abort_at = plan(number, rng)
                query = nodrop.DocumentQuery(
                    client, library_ids=[LIBRARY], model=MODEL, streaming=streaming, preview_interval=0
                )
                signal = nodrop.AbortSignal()
                updates = Updates(signal.abort, abort_at)
                aborting = threading.Timer(rng.choice([0.0, rng.uniform(0, 0.004)]), signal.abort)
                if question == BY_CLOCK:
                    aborting.start()
                check(query.run(question, abort=signal, on_update=updates), updates)
                if question == BY_CLOCK:
                    aborting.join()
                all_updates.append(updates)
        server.wait_for_open_connections(0)
    assert sum(updates.late for updates in all_updates) == 0
    assert [updates.count for updates in all_updates if updates.abort_at] == [
        updates.abort_at for updates in all_updates if updates.abort_at
    ]
    assert threading.active_count() <= before


def test_on_asyncio() -> None:
    rng = random.Random(20261202)
    all_updates: list[Updates] = []

    async def one(client: nodrop.AsyncClient, number: int) -> None:
        question, streaming, abort_at = plan(number, rng)
        query = nodrop.AsyncDocumentQuery(
            client, library_ids=[LIBRARY], model=MODEL, streaming=streaming, preview_interval=0
        )
        signal = nodrop.AbortSignal()
        updates = Updates(signal.abort, abort_at)
        if question == BY_CLOCK:
            asyncio.get_running_loop().call_later(rng.choice([0.0, rng.uniform(0, 0.1)]), signal.abort)
        check(await query.run(question, abort=signal, on_update=updates), updates)
        all_updates.append(updates)

    async def run(server: MistralServer) -> None:
        async with nodrop.AsyncClient(api_key=server.api_key, base_url=server.url) as client:
            for first in range(0, COUNT, 20):
                await asyncio.gather(*(one(client, number) for number in range(first, first + 20)))
        async with asyncio.timeout(
            5
        ):  # the loop closes dropped generators in tasks of its own, which take a turn or two
            while len(asyncio.all_tasks()) > 1:
                await asyncio.sleep(0)
        await asyncio.to_thread(server.wait_for_open_connections, 0)

    with MistralServer(handler=Server(2).answer) as server:
        asyncio.run(run(server))
    assert len(all_updates) == COUNT
    assert sum(updates.late for updates in all_updates) == 0
    assert [updates.count for updates in all_updates if updates.abort_at] == [
        updates.abort_at for updates in all_updates if updates.abort_at
    ]
