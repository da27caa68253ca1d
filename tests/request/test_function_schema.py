"""Tools from Python functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import pytest
from pydantic import BaseModel, Field

from nodrop.content import Tool
from nodrop.docstrings import documented
from nodrop.errors import ConfigurationError
from nodrop.request.tools import wire_tool

if TYPE_CHECKING:
    from somewhere import NotHere  # type: ignore[import-not-found]


class Point(BaseModel):
    """A point on the map."""

    title: str
    x: float = 0.5


class Tree(BaseModel):
    children: list[Tree] = []
    at: Point | None = None


@dataclass
class Size:
    width: int


POINT = {
    "type": "object",
    "description": "A point on the map.",
    "properties": {"title": {"type": "string"}, "x": {"type": "number", "default": 0.5}},
    "required": ["title"],
}


def weather(
    city: str,
    days: int = 3,
    unit: Literal["C", "F"] = "C",
    at: Point | None = None,
    *,
    detail: Annotated[bool, Field(description="More words.")] = False,
    source: Annotated[str, "Whom to ask."] = "all",
    level: Annotated[int, Field(ge=1, le=9)],
) -> str:
    """Tells the weather.

    It may be wrong.

    Args:
        city (str): The city,
            with its country.
        days: How many days.
        detail: Not this text.

    Returns:
        What to wear.
    """
    raise NotImplementedError


def test_a_function_becomes_a_tool() -> None:
    tool = Tool.from_function(weather)
    assert tool.name == "weather"
    assert tool.description == "Tells the weather.\n\nIt may be wrong.\n\nReturns:\n    What to wear."
    assert tool.parameters == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "The city, with its country."},
            "days": {"type": "integer", "default": 3, "description": "How many days."},
            "unit": {"type": "string", "enum": ["C", "F"], "default": "C"},
            "at": {"anyOf": [POINT, {"type": "null"}], "default": None},
            "detail": {"type": "boolean", "default": False, "description": "More words."},
            "source": {"type": "string", "default": "all", "description": "Whom to ask."},
            "level": {"type": "integer", "minimum": 1, "maximum": 9},
        },
        "required": ["city", "level"],
    }
    assert wire_tool(tool)["function"]["parameters"] == tool.parameters


def test_a_model_that_contains_itself_stays_a_definition_and_the_rest_is_written_out() -> None:
    def plant(tree: Tree, point: Point) -> None:
        """Plants."""

    parameters = Tool.from_function(plant).parameters
    assert parameters["properties"] == {"tree": {"$ref": "#/$defs/Tree"}, "point": POINT}
    assert parameters["$defs"] == {
        "Tree": {
            "type": "object",
            "properties": {
                "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}, "default": []},
                "at": {"anyOf": [POINT, {"type": "null"}], "default": None},
            },
        }
    }


def test_two_models_of_one_name_stay_two() -> None:
    first, second = (type("Same", (BaseModel,), {"__annotations__": {name: int}}) for name in ("a", "b"))

    def compare(one: Any, two: Any) -> None: ...

    compare.__annotations__ = {"one": first, "two": second, "return": None}
    properties = Tool.from_function(compare).parameters["properties"]
    assert [list(properties[key]["properties"]) for key in ("one", "two")] == [["a"], ["b"]]


def test_what_is_said_of_a_parameter_beats_what_its_model_says() -> None:
    def go(at: Point, size: Size) -> None:
        """Goes.

        :param at: Where to.
        """

    properties = Tool.from_function(go).parameters["properties"]
    assert properties["at"] == {**POINT, "description": "Where to."}
    assert properties["size"]["properties"] == {"width": {"type": "integer"}}


class Robot:
    def turn(self, degrees: float) -> None:
        """Turns."""

    async def halt(self) -> None:
        """Halts."""

    @staticmethod
    def hail(name: str) -> None: ...

    @classmethod
    def make(cls, name: str) -> None: ...

    def __call__(self, order: str) -> None:
        """Obeys."""


def add(a: int, b: int = 1) -> int:
    return a + b


@pytest.mark.parametrize(
    ("function", "name", "called", "properties", "required"),
    [
        (Robot().turn, None, "turn", ["degrees"], ["degrees"]),
        (Robot().halt, None, "halt", [], None),
        (Robot.hail, None, "hail", ["name"], ["name"]),
        (Robot.make, None, "make", ["name"], ["name"]),
        (Robot(), "obey", "obey", ["order"], ["order"]),
        (functools.partial(add, b=2), None, "add", ["a", "b"], ["a"]),
        (functools.partial(add, 1), "inc", "inc", ["b"], None),
        (lambda: None, "nothing", "nothing", [], None),
        (add, "my-add", "my-add", ["a", "b"], ["a"]),
    ],
)
def test_whatever_can_be_called(
    function: Callable[..., Any], name: str | None, called: str, properties: list[str], required: list[str] | None
) -> None:
    tool = Tool.from_function(function, name=name)
    assert tool.name == called
    assert list(tool.parameters["properties"]) == properties
    assert tool.parameters.get("required") == required


def test_a_default_that_json_or_the_type_does_not_have_is_left_out() -> None:
    def odd(
        top: float = float("inf"),
        text: str = None,  # type: ignore[assignment]  # noqa: RUF013
        size: Size = Size(3),  # noqa: B008
        field: int = Field(default=4, description="Four."),
        must: int = Field(description="Must."),
        old: Optional[int] = None,  # noqa: UP045
    ) -> None: ...

    parameters = Tool.from_function(odd).parameters
    assert parameters["required"] == ["must"]
    properties = parameters["properties"]
    assert properties["top"] == {"type": "number"}
    assert properties["text"] == {"type": "string"}
    assert properties["size"]["default"] == {"width": 3}
    assert properties["field"] == {"type": "integer", "default": 4, "description": "Four."}
    assert properties["must"] == {"type": "integer", "description": "Must."}
    assert properties["old"]["default"] is None


def bare(a, b: int) -> None: ...  # type: ignore[no-untyped-def]


def many(*args: int) -> None: ...


def named(**kwargs: int) -> None: ...


def by_place(a: int, /) -> None: ...


def strange(a: object, b: Callable[[], int]) -> None: ...


def nowhere(a: NotHere) -> None: ...


@pytest.mark.parametrize(
    ("function", "name", "why"),
    [
        (bare, None, "the tool bare: the parameter 'a' has no annotation"),
        (Robot.turn, None, "the tool turn: the parameter 'self' has no annotation"),
        (many, None, "the parameter 'args' is variadic positional"),
        (named, None, "the parameter 'kwargs' is variadic keyword"),
        (by_place, None, "the parameter 'a' is positional-only"),
        (strange, None, "the parameter 'b' has no JSON Schema"),
        (nowhere, None, "the annotation 'NotHere' cannot be resolved"),
        (lambda: None, None, "'<lambda>' is no name for a tool"),
        (add, "a b", "'a b' is no name"),
        (add, "", "'' is no name"),
        (add, "x" * 65, "is no name"),
        (Robot(), None, "a Robot has no name"),
        (functools.partial(Robot()), None, "a Robot has no name"),
        (3, "three", "the tool three: its parameters cannot be read"),
    ],
)
def test_what_no_model_could_call_is_refused_by_name(function: Any, name: str | None, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why) as caught:
        Tool.from_function(function, name=name)
    assert caught.value.__cause__ is None


# ---- docstrings ----

GOOGLE = """\
Reads.

Args:
    path (str): Where.
        It must exist.
    n: How many: at most 3.

Note:
    Slow."""
NUMPY = """\
Reads.

Parameters
----------
path : str
    Where.
    It must exist.
n
    How many: at most 3.

Notes
-----
Slow."""
REST = """\
Reads.

:param str path: Where.
    It must exist.
:param n: How many: at most 3.
:type n: int
:returns: text"""
TEXTS = {"path": "Where. It must exist.", "n": "How many: at most 3."}


@pytest.mark.parametrize(
    ("docstring", "rest"),
    [
        (GOOGLE, "Reads.\n\nNote:\n    Slow."),
        (NUMPY, "Reads.\n\nNotes\n-----\nSlow."),
        (REST, "Reads.\n\n:returns: text"),
        (GOOGLE.replace("Args:", "Arguments:"), "Reads.\n\nNote:\n    Slow."),
        (NUMPY.replace("\nn\n", "\nn : int, optional\n"), "Reads.\n\nNotes\n-----\nSlow."),
    ],
)
def test_docstrings_of_three_styles(docstring: str, rest: str) -> None:
    assert documented(docstring, ["path", "n", "other"]) == (rest, TEXTS)


def test_numpy_names_that_share_a_text() -> None:
    found = documented("Adds.\n\nParameters\n----------\na, b : int\n    A number.", ["a", "b"])
    assert found == ("Adds.", {"a": "A number.", "b": "A number."})


@pytest.mark.parametrize(
    "docstring",
    [
        "",
        "Reads a file.",
        GOOGLE.replace("n:", "unknown:"),
        NUMPY.replace("\nn\n", "\nunknown\n"),
        REST.replace("param n:", "param unknown:"),
        "Reads.\n\nArgs:\n    the path, then how many",
        "Reads.\n\nArgs:\n        path: Where.\n    and more",
        "Reads.\n\nArgs:",
        "Reads.\n\nParameters\n----------\n    indented at once",
        "Reads.\n\nParameters\n----------\nnot an entry!\n    text",
        "Reads.\n\nParameters\nare not underlined",
        "It has\nArgs: in a sentence",
    ],
)
def test_what_is_not_recognised_whole_stays_whole(docstring: str) -> None:
    assert documented(docstring, ["path", "n"]) == (docstring, {})
