"""One contestant of the benchmark, in a process of its own.

``python benchmarks/contestants.py NAME BASE_URL EVENTS`` reads a stream of EVENTS text deltas in the contestant's
ordinary way, three times, and prints one line of JSON: the process's CPU seconds for the fastest of them (user and
system), how many deltas and characters it handed out. A short stream before them, on the same client, takes the imports
and first-use costs out of the figure. The floor then reads one more and counts the reads from the socket that it took.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

MODEL = "mistral-small-latest"
WARM_UP = 100
STREAMS = 3
"""Of which the fastest counts: what else a machine does can make a stream slower, and never faster."""


class Seen(NamedTuple):
    """What a client handed out for one stream."""

    deltas: int
    characters: int


class Measured(NamedTuple):
    """``reads`` is how many times the socket was read for such a stream; ``None`` where that is not counted."""

    seen: Seen
    cpu: float
    reads: int | None = None


def measure(stream: Callable[[int], Seen], events: int) -> Measured:
    stream(WARM_UP)
    runs: list[Measured] = []
    for _ in range(STREAMS):
        before = time.process_time()
        seen = stream(events)
        runs.append(Measured(seen, time.process_time() - before))
    return min(runs, key=lambda run: run.cpu)


async def measure_async(stream: Callable[[int], Awaitable[Seen]], events: int) -> Measured:
    await stream(WARM_UP)
    runs: list[Measured] = []
    for _ in range(STREAMS):
        before = time.process_time()
        seen = await stream(events)
        runs.append(Measured(seen, time.process_time() - before))
    return min(runs, key=lambda run: run.cpu)


# ---- the floor: what no client on httpx and pydantic can go below ----


class Floor:
    """Splits server-sent events at blank lines and validates each into a slim model. No errors, no odd forms."""

    def __init__(self) -> None:
        from pydantic import BaseModel, TypeAdapter

        class Delta(BaseModel):
            content: str | None = None

        class Choice(BaseModel):
            delta: Delta
            finish_reason: str | None = None

        class Chunk(BaseModel):
            choices: list[Choice]

        # Local classes: their annotations cannot be found by name.
        for model in (Choice, Chunk):
            model.model_rebuild(_types_namespace={"Delta": Delta, "Choice": Choice})
        self._validate = TypeAdapter(Chunk).validate_json
        self._rest = b""
        self.deltas = self.characters = 0

    def feed(self, block: bytes) -> None:
        self._rest += block
        while (end := self._rest.find(b"\n\n")) >= 0:
            data = self._rest[6:end]
            self._rest = self._rest[end + 2 :]
            if data == b"[DONE]":
                return
            text = self._validate(data).choices[0].delta.content
            if text:
                self.deltas += 1
                self.characters += len(text)

    @property
    def seen(self) -> Seen:
        return Seen(self.deltas, self.characters)


def request(events: int) -> dict[str, object]:
    return {"model": MODEL, "stream": True, "messages": [{"role": "user", "content": str(events)}]}


def floor_sync(base_url: str, events: int) -> Measured:
    import httpx

    reads = 0

    with httpx.Client(base_url=base_url) as client:

        def stream(count: int, *, counting: bool = False) -> Seen:
            floor = Floor()
            with client.stream("POST", "/v1/chat/completions", json=request(count)) as response:
                if counting:
                    network = response.extensions["network_stream"]
                    read = network.read

                    def counted(*args: Any, **kwargs: Any) -> bytes:
                        nonlocal reads
                        reads += 1
                        block: bytes = read(*args, **kwargs)
                        return block

                    network.read = counted
                for block in response.iter_raw():
                    floor.feed(block)
            return floor.seen

        measured = measure(stream, events)
        stream(events, counting=True)
        return measured._replace(reads=reads)


def floor_async(base_url: str, events: int) -> Measured:
    import httpx

    reads = 0

    async def main() -> Measured:
        async with httpx.AsyncClient(base_url=base_url) as client:

            async def stream(count: int, *, counting: bool = False) -> Seen:
                floor = Floor()
                async with client.stream("POST", "/v1/chat/completions", json=request(count)) as response:
                    if counting:
                        network = response.extensions["network_stream"]
                        read = network.read

                        async def counted(*args: Any, **kwargs: Any) -> bytes:
                            nonlocal reads
                            reads += 1
                            block: bytes = await read(*args, **kwargs)
                            return block

                        network.read = counted
                    async for block in response.aiter_raw():
                        floor.feed(block)
                return floor.seen

            measured = await measure_async(stream, events)
            await stream(events, counting=True)
            return measured._replace(reads=reads)

    return asyncio.run(main())


# ---- nodrop ----


def nodrop_sync(base_url: str, events: int) -> Measured:
    import nodrop

    def stream(count: int) -> Seen:
        deltas = characters = 0
        with client.stream(MODEL, str(count)) as answer:
            for event in answer:
                if event.type == "text_delta":
                    deltas += 1
                    characters += len(event.delta)
        answer.final_message()  # a failed stream must not count as a fast one
        return Seen(deltas, characters)

    with nodrop.Client(api_key="benchmark", base_url=base_url) as client:
        return measure(stream, events)


def nodrop_async(base_url: str, events: int) -> Measured:
    import nodrop

    async def main() -> Measured:
        async def stream(count: int) -> Seen:
            deltas = characters = 0
            async with client.stream(MODEL, str(count)) as answer:
                async for event in answer:
                    if event.type == "text_delta":
                        deltas += 1
                        characters += len(event.delta)
            await answer.final_message()
            return Seen(deltas, characters)

        async with nodrop.AsyncClient(api_key="benchmark", base_url=base_url) as client:
            return await measure_async(stream, events)

    return asyncio.run(main())


# ---- the official client ----


def mistralai_sync(base_url: str, events: int) -> Measured:
    from mistralai.client import Mistral

    def stream(count: int) -> Seen:
        deltas = characters = 0
        messages: Any = [{"role": "user", "content": str(count)}]
        with client.chat.stream(model=MODEL, messages=messages) as answer:
            for event in answer:
                text = event.data.choices[0].delta.content
                if text:
                    deltas += 1
                    characters += len(text)
        return Seen(deltas, characters)

    with Mistral(api_key="benchmark", server_url=base_url) as client:
        return measure(stream, events)


def mistralai_async(base_url: str, events: int) -> Measured:
    from mistralai.client import Mistral

    async def main() -> Measured:
        async def stream(count: int) -> Seen:
            deltas = characters = 0
            messages: Any = [{"role": "user", "content": str(count)}]
            async with await client.chat.stream_async(model=MODEL, messages=messages) as answer:
                async for event in answer:
                    text = event.data.choices[0].delta.content
                    if text:
                        deltas += 1
                        characters += len(text)
            return Seen(deltas, characters)

        async with Mistral(api_key="benchmark", server_url=base_url) as client:
            return await measure_async(stream, events)

    return asyncio.run(main())


CONTESTANTS = {
    "floor-sync": floor_sync,
    "floor-async": floor_async,
    "nodrop-sync": nodrop_sync,
    "nodrop-async": nodrop_async,
    "mistralai-sync": mistralai_sync,
    "mistralai-async": mistralai_async,
}


def main() -> None:
    name, base_url, events = sys.argv[1:]
    measured = CONTESTANTS[name](base_url, int(events))
    streams = STREAMS + (measured.reads is not None)  # the one in which reads are counted
    print(json.dumps({"cpu": measured.cpu, "reads": measured.reads, "streams": streams, **measured.seen._asdict()}))


if __name__ == "__main__":
    main()
