"""How long an abort takes to free the caller, in each state of a request: the 50th and 95th percentile.

    .venv/bin/python benchmarks/abort.py [rounds]

Each abort comes from another thread, against the embedded server on loopback; the clock runs from before the call of
``abort()`` until the terminal event is in the consumer's hands. The target is 100 ms for every state (95th percentile).
"""

from __future__ import annotations

import asyncio
import logging
import statistics
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import nodrop
from nodrop.testing import Comments, IgnoreClose, MistralServer, Reply, Stall, finish, start, text, unanswered_url
from nodrop.testing.wire import encode_item

ROUNDS = 100
TARGET_MS = 100.0
ITEMS = [start(), text("Hel"), text("lo")]
SIZE = sum(len(encode_item(item)) for item in ITEMS)
WHOLE = Reply.stream(*ITEMS, finish())
OPEN = Reply.stream(*ITEMS, done=False)
RETRY = Reply.error(500, "Later", headers={"retry-after": "30"})

# What the server plays, and the fact after which the abort comes.
STATES: dict[str, tuple[Reply | None, str]] = {
    "before the request": (WHOLE, "at once"),
    "connecting": (None, "after a pause"),
    "waiting for the head, new connection": (WHOLE.with_faults(Stall(at="before_headers")), "request"),
    "waiting for the head, reused connection": (WHOLE.with_faults(Stall(at="before_headers")), "request"),
    "in the backoff": (RETRY, "retry"),
    "between events": (WHOLE.with_faults(Stall(at=SIZE)), "text"),
    "inside an event": (WHOLE.with_faults(Stall(at=SIZE + 30)), "text"),
    "comments without end": (OPEN.with_faults(Comments()), "text"),
    "close ignored": (OPEN.with_faults(Stall(at="end"), IgnoreClose()), "text"),
}


class Round:
    """One request that is aborted; ``took`` is in seconds."""

    def __init__(self, state: str, client_class: Any) -> None:
        self.reply, self.fact = STATES[state]
        self.warm = "reused" in state
        self.client_class = client_class
        self.seen, self.retrying = threading.Event(), threading.Event()
        self.aborted_at = self.took = 0.0

    def abort(self, stream: Any, server: MistralServer) -> None:
        waits: dict[str, Callable[[], object]] = {
            "at once": lambda: None,
            "after a pause": lambda: time.sleep(0.03),
            "request": lambda: server.wait_for_requests(1 + self.warm),
            "retry": lambda: self.retrying.wait(5),
            "text": lambda: self.seen.wait(5),
        }
        waits[self.fact]()
        time.sleep(0.002)  # the consumer goes back to its wait
        self.aborted_at = time.monotonic()
        stream.abort()

    def note(self, event: Any) -> None:
        if isinstance(event, nodrop.TextDelta):
            self.seen.set()
        elif isinstance(event, nodrop.Failed):
            self.took = time.monotonic() - self.aborted_at

    def client(self, server: MistralServer, stack: ExitStack) -> Any:
        url = server.url if self.reply is not None else stack.enter_context(unanswered_url())
        if self.warm:
            server.enqueue(WHOLE)
        if self.reply is not None:
            server.enqueue(self.reply)
        bounds = nodrop.Timeouts(connect=0.5)
        return self.client_class(
            api_key=server.api_key, base_url=url, timeouts=bounds, on_retry=lambda _: self.retrying.set()
        )

    def run(self) -> float:
        with MistralServer() as server, ExitStack() as stack:
            client = self.client(server, stack)
            if self.client_class is nodrop.AsyncClient:
                asyncio.run(self._async(client, server))
            else:
                self._sync(client, server)
        return self.took

    def _sync(self, client: nodrop.Client, server: MistralServer) -> None:
        with client:
            if self.warm:
                client.complete("m", "Hi")
            stream = client.stream("m", "Hi")
            if self.fact == "at once":
                self.abort(stream, server)
            else:
                aborter = threading.Thread(target=self.abort, args=(stream, server))
                aborter.start()
            for event in stream:
                self.note(event)
            if self.fact != "at once":
                aborter.join()

    async def _async(self, client: nodrop.AsyncClient, server: MistralServer) -> None:
        async with client:
            if self.warm:
                await client.complete("m", "Hi")
            stream = client.stream("m", "Hi")
            if self.fact == "at once":
                self.abort(stream, server)
            else:
                aborter = threading.Thread(target=self.abort, args=(stream, server))
                aborter.start()
            async for event in stream:
                self.note(event)
            if self.fact != "at once":
                await asyncio.to_thread(aborter.join)


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    missed = 0
    logging.getLogger("nodrop").setLevel(logging.ERROR)  # the backoffs are meant
    print(f"{'state':40} {'client':12} {'p50 ms':>8} {'p95 ms':>8} {'worst':>8}   ({rounds} rounds)")
    for state in STATES:
        for client_class in (nodrop.Client, nodrop.AsyncClient):
            took = sorted(1000 * Round(state, client_class).run() for _ in range(rounds))
            p95 = took[min(int(len(took) * 0.95), len(took) - 1)]
            late = "" if p95 <= TARGET_MS else f"  over {TARGET_MS:g} ms"
            missed += bool(late)
            median = statistics.median(took)
            print(f"{state:40} {client_class.__name__:12} {median:8.2f} {p95:8.2f} {took[-1]:8.2f}{late}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
