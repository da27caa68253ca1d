"""Any answer, streamed in any split or sent whole, is byte for byte the same result, and it is the expected one.

Left out, because only one form can carry them: ``logprobs`` and other fields beside the content, which go to
``details``, and a tool message without an id that a server cuts into several deltas (each then stands alone).
"""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodrop.testing.wire import chunk, completion, finish, reference_part, text_part, thinking_part
from tests.document_query.driving import streamed, surface, whole

JSON = dict[str, Any]
ATOMS: dict[str, tuple[JSON, str]] = {
    "image": ({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}, "[image]"),
    "image text": ({"type": "image_url", "image_url": "https://example.org/i.png"}, "[image]"),
    "document": (
        {"type": "document_url", "document_url": "data:x", "document_name": "Tide\n notes"},
        "[document: Tide notes]",
    ),
    "nameless document": ({"type": "document_url", "document_url": "https://example.org/a.pdf"}, "[document]"),
    "file": ({"type": "file", "file_id": "f-1"}, "[file: f-1]"),
    "audio": ({"type": "input_audio", "input_audio": "UklGRg=="}, "[audio]"),
    "resource": ({"type": "resource", "uri": "lib:a", "content": text_part("inside")}, "[resource: lib:a]"),
    "link": ({"type": "resource_link", "uri": "data:text/plain,x", "metadata": {"page": 3}}, "[resource link]"),
    "numbers": (reference_part(0, 12), "[0, 12]"),
    "words": (reference_part("a", 3), "[a, 3]"),
    "no ids": (reference_part(), ""),
    "extra": ({"type": "text", "text": "noted", "annotations": [1]}, "noted"),
}
PARTS = st.one_of(
    st.tuples(st.just("text"), st.text("ab \n[é😀𝄞\u2028", min_size=1, max_size=12)),
    st.tuples(st.just("thinking"), st.text("xy 🦉", min_size=1, max_size=8), st.sampled_from([None, "s1", "s2"])),
    st.tuples(st.just("musing"), st.sampled_from(["reference", "tool"])),
    st.tuples(st.just("atom"), st.sampled_from(sorted(ATOMS))),
    st.tuples(st.just("tool"), st.text("jk😀", max_size=6)),
)
ANSWERS = st.lists(PARTS, min_size=1, max_size=8)


def with_one_signed_thought_in_a_row(parts: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """A second signature ends a thinking chunk where it arrives; cut fragments may bring it late. So: one in a row."""
    kept: list[tuple[Any, ...]] = []
    for part in parts:
        row = list(itertools.takewhile(lambda each: each[0] in ("thinking", "musing", "tool"), reversed(kept)))
        if part[0] != "thinking" or part[2] is None or all(each[0] != "thinking" for each in row):
            kept.append(part)
    return kept


def musing(kind: str) -> JSON:
    return reference_part(7) if kind == "reference" else {"type": "tool_reference", "tool": "web_search", "title": "t"}


def units(value: str) -> list[str]:
    """The string in UTF-16 units: a server may cut between the halves of a character."""
    raw = value.encode("utf-16-le")
    return [raw[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(raw), 2)]


def cut(value: str, rng: random.Random) -> list[str]:
    pieces = [""]
    for unit in units(value):
        if rng.random() < 0.4:
            pieces.append("")
        pieces[-1] += unit
    return [piece for piece in pieces if piece or rng.random() < 0.2]


def as_parts(part: tuple[Any, ...], rng: random.Random | None) -> list[JSON]:
    """One part of the answer as content chunks: one, or cut at random."""
    match part[0]:
        case "text":
            return [text_part(piece) for piece in (cut(part[1], rng) if rng else [part[1]])]
        case "thinking":
            signature = {} if part[2] is None else {"signature": part[2]}
            if rng is None:
                return [thinking_part(part[1]) | signature]
            pieces = [thinking_part(piece) for piece in cut(part[1], rng)]
            if signature:  # it may come with any fragment, or after the last one
                rng.choice([*pieces, *[pieces[-1]] * 2]).update(signature) if pieces else None
            return pieces
        case "musing":
            return [{"type": "thinking", "thinking": [musing(part[1])]}]
        case "atom":
            return [ATOMS[part[1]][0]]
        case _:
            raise AssertionError(part[0])


def in_deltas(parts: list[tuple[Any, ...]], rng: random.Random) -> list[JSON]:
    deltas: list[JSON] = []
    waiting: list[JSON] = []

    def flush() -> None:
        while waiting:
            size = rng.randint(1, len(waiting))
            taken, waiting[:] = waiting[:size], waiting[size:]
            if size == 1 and taken[0]["type"] == "text" and "annotations" not in taken[0] and rng.random() < 0.6:
                deltas.append({"content": taken[0]["text"]})
            else:
                deltas.append({"content": taken})
            if rng.random() < 0.2:
                deltas.append(rng.choice([{}, {"content": ""}, {"content": []}, {"content": None}, {"role": ""}]))

    for number, part in enumerate(parts):
        if part[0] == "tool":
            flush()
            pieces = cut(part[1], rng) or [""]
            deltas += [{"role": "tool", "content": piece, "tool_call_id": f"call{number}"} for piece in pieces]
        else:
            waiting += as_parts(part, rng)
    flush()
    return deltas


def in_messages(parts: list[tuple[Any, ...]]) -> list[JSON]:
    messages: list[JSON] = []
    for number, part in enumerate(parts):
        if part[0] == "tool":
            messages.append({"role": "tool", "content": part[1], "tool_call_id": f"call{number}"})
        elif messages and messages[-1]["role"] == "assistant":
            messages[-1]["content"] += as_parts(part, None)
        else:
            messages.append({"role": "assistant", "content": as_parts(part, None)})
    return messages


def expected_text(parts: list[tuple[Any, ...]]) -> str:
    shown = [(part[1] if part[0] == "text" else ATOMS[part[1]][1]) for part in parts if part[0] in ("text", "atom")]
    return "".join(shown)


@given(parts=ANSWERS, rng=st.randoms(use_true_random=False), cuts=st.lists(st.integers(0, 1 << 16), max_size=6))
def test_streamed_in_any_split_or_whole(parts: list[tuple[Any, ...]], rng: random.Random, cuts: list[int]) -> None:
    parts = with_one_signed_thought_in_a_row(parts)
    items = [chunk(delta) for delta in in_deltas(parts, rng)]
    by_stream = streamed([*items, finish()], cuts)
    by_messages = whole(completion(messages=in_messages(parts)))
    assert surface(by_stream) == surface(by_messages)
    answer = expected_text(parts)
    assert by_stream.is_error == (not answer.strip())
    content = by_stream.structured_content
    assert content is not None
    assert content["answer"] == answer
    if not by_stream.is_error:
        assert by_stream.text == answer
    said = [
        {"role": "tool", "tool_call_id": f"call{at}", "text": part[1]}
        for at, part in enumerate(parts)
        if part[0] == "tool"
    ]
    assert [
        {**{key: each[key] for key in ("role", "tool_call_id")}, "text": "".join(c["text"] for c in each["content"])}
        for each in content["tool_messages"]
    ] == said
    for citation in content["citations"]:
        shown = answer[citation["offset"] : citation["offset"] + citation["length"]]
        assert shown == f"[{', '.join(map(str, citation['ids']))}]"
    if all(part[0] != "tool" for part in parts):
        flat = [each for part in parts for each in as_parts(part, None)]
        assert surface(whole(completion(flat))) == surface(by_stream)


@given(parts=ANSWERS, rng=st.randoms(use_true_random=False))
def test_nothing_of_the_answer_is_lost(parts: list[tuple[Any, ...]], rng: random.Random) -> None:
    parts = with_one_signed_thought_in_a_row(parts)
    content = streamed([*(chunk(delta) for delta in in_deltas(parts, rng)), finish()]).structured_content
    assert content is not None
    texts = [each["text"] for each in content["chunks"] if each["type"] == "text" and "annotations" not in each]
    assert "".join(texts) == "".join(part[1] for part in parts if part[0] == "text")
    thoughts = [
        inner["text"]
        for each in content["chunks"]
        if each["type"] == "thinking"
        for inner in each["thinking"]
        if "text" in inner
    ]
    assert "".join(thoughts) == "".join(part[1] for part in parts if part[0] == "thinking")
    others = [each for each in content["chunks"] if each["type"] not in ("text", "thinking") or "annotations" in each]
    assert others == [ATOMS[part[1]][0] for part in parts if part[0] == "atom"]
    inner = [
        each
        for kept in content["chunks"]
        if kept["type"] == "thinking"
        for each in kept["thinking"]
        if "text" not in each
    ]
    assert inner == [musing(part[1]) for part in parts if part[0] == "musing"]


def test_the_canonical_form_by_example() -> None:
    deltas: list[JSON] = [
        {"content": "See "},
        {"content": [text_part("the "), text_part("book")]},
        {"content": [reference_part(0)]},
        {"content": [thinking_part("Hm", closed=True)]},
        {"content": [thinking_part(", yes.", reference_part(1), signature="s")]},
        {"content": [thinking_part("Else.", signature="t")]},
        {"content": "."},
    ]
    content = streamed([*(chunk(delta) for delta in deltas), finish()]).structured_content
    assert content is not None
    assert content["answer"] == "See the book[0]."
    assert content["chunks"] == [
        text_part("See the book"),
        reference_part(0),
        {"type": "thinking", "thinking": [text_part("Hm, yes."), reference_part(1)], "closed": True, "signature": "s"},
        {"type": "thinking", "thinking": [text_part("Else.")], "signature": "t"},
        text_part("."),
    ]
    assert [(each["ids"], each["offset"], each["length"]) for each in content["citations"]] == [([0], 12, 3)]


@pytest.mark.parametrize("half", ["a\ud83d", "\ude00b", "\ud83dz"])
def test_half_a_character_that_stays_alone_is_replaced(half: str) -> None:
    result = streamed([chunk({"content": half}), finish()])
    assert result.text == half.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert "\ufffd" in result.text
    assert {"type": "lone_surrogate"} in result.details["diagnostics"]


def test_an_answer_cut_by_the_token_limit_says_so_to_the_model() -> None:
    result = streamed([chunk({"content": "Half an"}), finish("length")])
    assert not result.is_error
    assert result.text == "Half an\n[cut off: the answer reached the token limit]"
    assert result.answer == "Half an"
    assert result.details["finish_reason"] == "length"
