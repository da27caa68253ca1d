"""Server-sent events from bytes: WHATWG's rules, and the three additions that keep content from vanishing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodrop.core.sse import ServerSentEvent, SSEDecoder
from nodrop.errors import StreamProtocolError
from tests.core.driving import pieces


def decode(*blocks: bytes, max_event_bytes: int = 1 << 20) -> list[ServerSentEvent]:
    decoder = SSEDecoder(max_event_bytes=max_event_bytes)
    events = [event for block in blocks for event in decoder.feed(block)]
    return events + list(decoder.close())


def reference(stream: bytes) -> list[tuple[bytes, str, bool]]:
    """WHATWG's algorithm, read naively over the whole text: (data, event name, cut)."""
    text = stream.decode("latin-1").removeprefix("\xef\xbb\xbf")
    *lines, rest = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    events: list[tuple[bytes, str, bool]] = []
    data: list[str] = []
    name = ""
    for line in [*lines, *([rest] if rest else []), None]:
        if not line:  # a blank line, or the end of the input
            if data:
                events.append(("\n".join(data).encode("latin-1"), name, line is None))
            data, name = [], ""
            continue
        field, _, value = line.partition(":")
        value = value[1:] if value[:1] == " " else value
        if field == "data":
            data.append(value)
        elif field == "event":
            name = value.encode("latin-1").decode("utf-8", "replace")
    return events


TABLE: dict[str, tuple[bytes, list[bytes]]] = {
    "LF": (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
    "CR": (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
    "CRLF": (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
    "mixed line ends": (b"data: a\r\n\ndata: b\n\rdata: c\r\r\ndata: d\n\n", [b"a", b"b", b"c", b"d"]),
    "byte order mark": (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
    "byte order mark inside data": (b"data: \xef\xbb\xbfa\n\n", [b"\xef\xbb\xbfa"]),
    "U+2028, U+2029 and U+0085": ("data: a\u2028b\u2029c\u0085d\n\n".encode(), ["a\u2028b\u2029c\u0085d".encode()]),
    "VT, FF, FS, GS, RS": (b"data: a\x0bb\x0cc\x1cd\x1de\x1ef\n\n", [b"a\x0bb\x0cc\x1cd\x1de\x1ef"]),
    "several data lines": (b"data: a\ndata: b\ndata:\ndata: c\n\n", [b"a\nb\n\nc"]),
    "comments": (b": hi\n:\ndata: a\n: in between\ndata: b\n\n:bye\n\n", [b"a\nb"]),
    "id and retry": (b"id: 7\nretry: 100\ndata: a\nid\n\n", [b"a"]),
    "no space after the colon": (b"data:a\n\n", [b"a"]),
    "two spaces after the colon": (b"data:  a\n\n", [b" a"]),
    "a tab is no space": (b"data:\ta\n\n", [b"\ta"]),
    "colons in the value": (b"data: a: b:c\n\n", [b"a: b:c"]),
    "empty data": (b"data:\n\ndata: \n\ndata\n\ndata: a\n\n", [b"", b"", b"", b"a"]),
    "blank lines alone": (b"\n\n\r\n\rdata: a\n\n\n\n", [b"a"]),
    "the end marker": (b"data: [DONE]\n\n", [b"[DONE]"]),
    "invalid UTF-8 is passed on": (b"data: \xff\xfe\n\n", [b"\xff\xfe"]),
    "a 2 MB line": (b"data: " + b"x" * (1 << 21) + b"\n\n", [b"x" * (1 << 21)]),
}


@pytest.mark.parametrize(("stream", "expected"), TABLE.values(), ids=TABLE.keys())
def test_table_whole_and_cut_at_every_byte(stream: bytes, expected: list[bytes]) -> None:
    big = len(stream) > 10_000
    assert [event.data for event in decode(stream, max_event_bytes=1 << 22)] == expected
    for place in range(1, len(stream), 300_001 if big else 1):
        assert [event.data for event in decode(stream[:place], stream[place:], max_event_bytes=1 << 22)] == expected
    size = 1400 if big else 1
    blocks = [stream[place : place + size] for place in range(0, len(stream), size)]
    events = decode(*blocks, max_event_bytes=1 << 22)
    assert [event.data for event in events] == expected
    assert not any(event.cut or event.unframed for event in events)


def test_byte_order_mark_in_three_pieces_and_a_broken_one() -> None:
    assert [event.data for event in decode(b"\xef", b"\xbb", b"\xbf", b"data: a\n\n")] == [b"a"]
    assert [event.data for event in decode(b"\xef", b"", b"\xbb\xbfdata: a\n\n")] == [b"a"]
    decoder = SSEDecoder()
    assert list(decoder.feed(b"\xef\xbbdata: a\n\ndata: b\n\n")) == [ServerSentEvent(b"b")]
    assert decoder.ignored_lines == 1


def test_second_byte_order_mark_is_not_dropped() -> None:
    decoder = SSEDecoder()
    assert list(decoder.feed(b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n")) == []
    assert decoder.ignored_lines == 1


def test_event_name_belongs_to_its_event_alone() -> None:
    stream = b"event: error\ndata: a\n\ndata: b\n\nevent: error\n\ndata: c\n\nevent:x\nevent:  y\ndata: d\n\n"
    assert [(event.data, event.event) for event in decode(stream)] == [
        (b"a", "error"),
        (b"b", ""),
        (b"c", ""),
        (b"d", " y"),
    ]


@pytest.mark.parametrize("tail", [b"data: b", b"data: b\n", b"data: b\r", b"event: x\ndata: b\r\n"])
def test_last_event_without_blank_line_is_given_out_as_cut(tail: bytes) -> None:
    decoder = SSEDecoder()
    assert list(decoder.feed(b"data: a\n\n" + tail)) == [ServerSentEvent(b"a")]
    assert decoder.pending
    assert [(event.data, event.cut) for event in decoder.close()] == [(b"b", True)]


@pytest.mark.parametrize("stream", [b"data: a\n\n", b"data: a\r\r", b"data: a\n\n: comment\n", b""])
def test_clean_end_has_nothing_pending(stream: bytes) -> None:
    decoder = SSEDecoder()
    events = list(decoder.feed(stream))
    assert not decoder.pending
    assert list(decoder.close()) == []
    assert not any(event.cut for event in events)


@pytest.mark.parametrize("tail", [b"\xef", b"\xef\xbb", b"d", b"dat", b"e", b"event", b"id", b"retr"])
def test_a_cut_inside_a_field_name_is_no_ignored_line(tail: bytes) -> None:
    decoder = SSEDecoder()
    assert list(decoder.feed(tail)) == []
    assert decoder.pending
    assert list(decoder.close()) == []
    assert decoder.ignored_lines == 0


# ---- the bound ----


@pytest.mark.parametrize(
    "huge",
    [
        b"data: " + b"x" * 65,
        b"data: " + b"x" * 65 + b"\n\n",
        b"data: " + b"x" * 40 + b"\ndata: " + b"x" * 40 + b"\n\n",
        b"data:\n" * 70,
        b"data\n" * 70,
        b"{" + b"x" * 65 + b"\n",
        b"{\n" + b'"a":1,\n' * 20,
        b"{\n" + b"\n" * 70,
        b"id: " + b"x" * 65,
        b"x" * 65,
    ],
)
def test_bounded_event_keeps_the_events_before_it(huge: bytes) -> None:
    stream = b"data: a\n\ndata: b\n\n" + huge
    for blocks in ([stream], [stream[place : place + 1] for place in range(len(stream))]):
        decoder = SSEDecoder(max_event_bytes=64)
        seen: list[bytes] = []
        with pytest.raises(StreamProtocolError, match="larger than 64 bytes"):
            seen.extend(event.data for block in blocks for event in decoder.feed(block))
        assert seen == [b"a", b"b"]


def test_event_of_exactly_the_bound_passes_and_sizes_do_not_add_up_over_events() -> None:
    stream = b"".join([b"data:" + b"x" * 64 + b"\n\n"] * 5 + [b"data:" + b"x" * 31 + b"\ndata:" + b"x" * 32 + b"\n\n"])
    assert [len(event.data) for event in decode(stream, max_event_bytes=64)] == [64] * 6


# ---- unframed JSON and other lines ----

UNFRAMED = {
    "one line": b'{"error": {"message": "a } in text", "code": 1}}',
    "one line that ends inside": b'{"error": {"a": {}\n}, "b": 1}',
    "pretty": b'{\n  "error": {\n    "message": "no"\n  }\n}',
    "pretty, inner braces in the first column": b'{\n"error": {\n"message": "{"\n}\n}',
    "pretty, last braces on one line": b'{"error": {\n  "message": "no", "list": [\n1]}}',
    "with a blank line inside": b'{\n\n"error": 1}',
    "escaped quotes": rb'{"error": "\"{\\"}',
}


@pytest.mark.parametrize("json_text", UNFRAMED.values(), ids=UNFRAMED.keys())
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_unframed_json_is_an_event_of_its_own(json_text: bytes, end: bytes) -> None:
    stream = b"data: a\n\n" + json_text.replace(b"\n", end) + end + b"data: b\n\n"
    expected = [(b"a", False), (json_text, True), (b"b", False)]
    for place in range(len(stream)):
        events = decode(stream[:place], stream[place:])
        assert [(event.data, event.unframed) for event in events] == expected
        assert not any(event.cut for event in events)


def test_unframed_json_without_line_end_is_given_out_at_the_close_as_cut() -> None:
    decoder = SSEDecoder()
    assert list(decoder.feed(b'{"error": {')) == []
    assert decoder.pending
    assert list(decoder.close()) == [ServerSentEvent(b'{"error": {', cut=True, unframed=True)]


def test_broken_unframed_json_does_not_swallow_the_events_after_it() -> None:
    events = decode(b'{"error": "cut of\ndata: a\n\n{"error": {\nevent: x\ndata: b\n\n')
    assert [(event.data, event.unframed) for event in events] == [
        (b'{"error": "cut of', True),
        (b"a", False),
        (b'{"error": {', True),
        (b"b", False),
    ]


def test_lines_that_are_no_field_are_counted() -> None:
    decoder = SSEDecoder()
    stream = b"<html>\ndata: a\nsomething: else\n\n data: b\nData: c\nid: 1\nretry: 2\nevent: x\n: comment\n\n"
    assert [event.data for event in decoder.feed(stream)] == [b"a"]
    assert decoder.ignored_lines == 4  # <html>, something, " data", Data


# ---- properties ----

FIELDS = ["data:", "data: ", "data", "event:", "event: error", "id: 1", "retry: 5", ":", "data : x"]
ENDS = ["\n", "\r", "\r\n", "\n\n"]
TEXTS = [" ", "x", "é", "😀", "\u2028", "\u0085", "\x0b", "\ufeff", "[DONE]", "\x00"]
FRAGMENTS = st.sampled_from([*FIELDS, *ENDS, *TEXTS])
STREAMS = st.lists(FRAGMENTS, max_size=30).map(lambda parts: "".join(parts).encode())
CUTS = st.lists(st.integers(0, 120), max_size=8)


@given(STREAMS, CUTS)
def test_any_stream_in_any_split_is_what_the_reference_reads(stream: bytes, cuts: list[int]) -> None:
    events = decode(*pieces(stream, cuts))
    assert [(event.data, event.event, event.cut) for event in events] == reference(stream)


@given(st.lists(st.text(), max_size=4), st.sampled_from(["\n", "\r", "\r\n"]), st.booleans(), CUTS)
def test_any_text_survives_framing(texts: list[str], end: str, mark: bool, cuts: list[int]) -> None:
    texts = [text.encode("utf-8", "replace").decode().replace("\r", "") for text in texts]
    framed = "".join("".join(f"data: {line}{end}" for line in text.split("\n")) + end for text in texts)
    stream = (b"\xef\xbb\xbf" if mark else b"") + framed.encode()
    events = decode(*pieces(stream, cuts))
    assert [event.data.decode() for event in events] == texts
    assert not any(event.cut for event in events)


@given(
    st.lists(
        st.one_of(st.binary(max_size=8), st.sampled_from([b"{", b"}", b"\n", b"\r", b"data: ", b'"'])), max_size=20
    ),
    CUTS,
)
def test_any_bytes_give_the_same_events_in_any_split(parts: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(parts)
    whole, split = SSEDecoder(), SSEDecoder()
    expected = [*whole.feed(stream), *whole.close()]
    blocks = pieces(stream, cuts)
    assert [*(event for block in blocks for event in split.feed(block)), *split.close()] == expected
    assert split.ignored_lines == whole.ignored_lines
