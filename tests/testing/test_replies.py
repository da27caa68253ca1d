"""A reply holds together: bodies, packets, places of faults, recordings."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodrop.testing import DONE, Comments, Cut, IgnoreClose, Reply, Stall, finish, message, text
from nodrop.testing.replies import Packet


def data(reply: Reply) -> list[bytes]:
    return [step.data for step in reply.steps() if isinstance(step, Packet)]


def test_a_stream_ends_with_done_unless_told_otherwise() -> None:
    assert data(Reply.stream("a")) == [b"data: a\n\n", DONE]
    assert data(Reply.stream("a", done=False)) == [b"data: a\n\n"]
    assert Reply.stream().headers == (("content-type", "text/event-stream; charset=utf-8"),)


def test_packets() -> None:
    reply = Reply.stream("a", b": b\n\n", done=False)
    assert data(reply.paced(packets="whole")) == [b"data: a\n\n: b\n\n"]
    assert data(reply.paced(packets=6)) == [b"data: ", b"a\n\n: b", b"\n\n"]
    assert data(Reply.stream("", b"", done=False)) == [b"data: \n\n"]


def test_only_the_pauses_between_packets_count() -> None:
    steps = list(Reply.stream("a", "b", done=False).with_faults(Stall(at=9 + 3, seconds=0)).steps())
    first, second, stall, rest = steps
    assert (first, second, rest) == (
        Packet(b"data: a\n\n", paced=False),
        Packet(b"dat", paced=True),
        Packet(b"a: b\n\n", paced=False),
    )
    assert isinstance(stall, Stall)


@given(
    parts=st.lists(st.binary(max_size=6), max_size=5),
    packets=st.sampled_from(["events", "whole", 1, 2, 5]),
    places=st.lists(st.integers(0, 40), max_size=5),
)
def test_faults_split_the_body_where_they_are_and_lose_nothing(
    parts: list[bytes], packets: Any, places: list[int]
) -> None:
    body = b"".join(parts)
    places = [place for place in places if place <= len(body)]
    faults = [Stall(at=place, seconds=number) for number, place in enumerate(places)]
    reply = Reply.stream(*parts, done=False, packets=packets).with_faults(*faults)
    sent, met = b"", []
    for step in reply.steps():
        if isinstance(step, Packet):
            assert step.data
            sent += step.data
        else:
            met.append((len(sent), step))
    assert sent == body
    assert [fault for _, fault in met] == sorted(faults, key=lambda fault: int(fault.at))
    assert all(at == fault.at for at, fault in met)


def test_raw_streams_are_cut_into_events_and_other_bodies_are_not() -> None:
    raw = b"data: a\n\ndata: b\r\n\r\n: c\r\r\ndata: d"
    assert data(Reply.raw(raw)) == [b"data: a\n\n", b"data: b\r\n\r\n", b": c\r\r", b"\ndata: d"]
    html = Reply.raw("<p>é\n\n</p>", content_type="text/html", status=520)
    assert (html.status, html.framing, data(html)) == (520, "length", ["<p>é\n\n</p>".encode()])


def test_whole_answers_and_errors() -> None:
    whole = json.loads(Reply.whole(messages=[message("a")], finish_reason="length", model="m").body)
    assert whole["choices"] == [{"index": 0, "finish_reason": "length", "messages": [message("a")]}]
    assert whole["model"] == "m"
    error = Reply.error(429, "Slow down", type="rate_limited", code="1300", headers={"retry-after": "2"})
    assert error.headers == (("content-type", "application/json"), ("retry-after", "2"))
    envelope = json.loads(error.body)
    assert (envelope["object"], envelope["message"], envelope["raw_status_code"]) == ("error", "Slow down", 429)
    assert Reply.error(401, {"detail": "no"}).body == b'{"detail":"no"}'


def test_headers_replace_whatever_their_case() -> None:
    assert Reply.json(200, 1, headers={"Content-Type": "text/plain"}).headers == (("Content-Type", "text/plain"),)
    assert Reply.stream().with_headers({"CONTENT-TYPE": "x", "a": "b"}).headers == (("CONTENT-TYPE", "x"), ("a", "b"))


def test_gzip_is_flushed_after_each_event_and_deterministic() -> None:
    plain = Reply.stream(text("Hel"), text("lo"), finish())
    reply = plain.gzipped()
    assert gzip.decompress(reply.body) == plain.body
    assert len(data(reply)) == len(data(plain)) + 1
    assert reply.body == plain.gzipped().body
    assert gzip.decompress(Reply.whole("x").gzipped().body) == Reply.whole("x").body


def test_a_recording_brings_its_status_and_headers(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'{"detail":"no"}')
    meta = {"status": 401, "response_headers": {"X-Request-Id": "r", "Content-Length": "99"}}
    (tmp_path / "a.meta.json").write_text(json.dumps(meta), encoding="utf-8")
    reply = Reply.recorded(tmp_path / "a.json")
    assert (reply.status, reply.body) == (401, b'{"detail":"no"}')
    assert reply.headers == (("content-type", "application/json"), ("X-Request-Id", "r"))
    changed = Reply.recorded(str(tmp_path / "a.json"), status=403, headers={})
    assert (changed.status, changed.headers) == (403, (("content-type", "application/json"),))


def test_a_recording_without_a_side_file(tmp_path: Path) -> None:
    (tmp_path / "a.sse").write_bytes(b"data: a\n\ndata: b\n\n")
    reply = Reply.recorded(tmp_path / "a.sse")
    assert (reply.status, reply.framing, data(reply)) == (200, "chunked", [b"data: a\n\n", b"data: b\n\n"])
    (tmp_path / "a.txt").write_bytes(b"x")
    with pytest.raises(ValueError, match=r"a\.txt is neither"):
        Reply.recorded(tmp_path / "a.txt")
    assert Reply.recorded(tmp_path / "a.txt", content_type="text/plain").body == b"x"


def test_recorded_bytes_need_a_type() -> None:
    with pytest.raises(ValueError, match="content_type"):
        Reply.recorded(b"data: a\n\n")
    assert Reply.recorded(b"x", content_type="text/plain", status=404).status == 404


@pytest.mark.parametrize("fault", [Stall(at=10), Cut(at=-1), Comments(at=11), Cut(at=10, how="polite")])
def test_a_place_outside_the_body_is_refused(fault: Stall | Cut | Comments) -> None:
    with pytest.raises(ValueError, match="outside the body of 9 bytes"):
        Reply.stream("a", done=False).with_faults(fault)


def test_what_does_not_fit_together_is_refused() -> None:
    with pytest.raises(ValueError, match="comments"):
        Reply.whole("x").with_faults(Comments())
    with pytest.raises(ValueError, match="comments"):
        Reply.stream().gzipped().with_faults(Comments())
    with pytest.raises(ValueError, match="polite"):
        Reply.stream().with_faults(Cut(at="end", how="polite"))
    with pytest.raises(ValueError, match="at least one byte"):
        Reply.stream(packets=0)
    with pytest.raises(ValueError, match="negative"):
        Reply.stream(delay=-1)
    with pytest.raises(ValueError, match="200 to 999"):
        Reply.stream(status=100)
    with pytest.raises(ValueError, match="has no body"):
        Reply.stream(status=204)


def test_a_polite_cut_is_covered_by_the_content_length() -> None:
    reply = Reply.json(200, "abc")
    assert reply.with_faults(IgnoreClose(), Cut(at=2, how="polite")).content_length == 2
    assert reply.with_faults(Cut(at=2)).content_length == reply.size == 5
