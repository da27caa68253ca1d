"""Queries over real HTTP: what is sent, both forms, the refusal of stream_options, and every kind of failure."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

import nodrop
from nodrop.testing import (
    ABSENT,
    Cut,
    MistralServer,
    Reply,
    Stall,
    error_body,
    finish,
    message,
    reference,
    reference_part,
    start,
    text,
    text_part,
    tool_message,
    usage,
)
from tests.document_query.driving import LIBRARY, MODEL, surface

Run = Callable[..., nodrop.ToolResult]
QUESTION = "Was änderte sich? 😀"
COUNTS = usage(30, 7, cached_tokens=10)
SOURCES = json.dumps({"0": {"title": "Pilot book"}})
STREAMED = Reply.stream(
    start(), tool_message(SOURCES, tool_call_id="c"), text("Nichts "), text("viel"), reference(0), finish(usage=COUNTS)
)
WHOLE = Reply.whole(
    messages=[
        message(SOURCES, role="tool", tool_call_id="c"),
        message([text_part("Nichts viel"), reference_part(0)]),
    ],
    usage=COUNTS,
)


def run_sync(
    server: MistralServer, *, streaming: bool = True, preview_interval: float = 0.1, **options: Any
) -> nodrop.ToolResult:
    with nodrop.Client(api_key=server.api_key, base_url=server.url, max_retries=0) as client:
        query = nodrop.DocumentQuery(
            client, library_ids=[LIBRARY], model=MODEL, streaming=streaming, preview_interval=preview_interval
        )
        return query.run(QUESTION, **options)


def run_async(
    server: MistralServer, *, streaming: bool = True, preview_interval: float = 0.1, **options: Any
) -> nodrop.ToolResult:
    async def run() -> nodrop.ToolResult:
        async with nodrop.AsyncClient(api_key=server.api_key, base_url=server.url, max_retries=0) as client:
            query = nodrop.AsyncDocumentQuery(
                client, library_ids=[LIBRARY], model=MODEL, streaming=streaming, preview_interval=preview_interval
            )
            return await query.run(QUESTION, **options)

    return asyncio.run(run())


@pytest.fixture(params=[run_sync, run_async], ids=["sync", "async"])
def run(request: pytest.FixtureRequest) -> Run:
    given: Run = request.param
    return given


# ---- the requests ----

ONE_SHOT = (
    '{"messages":[{"content":"Was änderte sich? 😀","role":"user"}],"model":"mistral-test",'
    '"tools":[{"library_ids":["lib-1"],"type":"document_library"}],"stream":false}'
).encode()


def test_streaming_off_sends_exactly_the_one_shot_request_and_gives_the_same_result(
    mistral_server: MistralServer, run: Run
) -> None:
    mistral_server.enqueue(STREAMED, WHOLE)
    by_stream, by_whole = run(mistral_server), run(mistral_server, streaming=False)
    streamed_request, one_shot_request = mistral_server.requests
    assert one_shot_request.raw_body == ONE_SHOT
    rest = {key: value for key, value in streamed_request.body.items() if key not in ("stream", "stream_options")}
    assert rest == {key: value for key, value in one_shot_request.body.items() if key != "stream"}
    assert streamed_request.body["stream"] is True
    assert streamed_request.body["stream_options"] == {"include_usage": True}
    assert surface(by_stream) == surface(by_whole)
    assert by_stream.usage == by_whole.usage
    assert (by_stream.details["streamed"], by_whole.details["streamed"]) == (True, False)


def test_sync_and_async_send_the_same_bytes(mistral_server: MistralServer) -> None:
    mistral_server.enqueue(STREAMED, STREAMED)
    assert surface(run_sync(mistral_server)) == surface(run_async(mistral_server))
    first, second = mistral_server.requests
    assert first.raw_body == second.raw_body


def test_the_result(mistral_server: MistralServer, run: Run) -> None:
    mistral_server.enqueue(STREAMED)
    result = run(mistral_server)
    assert result.text == "Nichts viel[0]"
    assert result.citations == [{"ids": [0], "offset": 11, "length": 3, "references": {"0": {"title": "Pilot book"}}}]
    assert result.details == {
        "model": MODEL,
        "library_ids": [LIBRARY],
        "streamed": True,
        "aborted": False,
        "request_id": "simulated-000000",
        "response_id": "cmpl-nodrop-testing",
        "response_model": "mistral-test",
        "finish_reason": "stop",
    }
    counted = result.usage
    assert (counted.input, counted.cache_read, counted.output, counted.total_tokens) == (20, 10, 7, 37)
    assert counted.cost == nodrop.Cost()
    assert not result.is_error


def test_the_json_is_in_the_words_of_pi(mistral_server: MistralServer, run: Run) -> None:
    mistral_server.enqueue(STREAMED)
    result = run(mistral_server)
    written = json.loads(result.model_dump_json(by_alias=True))
    assert list(written) == ["content", "structuredContent", "details", "usage", "isError"]
    assert list(written["structuredContent"]) == ["answer", "chunks", "citations", "tool_messages"]
    assert nodrop.ToolResult.model_validate_json(json.dumps(written)) == result


def test_without_usage_the_zeros_are_not_measured(mistral_server: MistralServer, run: Run) -> None:
    mistral_server.enqueue(Reply.stream(text("A"), finish(usage=ABSENT)))
    counted = run(mistral_server).usage
    assert (counted.reported, counted.cost) == (False, nodrop.Cost())


def test_a_whole_completion_in_place_of_a_stream_is_read(mistral_server: MistralServer, run: Run) -> None:
    mistral_server.enqueue(WHOLE, STREAMED)
    assert surface(run(mistral_server)) == surface(run(mistral_server, streaming=False))


def test_a_stream_without_its_end_marker_is_done_with_a_diagnostic(mistral_server: MistralServer, run: Run) -> None:
    mistral_server.enqueue(Reply.stream(text("A"), finish(), done=False))
    result = run(mistral_server)
    assert (result.text, result.details["diagnostics"]) == ("A", [{"type": "no_done_marker"}])


# ---- stream_options ----

REFUSED = Reply.json(
    422,
    {
        "detail": [
            {"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}
        ]
    },
)


def test_refused_stream_options_are_left_out_once(mistral_server: MistralServer, run: Run) -> None:
    mistral_server.enqueue(REFUSED, STREAMED)
    result = run(mistral_server)
    assert result.text == "Nichts viel[0]"
    assert result.details["diagnostics"] == [{"type": "stream_options_refused", "details": {"retried_without": True}}]
    first, second = mistral_server.requests
    assert second.body == {key: value for key, value in first.body.items() if key != "stream_options"}
    assert second.body["stream"] is True


def test_only_once(mistral_server: MistralServer, run: Run) -> None:
    mistral_server.enqueue(REFUSED, REFUSED)
    result = run(mistral_server)
    assert result.is_error
    assert result.details["error"]["status"] == 422
    assert len(mistral_server.requests) == 2


@pytest.mark.parametrize(
    "reply",
    [
        Reply.json(422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "tools"], "msg": "no"}]}),
        Reply.error(400, "stream_options: no"),
        Reply.stream(text("Half"), error_body("stream_options: no", code=422, raw_status_code=422), done=False),
    ],
    ids=["another field", "another status", "inside a stream"],
)
def test_another_refusal_is_final(reply: Reply, mistral_server: MistralServer, run: Run) -> None:
    mistral_server.enqueue(reply)
    assert run(mistral_server).is_error
    assert len(mistral_server.requests) == 1


def test_a_one_shot_request_that_is_refused_is_not_sent_again(mistral_server: MistralServer, run: Run) -> None:
    mistral_server.enqueue(REFUSED)
    assert run(mistral_server, streaming=False).is_error
    assert len(mistral_server.requests) == 1


# ---- failures: never a success ----

HALF = Reply.stream(text("Half an answer that must"), text(" not be shown"), finish(usage=COUNTS))
HALF_WHOLE = Reply.whole("Half an answer that must not be shown")
NOT_FOUND = Reply.error(404, "Library lib-1 does not exist in this workspace", type="not_found")
IN_STREAM = {"error": {"message": "retrieval backend unavailable", "type": "server_error"}}
FAILURES: dict[str, tuple[Reply, Reply, str, str]] = {
    "an error object inside a 200": (
        Reply.stream(text("Half an answer"), IN_STREAM, done=False),
        Reply.json(200, IN_STREAM),
        "ServerError",
        "retrieval backend unavailable",
    ),
    "an error envelope inside a 200": (
        Reply.stream(text("Half an answer"), error_body("the index is gone", code=500), done=False),
        Reply.json(200, error_body("the index is gone", code=500)),
        "ServerError",
        "the index is gone",
    ),
    "finish reason error": (
        Reply.stream(text("Half an answer"), finish("error", usage=COUNTS)),
        Reply.whole("Half an answer", finish_reason="error", usage=COUNTS),
        "ServerReportedError",
        "finish_reason 'error'",
    ),
    "cut off": (
        Reply.stream(text("Half an answer"), done=False),
        Reply.whole("Half an answer", finish_reason=None),
        "StreamTruncatedError",
        "cut off",
    ),
    "a broken connection": (
        HALF.with_faults(Cut(at=len(HALF.parts[0]))),
        HALF_WHOLE.with_faults(Cut(at=40)),
        "ConnectionFailed",
        "the connection to 127.0.0.1",
    ),
    "an empty answer": (Reply.stream(start(), finish()), Reply.whole(None), "EmptyAnswer", "empty"),
    "an answer of blanks": (Reply.stream(text(" \n"), finish()), Reply.whole(" \n"), "EmptyAnswer", "empty"),
    "a library that does not exist": (NOT_FOUND, NOT_FOUND, "NotFoundError", "Library lib-1 does not exist"),
}  # fmt: skip


@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "one-shot"])
@pytest.mark.parametrize("kind", FAILURES)
def test_a_failure_is_never_a_success(kind: str, streaming: bool, mistral_server: MistralServer, run: Run) -> None:
    by_stream, by_whole, error, words = FAILURES[kind]
    mistral_server.enqueue(by_stream if streaming else by_whole)
    result = run(mistral_server, streaming=streaming)
    assert result.is_error
    assert words in result.text
    assert result.details["error"]["type"] == error
    assert not result.details["aborted"]
    assert "Half an answer" not in result.model_dump_json()
    assert result.details["request_id"] == "simulated-000000" or kind == "a broken connection"
    mistral_server.wait_for_open_connections(0)


def test_an_empty_answer_keeps_what_was_thought_and_what_tools_said(mistral_server: MistralServer, run: Run) -> None:
    mistral_server.enqueue(Reply.stream(tool_message("nothing found", tool_call_id="c"), finish(usage=COUNTS)))
    result = run(mistral_server)
    assert result.is_error
    assert result.structured_content is not None
    assert result.structured_content["tool_messages"][0]["content"] == [text_part("nothing found")]
    assert result.usage.output == 7


@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "one-shot"])
@pytest.mark.parametrize("shape", ["before", "in the head", "in the body", "with the last preview"])
def test_both_shapes_of_abort(shape: str, streaming: bool, mistral_server: MistralServer, run: Run) -> None:
    signal = nodrop.AbortSignal()
    reply = HALF if streaming else HALF_WHOLE
    stalls = {"in the head": Stall(at="before_headers"), "in the body": Stall(at=30)}
    mistral_server.enqueue(reply.with_faults(stalls[shape]) if shape in stalls else reply)
    shown: list[str] = []
    if shape == "before":
        signal.abort()
        mistral_server.enqueue(reply)  # nothing may take the replies
    if shape in stalls:

        def abort_when_it_waits() -> None:
            mistral_server.wait_for_requests(1)
            if shape == "in the body":
                mistral_server.wait_for_bytes(30)
            signal.abort()

        aborting = threading.Thread(target=abort_when_it_waits)
        aborting.start()

    def show(so_far: str) -> None:
        shown.append(so_far)
        if shape == "with the last preview" and so_far.endswith("shown"):
            signal.abort()

    result = run(mistral_server, streaming=streaming, abort=signal, on_update=show)
    if shape in stalls:
        aborting.join()
    assert result.is_error
    assert result.details["aborted"] is True
    assert result.structured_content is None
    assert "Half an answer" not in result.model_dump_json()
    if shape == "before":
        assert not mistral_server.requests
        mistral_server._script.clear()
    mistral_server.wait_for_open_connections(0)


def test_what_is_buffered_at_the_abort_is_shown_no_more(mistral_server: MistralServer, run: Run) -> None:
    mistral_server.enqueue(Reply.stream(*(text(f"{number} ") for number in range(50)), finish(), packets="whole"))
    signal = nodrop.AbortSignal()
    shown: list[str] = []

    def show(so_far: str) -> None:
        shown.append(so_far)
        signal.abort()

    result = run(mistral_server, abort=signal, on_update=show, preview_interval=0)
    assert (result.is_error, result.details["aborted"], len(shown)) == (True, True, 1)


def test_an_abort_that_surfaces_as_a_transport_error_is_an_abort(mistral_server: MistralServer, run: Run) -> None:
    signal = nodrop.AbortSignal()
    mistral_server.enqueue(HALF.with_faults(Cut(at=len(HALF.parts[0]))))
    result = run(mistral_server, abort=signal, on_update=lambda _: signal.abort())
    assert (result.is_error, result.details["aborted"]) == (True, True)


def test_a_closed_client_is_the_callers_mistake(mistral_server: MistralServer) -> None:
    client = nodrop.Client(api_key=mistral_server.api_key, base_url=mistral_server.url)
    client.close()
    query = nodrop.DocumentQuery(client, library_ids=[LIBRARY], model=MODEL, streaming=True)
    with pytest.raises(nodrop.ConfigurationError, match="closed"):
        query.run("?")


def test_cancelling_the_task_propagates_and_leaks_nothing(mistral_server: MistralServer) -> None:
    mistral_server.enqueue(HALF.with_faults(Stall(at=30)))

    async def run() -> None:
        async with nodrop.AsyncClient(api_key=mistral_server.api_key, base_url=mistral_server.url) as client:
            query = nodrop.AsyncDocumentQuery(client, library_ids=[LIBRARY], model=MODEL, streaming=True)
            task = asyncio.ensure_future(query.run("?"))
            await asyncio.to_thread(mistral_server.wait_for_bytes, 30)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.to_thread(mistral_server.wait_for_open_connections, 0)

    asyncio.run(run())


def test_a_query_that_is_built_wrong() -> None:
    blocking: Any
    on_asyncio: Any
    blocking, on_asyncio = nodrop.Client(api_key="x"), nodrop.AsyncClient(api_key="x")
    wrong: list[tuple[Any, Any, dict[str, Any], str]] = [
        (nodrop.DocumentQuery, on_asyncio, {}, "takes a nodrop.Client, not a Python AsyncClient"),
        (nodrop.AsyncDocumentQuery, blocking, {}, "takes a nodrop.AsyncClient, not a Python Client"),
        (nodrop.DocumentQuery, None, {}, "not a Python NoneType"),
        (nodrop.DocumentQuery, blocking, {"streaming": "no"}, "streaming is True or False"),
        (nodrop.DocumentQuery, blocking, {"preview_interval": "x"}, "preview_interval is seconds"),
    ]
    for kind, client, given, words in wrong:
        with pytest.raises(nodrop.ConfigurationError, match=words):
            kind(client, library_ids=["a"], **given)


def test_a_call_with_the_wrong_kinds() -> None:
    async def tell(text: str) -> None:
        del text

    with nodrop.Client(api_key="x") as client:
        query = nodrop.DocumentQuery(client, library_ids=["a"], model="m", streaming=True)
        wrong: list[tuple[dict[str, Any], str]] = [
            ({"on_update": 5}, "on_update is a function"),
            ({"on_update": tell}, "would never run"),
            ({"abort": 5}, "an AbortSignal, not a Python int"),
        ]
        for given, words in wrong:
            with pytest.raises(nodrop.ConfigurationError, match=words):
                query.run("?", **given)
