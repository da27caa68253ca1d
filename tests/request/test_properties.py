"""What holds for every history that is accepted, and for every set of tool-call ids."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Any, cast, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodrop.content import (
    AssistantMessage,
    ImageContent,
    Message,
    StopReason,
    SystemMessage,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from nodrop.errors import ConfigurationError
from nodrop.request import tool_ids
from nodrop.request.pairing import Slot
from nodrop.request.tool_ids import fits, wire_ids
from tests.request.support import MODEL, build

NINE = re.compile(r"[a-zA-Z0-9]{9}")
STOP_REASONS = st.sampled_from(cast(tuple[StopReason, ...], get_args(StopReason)))

# Few and alike, so that ids come again, within an answer and across answers.
IDS = st.sampled_from(["aaaaaaaaa", "bbbbbbbbb", "call_1", "call_2", "", "null", "aaaaaaaaa0", "é" * 9, "a" * 100])
WORDS = st.text(alphabet="ab \n\ud800é", max_size=4)
TEXTS = st.builds(TextContent, text=WORDS)
IMAGES = st.builds(ImageContent, data=st.just("QUJD"), mime_type=st.just("image/png"))
CALLS = st.builds(
    ToolCall,
    id=IDS,
    name=st.just("read"),
    arguments=st.dictionaries(WORDS, st.integers() | WORDS, max_size=2),
    complete=st.booleans(),
)
THINKING = st.builds(ThinkingContent, thinking=WORDS, thinking_signature=st.none() | WORDS)
ANSWERS = st.builds(
    AssistantMessage,
    content=st.lists(TEXTS | THINKING | CALLS, max_size=4),
    model=st.sampled_from([MODEL, "other", ""]),
    stop_reason=STOP_REASONS,
)
RESULTS = st.builds(
    ToolResultMessage,
    tool_call_id=IDS,
    tool_name=st.just("read"),
    content=st.lists(TEXTS | IMAGES, max_size=3),
    is_error=st.booleans(),
)
OTHERS = st.builds(UserMessage, content=WORDS | st.lists(TEXTS | IMAGES, max_size=3)) | st.builds(
    SystemMessage, content=WORDS
)


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    """Answers, mostly followed by results of some of their calls, with other messages in between."""
    history: list[Message] = [UserMessage(content="hi")]
    for _ in range(draw(st.integers(1, 4))):
        answer = draw(ANSWERS)
        history.append(answer)
        answered = draw(st.permutations([call.id for call in answer.tool_calls if draw(st.booleans())]))
        for call_id in answered:
            if draw(st.booleans()):
                history.append(draw(OTHERS))
            history.append(draw(RESULTS).model_copy(update={"tool_call_id": call_id}))
        if draw(st.booleans()):
            history.append(draw(OTHERS | RESULTS))
    return history


@given(histories(), st.booleans(), st.booleans())
def test_each_call_has_exactly_one_result_directly_after_in_order(
    history: list[Message], replay_thinking: bool, takes_images: bool
) -> None:
    try:
        body = build(history, {"replay_thinking": replay_thinking}, takes_images=takes_images).body
    except ConfigurationError as error:
        assert re.search("nothing to send|no answer before it|a result already", str(error))  # noqa: PT017
        return
    waiting: list[str] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
            assert message["content"]
            continue
        assert not waiting
        if message["role"] == "assistant":
            waiting = [call["id"] for call in message.get("tool_calls", [])]
            assert all(NINE.fullmatch(call_id) for call_id in waiting)
            assert len(set(waiting)) == len(waiting)
            assert message.get("content") or waiting
        else:
            assert message["content"]
    assert not waiting
    system = [place for place, message in enumerate(body["messages"]) if message["role"] == "system"]
    assert system in ([], [0])


@given(histories(), st.booleans())
def test_no_text_of_a_user_or_an_answer_is_lost_or_reordered(history: list[Message], takes_images: bool) -> None:
    try:
        messages = build(history, takes_images=takes_images).body["messages"]
    except ConfigurationError:
        return
    for role, kind in (("user", UserMessage), ("assistant", AssistantMessage)):
        stored = "".join(_text(message) for message in history if isinstance(message, kind))
        sent = "".join(_wire_text(message) for message in messages if message["role"] == role)
        # Blank answers are not sent; U+FFFD stands for a lone surrogate.
        assert _dense(sent.replace("[image omitted: the model takes no images]", "")) == _dense(stored)


def _text(message: UserMessage | AssistantMessage) -> str:
    if isinstance(message.content, str):
        return message.content
    return "".join(block.text for block in message.content if isinstance(block, TextContent))


def _wire_text(message: dict[str, Any]) -> str:
    content = message.get("content", "")
    return content if isinstance(content, str) else "".join(chunk.get("text", "") for chunk in content)


def _dense(text: str) -> str:
    return re.sub(r"\s", "", text).replace("\ud800", "\ufffd")


# Any ids: some that fit, some that a replacement could collide with, whole turns of one id.
ANY_IDS = st.text(max_size=12) | st.from_regex(NINE, fullmatch=True) | st.sampled_from(["null", "", "call_1"])
TURNS = st.lists(st.lists(ANY_IDS, max_size=4), max_size=4)


def slots(turns: list[list[str]]) -> list[Slot]:
    return [Slot(ToolCall(id=i, name="read"), turn, False) for turn, ids in enumerate(turns) for i in ids]


@given(TURNS)
def test_ids_fit_are_stable_and_do_not_collide(turns: list[list[str]]) -> None:
    calls = slots(turns)
    ids = wire_ids(calls)
    assert [ids[call] for call in calls] == list(wire_ids(slots(turns)).values())
    first: dict[str, str] = {}
    for call in calls:
        assert fits(ids[call])
        first.setdefault(call.call.id, ids[call])
        if fits(call.call.id):
            assert first[call.call.id] == call.call.id
    assert len(set(first.values())) == len(first), "two ids became one"
    for turn in range(len(turns)):
        of_turn = [ids[call] for call in calls if call.turn == turn]
        assert len(set(of_turn)) == len(of_turn), "two calls of one answer have one id"


@given(TURNS)
def test_a_longer_history_keeps_the_ids_that_were_sent(turns: list[list[str]]) -> None:
    whole = slots(turns)
    ids = wire_ids(whole)
    for end in range(len(whole)):
        part = wire_ids(whole[:end])
        assert all(part[call] == ids[call] for call in whole[:end])


def test_an_id_that_comes_again_in_a_later_answer_is_the_same_id() -> None:
    calls = slots([["call_1", "abcdefghi"], ["call_1", "abcdefghi"]])
    ids = wire_ids(calls)
    assert ids[calls[0]] == ids[calls[2]]
    assert ids[calls[1]] == ids[calls[3]] == "abcdefghi"


def test_a_replacement_that_is_taken_by_an_id_that_fits_gives_way() -> None:
    [foreign] = slots([["call_1"]])
    taken = wire_ids([foreign])[foreign]
    calls = slots([["call_1"], [taken]])
    ids = wire_ids(calls)
    assert ids[calls[1]] == taken
    assert ids[calls[0]] != taken


def test_a_replacement_that_another_one_has_taken_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def few(_seed: str, taken: Container[str]) -> str:
        return next(made for made in ("AAAAAAAAA", "BBBBBBBBB", "CCCCCCCCC") if made not in taken)

    monkeypatch.setattr(tool_ids, "made_up_id", few)
    calls = slots([["call_1", "AAAAAAAAA", "call_2"], ["call_1"]])
    assert [wire_ids(calls)[call] for call in calls] == ["BBBBBBBBB", "AAAAAAAAA", "CCCCCCCCC", "BBBBBBBBB"]


def test_long_ids_with_one_beginning_stay_apart() -> None:
    calls = slots([["call_Qq11Zz22Ww33Ee44Rr55Tt66", "call_Qq11Zz99zzzzzzzzzzzzzzzz"]])
    assert len(set(wire_ids(calls).values())) == 2
