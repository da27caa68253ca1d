"""Previews: the whole text so far, growing, throttled, the first at once, the last before the end, none afterwards."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nodrop
from nodrop.testing import MistralServer, Reply, Stall, finish, reference, text, thinking
from nodrop.testing.wire import StreamItem
from nodrop.wire import CompletionChunk
from tests.document_query.driving import LIBRARY, MODEL, new_query

WORDS = [f"word{number} " for number in range(40)]
ITEMS: list[StreamItem] = [
    thinking("Hm."),
    *(text(word) for word in WORDS[:20]),
    reference(0),
    *(text(w) for w in WORDS[20:]),
]
ANSWER = "".join(WORDS[:20]) + "[0]" + "".join(WORDS[20:])


@pytest.fixture
def client(mistral_server: MistralServer) -> Iterator[nodrop.Client]:
    with nodrop.Client(api_key=mistral_server.api_key, base_url=mistral_server.url, max_retries=0) as made:
        yield made


def query_of(client: nodrop.Client, interval: float = 0.0) -> nodrop.DocumentQuery:
    return nodrop.DocumentQuery(client, library_ids=[LIBRARY], model=MODEL, streaming=True, preview_interval=interval)


def wire_text(value: str) -> CompletionChunk:
    return CompletionChunk.model_validate(text(value))


@given(
    gaps=st.lists(st.tuples(st.floats(0, 0.3), st.text("ab😀", max_size=3)), min_size=1, max_size=40),
    interval=st.sampled_from([0.0, 0.05, 0.1]),
)
def test_the_throttle(gaps: list[tuple[float, str]], interval: float) -> None:
    query = new_query(preview_seconds=interval)
    now, whole = 100.0, ""
    shown: list[tuple[float, str]] = []
    for gap, piece in gaps:
        now += gap
        whole += piece
        query.take(wire_text(piece), None)
        preview = query.preview(now)
        if preview is not None:
            shown.append((now, preview))
            assert preview == whole
        elif shown:
            assert now - shown[-1][0] < interval or shown[-1][1] == whole
        else:
            assert not whole, "the first preview comes at once"
    last = query.last_preview(now)
    if last is not None:
        shown.append((now, last))
    texts = [each for _, each in shown]
    assert texts == sorted(set(texts), key=len)
    assert (texts[-1] if texts else "") == whole
    times = [at for at, _ in shown[: -1 if last is not None else None]]
    assert all(later - earlier >= interval for earlier, later in itertools.pairwise(times))


def test_half_a_character_waits() -> None:
    query = new_query(preview_seconds=0)
    query.take(_halves("a\\ud83d"), None)
    assert query.preview(0.0) == "a"
    query.take(_halves("\\ude00"), None)
    assert query.preview(1.0) == "a😀"


def _halves(escaped: str) -> CompletionChunk:
    chunk = wire_text("")
    assert chunk.choices
    chunk.choices[0].delta.content = escaped.encode().decode("unicode_escape")
    return chunk


def test_each_preview_is_the_text_so_far_and_the_last_one_is_whole(
    mistral_server: MistralServer, client: nodrop.Client
) -> None:
    mistral_server.enqueue(Reply.stream(*ITEMS, finish()))
    shown: list[str] = []
    result = query_of(client).run("?", on_update=shown.append)
    assert result.text == ANSWER == shown[-1]
    assert shown[0] == WORDS[0]
    assert len(shown) == 41
    assert all(later.startswith(earlier) and len(later) > len(earlier) for earlier, later in itertools.pairwise(shown))


def test_the_default_rate_is_sensible(mistral_server: MistralServer, client: nodrop.Client) -> None:
    mistral_server.enqueue(Reply.stream(*ITEMS, finish(), delay=0.01))
    shown: list[str] = []
    query_of(client, 0.1).run("?", on_update=shown.append)
    assert 3 <= len(shown) <= 7
    assert shown[-1] == ANSWER


def test_the_first_preview_comes_while_the_answer_is_generated(
    mistral_server: MistralServer, client: nodrop.Client
) -> None:
    reply = Reply.stream(text("First."), text(" Second."), finish())
    mistral_server.enqueue(reply.with_faults(Stall(at=len(reply.parts[0]), seconds=0.3)))
    began = time.monotonic()
    at: list[float] = []
    query_of(client).run("?", on_update=lambda _: at.append(time.monotonic() - began))
    assert at[0] < 0.2 < 0.3 <= at[1]


def test_execute_gives_whole_partial_results(mistral_server: MistralServer, client: nodrop.Client) -> None:
    mistral_server.enqueue(Reply.stream(text("A"), text("B"), finish()))
    partial: list[nodrop.ToolResult] = []
    query_of(client).execute("call-1", {"question": "?"}, None, partial.append)
    assert [each.text for each in partial] == ["A", "AB"]
    assert all(each.details["partial"] and not each.is_error for each in partial)
    assert all(each.structured_content is None for each in partial)


class CallbackFailed(nodrop.ServerError):
    """An exception of the callback that looks like one of the request's."""


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, CallbackFailed, nodrop.AbortedError])
def test_an_exception_in_the_callback_ends_the_query_and_propagates(
    kind: type[BaseException], mistral_server: MistralServer
) -> None:
    reply = Reply.stream(text("A"), text("B"), finish())
    mistral_server.enqueue(reply.with_faults(Stall(at=len(reply.parts[0]))))

    def fail(_: str) -> None:
        raise kind("mine")

    with nodrop.Client(api_key=mistral_server.api_key, base_url=mistral_server.url) as client:
        with pytest.raises(kind, match="mine"):
            query_of(client).run("?", on_update=fail)
        mistral_server.wait_for_open_connections(0)


def test_so_it_does_on_asyncio_and_a_coroutine_function_is_awaited(mistral_server: MistralServer) -> None:
    reply = Reply.stream(text("A"), text("B"), finish())
    mistral_server.enqueue(reply, reply.with_faults(Stall(at=len(reply.parts[0]))))
    shown: list[str] = []

    async def show(so_far: str) -> None:
        await asyncio.sleep(0)
        shown.append(so_far)

    async def fail(_: str) -> None:
        raise CallbackFailed("mine")

    async def run() -> None:
        async with nodrop.AsyncClient(api_key=mistral_server.api_key, base_url=mistral_server.url) as client:
            query = nodrop.AsyncDocumentQuery(
                client, library_ids=[LIBRARY], model=MODEL, streaming=True, preview_interval=0
            )
            assert (await query.run("?", on_update=show)).text == "AB"
            with pytest.raises(CallbackFailed, match="mine"):
                await query.run("?", on_update=fail)
        await asyncio.to_thread(mistral_server.wait_for_open_connections, 0)

    asyncio.run(run())
    assert shown == ["A", "AB"]


def test_one_shot_has_one_preview(mistral_server: MistralServer, client: nodrop.Client) -> None:
    mistral_server.enqueue(Reply.whole("All."))
    shown: list[str] = []
    query = nodrop.DocumentQuery(client, library_ids=[LIBRARY], model=MODEL, streaming=False)
    assert query.run("?", on_update=shown.append).text == "All."
    assert shown == ["All."]


def test_a_failure_has_no_preview_after_it(mistral_server: MistralServer, client: nodrop.Client) -> None:
    mistral_server.enqueue(Reply.stream(text("A"), text("B"), done=False))
    shown: list[str] = []
    assert query_of(client, 60.0).run("?", on_update=shown.append).is_error
    assert shown == ["A"]
