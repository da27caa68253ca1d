"""Contract 4, sentence by sentence: how a stream ends, and what a server says inside of one."""

from __future__ import annotations

from typing import Any

import pytest

from nodrop.core.decoder import Decoder
from nodrop.errors import (
    AbortedError,
    APIError,
    AuthenticationError,
    CapacityError,
    ConfigurationError,
    ConnectionFailed,
    ContextOverflowError,
    InvalidRequestError,
    NodropError,
    RateLimitError,
    ServerError,
    ServerReportedError,
    StatusError,
    StreamProtocolError,
    StreamTruncatedError,
)
from nodrop.testing.wire import (
    DONE,
    call_part,
    chunk,
    completion,
    encode_json,
    error_body,
    finish,
    start,
    text,
    tool_calls,
    usage,
)
from tests.core.driving import body, run, run_blocks, run_whole


@pytest.mark.parametrize(
    ("reason", "stop_reason"),
    [("stop", "stop"), ("length", "length"), ("model_length", "length"), ("tool_calls", "toolUse")],
)
def test_finish_reasons(reason: str, stop_reason: str) -> None:
    for outcome in (run(text("a"), finish(reason)), run_whole(completion("a", finish_reason=reason))):
        assert outcome.error is None
        assert outcome.message.stop_reason == stop_reason
        assert outcome.message.raw_stop_reason == reason
        assert outcome.notes == []
        assert [event.type for event in outcome.events[-2:]] == ["text_end", "done"]


def test_finish_reason_error() -> None:
    outcome = run(text("a"), finish("error"))
    assert isinstance(outcome.error, ServerReportedError)
    assert outcome.message.stop_reason == "error"
    assert outcome.message.raw_stop_reason == "error"
    assert outcome.short == ["text_start 0", "text_delta 0 'a'"]  # the open block gets no end


@pytest.mark.parametrize("reason", [None, ""])
@pytest.mark.parametrize("done", [True, False])
def test_null_and_empty_finish_reasons_are_not_finished(reason: str | None, done: bool) -> None:
    outcome = run(text("a"), finish(reason), done=done)
    assert isinstance(outcome.error, StreamTruncatedError)
    assert outcome.error.is_retryable
    assert outcome.text == "a"
    assert run(text("a", finish_reason=reason), finish()).error is None


def test_a_finish_reason_without_the_marker_is_done_with_a_diagnostic() -> None:
    outcome = run(text("a"), finish(), done=False)
    assert outcome.error is None
    assert outcome.notes == ["no_done_marker"]


def test_finish_on_a_chunk_with_content_or_calls() -> None:
    assert run(text("a", finish_reason="stop")).text == "a"
    calls = run(tool_calls(call_part("aaaaaaaa1", "f", "{}"), finish_reason="tool_calls"))
    assert [call.complete for call in calls.message.tool_calls] == [True]


def test_content_after_a_finish_reason_is_still_mapped() -> None:
    outcome = run(text("a", finish_reason="stop"), text("b"), chunk(choices=[], usage=usage(1, 2)))
    assert outcome.error is None
    assert outcome.text == "ab"
    assert outcome.message.usage.output == 2


def test_the_same_finish_reason_twice_is_one_and_a_different_one_is_an_error() -> None:
    assert run(text("a"), finish(), finish(), finish("")).error is None
    outcome = run(text("a"), finish("stop"), text("b", finish_reason="length"), text("c"))
    assert isinstance(outcome.error, StreamProtocolError)
    assert "stop" in str(outcome.error)
    assert "length" in str(outcome.error)
    assert outcome.text == "ab"


@pytest.mark.parametrize("marker", [b"data: [DONE]\n\n", b"data:[DONE]\n\n", b"data:  [DONE] \n\n", b"data: [DONE]"])
def test_after_the_marker_nothing_is_read(marker: bytes) -> None:
    rest = body(text("b"), chunk({"role": "tool"}), b"{broken\n")
    assert (
        run_blocks([body(text("a"), finish(), done=False) + marker + (rest if marker[-1:] == b"\n" else b"")]).text
        == "a"
    )
    blocks = [body(text("a"), finish(), done=False) + marker + b"\n\n", rest]
    assert run_blocks(blocks).error is None


# ---- cuts ----

CHUNKS = [start(), text("One "), text("é😀 two"), finish(usage=usage(1, 2))]


def test_wherever_it_cuts_the_end_is_an_error_or_done_and_the_partial_answer_is_kept() -> None:
    whole = body(*CHUNKS)
    ends = [len(body(*CHUNKS[:count], done=False)) - 2 for count in range(1, 5)]  # blank lines are not needed
    for place in range(len(whole) + 1):
        outcome = run_blocks([whole[:place]])
        kept = "One " * (place >= ends[1]) + "é😀 two" * (place >= ends[2])
        assert outcome.text == kept, place
        assert outcome.message.usage.reported is (place >= ends[3])
        if place < ends[3]:
            assert isinstance(outcome.error, StreamTruncatedError)
            assert outcome.error.partial == outcome.message
        else:
            assert outcome.error is None
            assert outcome.text == "One é😀 two"


def test_a_last_event_without_its_blank_line_counts_if_it_is_whole() -> None:
    assert run_blocks([body(text("a"), finish(), done=False).rstrip()]).text == "a"
    cut = run_blocks([body(text("a"), finish(), text("lost"), done=False)[:-5]])
    assert isinstance(cut.error, StreamTruncatedError)
    assert cut.text == "a"


@pytest.mark.parametrize("tail", [b"data: [", b"data: [DONE", b"data: [DON\n", b"data: ", b"da"])
def test_a_cut_marker_after_a_finish_reason_is_a_done_stream(tail: bytes) -> None:
    outcome = run_blocks([body(text("a"), finish(), done=False) + tail])
    assert outcome.error is None
    assert "no_done_marker" in outcome.notes


@pytest.mark.parametrize("nothing", [b"", b"\n\n", b": ping\n\n", b"data: [DONE]\n\n", b"data:\n\n", b"\xef\xbb\xbf"])
def test_a_stream_of_nothing_is_cut_and_never_an_empty_success(nothing: bytes) -> None:
    outcome = run_blocks([nothing])
    assert isinstance(outcome.error, StreamTruncatedError)
    assert ("before its first event" in str(outcome.error)) == (b"data" not in nothing)
    assert [event.type for event in outcome.events] == ["start", "error"]


def test_a_body_that_is_no_event_stream() -> None:
    page = b"<!doctype html>\n<html><title>502</title>\n<p>SECRET</p></html>"
    outcome = run_blocks([page])
    assert isinstance(outcome.error, StreamProtocolError)
    assert "SECRET" not in str(outcome.error)


def test_lines_that_are_no_event_are_noted() -> None:
    outcome = run(text("a"), b"what is this\nand: this\n", finish())
    assert outcome.error is None
    assert [note.details for note in outcome.message.diagnostics if note.type == "ignored_lines"] == [{"count": 2}]


def test_an_event_larger_than_the_bound_keeps_what_came_before_it() -> None:
    outcome = run(text("a"), text("x" * 5000), finish(), max_event_bytes=2000)
    assert isinstance(outcome.error, StreamProtocolError)
    assert outcome.text == "a"


# ---- what the server says inside a stream ----

FRAMES: dict[str, tuple[dict[str, Any], type[NodropError], int | None]] = {
    "an error object with a status": (
        {"error": {"message": "down", "type": "server_error", "code": 503}},
        ServerError,
        503,
    ),
    "a status in a string": ({"error": {"message": "down", "code": "529"}}, ServerError, 529),
    "an error that is a string": ({"error": "down"}, ServerReportedError, None),
    "an error object beside nothing known": ({"error": {"message": "down", "type": "odd"}}, ServerReportedError, None),
    "Mistral's envelope": (error_body("down", type="internal_server_error", code="3800"), ServerError, 500),
    "Mistral's envelope with a status": (error_body("down", type="odd", raw_status_code=503), ServerError, 503),
    "Mistral's envelope with a capital": (
        error_body("down", type="server_error") | {"object": "Error"},
        ServerError,
        500,
    ),
    "Mistral's envelope without object": (
        {"message": "down", "type": "internal_error", "code": "3000"},
        ServerError,
        500,
    ),
    "Mistral's envelope with the keys of a chunk": (
        {"object": "error", "id": "x", "model": "m", "message": "down", "type": "server_error"},
        ServerError,
        500,
    ),
    "a rate limit": (error_body("down", type="rate_limited", code="1300"), RateLimitError, 429),
    "capacity": (error_body("down", type="engine_max_pending_tokens"), CapacityError, 429),
    "a bare detail": ({"detail": "down", "status": 401}, AuthenticationError, 401),
    "an invalid request": (error_body("down", type="invalid_request_error"), InvalidRequestError, 400),
    "overflow": (error_body("down: prompt is too long", type="odd"), ContextOverflowError, None),
}


@pytest.mark.parametrize(("frame", "kind", "status"), FRAMES.values(), ids=FRAMES.keys())
@pytest.mark.parametrize("form", ["event", "error event", "unframed", "pretty", "last line", "body"])
def test_error_frames_raise_the_class_of_their_status_or_type(
    form: str, frame: dict[str, Any], kind: type[APIError], status: int | None
) -> None:
    data = encode_json(frame)
    pretty = data.replace(b"{", b"{\n").replace(b",", b",\n").replace(b"}", b"\n}")
    event = {
        "event": b"data: " + data + b"\n\n",
        "error event": b"event: error\ndata: " + data + b"\n\n",
        "unframed": data + b"\n",
        "pretty": pretty + b"\n",
        "last line": data,
        "body": b"",
    }[form]
    outcome = run_whole(data) if form == "body" else run_blocks([body(text("a"), done=False) + event])
    assert type(outcome.error) is kind
    assert isinstance(outcome.error, APIError)
    assert "down" in str(outcome.error)
    assert outcome.error.partial == outcome.message
    assert outcome.text == ("" if form == "body" else "a")
    if isinstance(outcome.error, StatusError):
        assert outcome.error.status == status
        assert outcome.error.in_stream
        assert "inside the stream" in str(outcome.error)


@pytest.mark.parametrize("data", ['"down"', '{"message": "down"}', '["down"]', "{}", "null", "down"])
def test_an_error_event_is_an_error_whatever_it_holds(data: str) -> None:
    outcome = run(text("a"), b"event: error\ndata: " + data.encode() + b"\n\n", finish())
    assert isinstance(outcome.error, ServerReportedError)
    assert outcome.error.is_retryable
    if data != '["down"]':  # an array has no words of its own
        assert ("down" in str(outcome.error)) == ("down" in data)
    assert outcome.text == "a"


def test_a_cut_error_event_is_a_cut_stream() -> None:
    outcome = run_blocks([body(text("a"), done=False) + b'event: error\ndata: {"message": "do'])
    assert isinstance(outcome.error, StreamTruncatedError)


@pytest.mark.parametrize("nothing", [None, "", {}, [], False])
def test_an_error_field_with_nothing_in_it_is_no_error(nothing: object) -> None:
    assert run(text("a") | {"error": nothing}, finish()).error is None


def test_an_error_beside_content_keeps_the_content() -> None:
    for frame in (text("b") | {"error": {"message": "down", "code": 503}}, text("b") | {"error": "down", "usage": 7}):
        outcome = run(text("a"), frame, finish())
        assert "down" in str(outcome.error)
        assert outcome.text == "ab"


# ---- the caller's own ends ----


def test_abort_keeps_the_partial_answer_and_the_usage() -> None:
    decoder = Decoder()
    events = decoder.feed(body(text("a", usage=usage(3, 4)), tool_calls(call_part("aaaaaaaa1", "f", "{")), done=False))
    events += decoder.abort()
    assert [event.type for event in events] == [
        "start",
        "text_start",
        "text_delta",
        "text_end",
        "toolcall_start",
        "toolcall_delta",
        "error",
    ]
    assert isinstance(decoder.error, AbortedError)
    assert decoder.error.partial == decoder.message
    assert decoder.message.stop_reason == "aborted"
    assert (decoder.message.text, decoder.message.usage.output) == ("a", 4)
    assert [call.complete for call in decoder.message.tool_calls] == [False]
    assert decoder.abort() == decoder.feed(DONE) == decoder.close() == []


def test_failure_of_the_transport() -> None:
    decoder = Decoder()
    assert [event.type for event in decoder.fail(ConnectionFailed("gone"))] == ["start", "error"]
    assert isinstance(decoder.error, ConnectionFailed)
    assert decoder.message.error_message == "gone"


def test_the_message_is_pending_while_it_streams() -> None:
    decoder = Decoder(model="m")
    assert (decoder.message.stop_reason, decoder.message.content) == ("pending", [])
    decoder.feed(body(text("a"), tool_calls(call_part("aaaaaaaa1", "f", "")), done=False))
    message = decoder.message
    assert (message.stop_reason, message.text, message.model) == ("pending", "a", "m")
    assert [(call.complete, call.arguments) for call in message.tool_calls] == [(False, {})]
    assert decoder.message is not message


@pytest.mark.parametrize("piece", ["data: x", bytearray(b"data: x"), None])
def test_a_piece_that_is_no_bytes_is_a_mistake_of_the_caller(piece: Any) -> None:
    decoder = Decoder()
    for take in (decoder.feed, decoder.whole):
        with pytest.raises(TypeError, match=f"takes the bytes of the body, not {type(piece).__name__}"):
            take(piece)
    assert decoder.feed(body(text("a"), finish()))[-1].type == "done"


def test_a_decoder_refuses_an_unknown_word_for_unknown_fields() -> None:
    word: Any = "rejct"
    with pytest.raises(ConfigurationError, match="'keep' or 'reject'"):
        Decoder(unknown_fields=word)
