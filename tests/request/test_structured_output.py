"""Answers that are JSON of a given shape."""

from __future__ import annotations

import copy
import pickle
from typing import Annotated, Any, Literal, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from nodrop.content import AssistantMessage, StopReason, TextContent, ThinkingContent, ToolCall
from nodrop.errors import ConfigurationError, OutputParseError
from nodrop.structured_output import response_format_for


class Cat(BaseModel):
    kind: Literal["cat"]
    title: str


class Dog(BaseModel):
    kind: Literal["dog"]
    age: int | None = None


class Home(BaseModel):
    """A home."""

    model_config = ConfigDict(extra="forbid")
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]
    rooms: int = 3
    notes: dict[str, int] = {}
    inside: list[Home] = []


def said(text: str, stop_reason: StopReason = "stop") -> AssistantMessage:
    return AssistantMessage(content=[TextContent(text=text)], stop_reason=stop_reason)


# ---- what is asked for ----


def test_the_schema_is_strict_at_every_level_and_plain() -> None:
    form = response_format_for(Home)
    assert form["type"] == "json_schema"
    assert form["json_schema"]["name"] == "Home"
    assert form["json_schema"]["strict"] is True
    home = {
        "type": "object",
        "description": "A home.",
        "properties": {
            "pet": {"anyOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]},
            "rooms": {"type": "integer"},
            "notes": {"type": "object", "additionalProperties": {"type": "integer"}},
            "inside": {"type": "array", "items": {"$ref": "#/$defs/Home"}},
        },
        "required": ["pet", "rooms", "notes", "inside"],
        "additionalProperties": False,
    }
    cat = {
        "type": "object",
        "properties": {"kind": {"type": "string", "const": "cat"}, "title": {"type": "string"}},
        "required": ["kind", "title"],
        "additionalProperties": False,
    }
    dog = {
        "type": "object",
        "properties": {
            "kind": {"type": "string", "const": "dog"},
            "age": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        },
        "required": ["kind", "age"],
        "additionalProperties": False,
    }
    assert form["json_schema"]["schema"] == {**home, "$defs": {"Cat": cat, "Dog": dog, "Home": home}}


def test_any_type_that_pydantic_describes_may_be_asked_for() -> None:
    assert response_format_for(list[int])["json_schema"] == {
        "name": "list",
        "schema": {"type": "array", "items": {"type": "integer"}},
        "strict": True,
    }


def test_the_name_is_one_that_the_api_takes() -> None:
    class Generic(BaseModel):
        pass

    Generic.__name__ = "Page[Home, é]" + "x" * 80
    assert response_format_for(Generic)["json_schema"]["name"] == ("Page_Home_" + "x" * 80)[:64]
    Generic.__name__ = "é"
    assert response_format_for(Generic)["json_schema"]["name"] == "answer"


@pytest.mark.parametrize("nothing", ["SECRET", 5, print, Cat(kind="cat", title="SECRET")])
def test_what_has_no_schema_is_refused(nothing: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"option response_format: .* has no JSON Schema") as caught:
        response_format_for(nothing)
    assert "SECRET" not in repr(caught.value)
    assert caught.value.__context__ is None


# ---- what is read back ----


def test_the_text_is_read_whatever_stands_beside_it() -> None:
    message = AssistantMessage(
        content=[
            ThinkingContent(thinking="{"),
            TextContent(text='{"kind": "cat",'),
            TextContent(text='"title": "Mia"}'),
        ]
    )
    assert message.parse(Cat) == Cat(kind="cat", title="Mia")
    assert said("[1, 2]", "toolUse").parse(list[int]) == [1, 2]


@given(st.builds(Home, pet=st.builds(Cat) | st.builds(Dog), notes=st.dictionaries(st.text(), st.integers())))
def test_what_was_asked_for_is_read_back(home: Home) -> None:
    assert said(home.model_dump_json()).parse(Home) == home


@pytest.mark.parametrize(
    ("stop_reason", "why"),
    [
        ("length", "token limit"),
        ("error", "failed"),
        ("aborted", "aborted"),
        ("pending", "still streaming"),
        ("deferred", "deferred"),
    ],
)
def test_an_answer_that_did_not_end_by_itself_is_refused(stop_reason: StopReason, why: str) -> None:
    with pytest.raises(OutputParseError, match=why):
        said('{"kind": "dog"}', stop_reason).parse(Dog)


def test_every_stop_reason_is_read_or_refused() -> None:
    for stop_reason in get_args(StopReason):
        message = said('{"kind": "dog"}', stop_reason)
        if stop_reason in ("stop", "toolUse"):
            assert message.parse(Dog).kind == "dog"
        else:
            with pytest.raises(OutputParseError):
                message.parse(Dog)


def test_an_answer_without_text_says_why() -> None:
    with pytest.raises(OutputParseError, match="no text: it is empty"):
        said("").parse(Dog)
    asks = AssistantMessage(content=[ToolCall(id="a", name="f")], stop_reason="toolUse")
    with pytest.raises(OutputParseError, match="no text: it asks for tools"):
        asks.parse(Dog)


SECRET_HOME = '{"pet": {"kind": "SECRET"}, "rooms": "SECRET", "notes": {"SECRET": "SECRET"}, "SECRET": 1}'


@pytest.mark.parametrize(
    ("text", "model", "words"),
    [
        ("SECRET", Home, "the answer, 6 characters, is no JSON"),
        ('"SECRET', Home, "is no JSON"),
        ('"SECRET"', Home, "does not fit Home: the whole: model_type"),
        ('{"pet": {"kind": "dog", "age": "SECRET"}}', Home, "pet.….age: int_parsing"),
        (SECRET_HOME, Home, "pet: union_tag_invalid; rooms: int_parsing; notes.…: int_parsing; …: extra_forbidden"),
        ('["SECRET", "SECRET", 3, "S", "S", "S", "S"]', list[int], "0: int_parsing; 1: int_parsing; 3: .*; and 1 more"),
    ],
)
def test_what_does_not_fit_is_named_by_place_and_never_quoted(text: str, model: Any, words: str) -> None:
    with pytest.raises(OutputParseError, match=words) as caught:
        said(text).parse(model)
    error = caught.value
    assert "SECRET" not in f"{error} {error!r} {error.args}"
    assert error.__cause__ is None
    assert error.__context__ is None
    for copied in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert str(copied) == str(error)


def test_strict_schemas_take_what_their_model_writes() -> None:
    """The schema only narrows: whatever fits it is read by the model."""
    schema = response_format_for(Dog)["json_schema"]["schema"]
    assert schema["required"] == list(TypeAdapter(Dog).json_schema()["properties"])
