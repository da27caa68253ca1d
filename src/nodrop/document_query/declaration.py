"""The tool as a model sees it: its name, its parameters, and what becomes of the arguments that a model gives."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from nodrop.content import Tool
from nodrop.errors import ConfigurationError

TOOL_NAME: Final = "mistral_document_query"
_DESCRIPTION: Final = (
    "Asks a question of Mistral document libraries and gives one answer, grounded in their documents, with citation "
    "markers such as [0, 1]. Ask a whole question in natural language."
)
_PARAMETERS: Final[Mapping[str, Mapping[str, Any]]] = {
    "question": {
        "type": "string",
        "minLength": 1,
        "description": "The question, complete in itself: the libraries do not see the conversation.",
    },
    "library_ids": {
        "type": "array",
        "items": {"type": "string", "minLength": 1},
        "minItems": 1,
        "description": "The ids of the libraries to search.",
    },
    "model": {"type": "string", "minLength": 1, "description": "The Mistral model that answers."},
}


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, of which libraries, by which model."""

    text: str
    library_ids: tuple[str, ...]
    model: str


def declaration(library_ids: Sequence[str], model: str) -> Tool:
    """The tool, with a JSON Schema that says what is used where an argument is left out."""
    properties = {name: dict(schema) for name, schema in _PARAMETERS.items()}
    properties["model"]["description"] += f" Default: {model}."
    if library_ids:
        properties["library_ids"]["description"] += f" Default: {', '.join(library_ids)}."
    return Tool(
        name=TOOL_NAME,
        description=_DESCRIPTION,
        parameters={
            "type": "object",
            "properties": properties,
            "required": ["question"] if library_ids else ["question", "library_ids"],
            "additionalProperties": False,
        },
    )


def read_arguments(arguments: object, *, library_ids: Sequence[str], model: str) -> Question:
    """The question that a call asks; ``library_ids`` and ``model`` stand in for arguments that are absent or null.

    Raises :class:`nodrop.ConfigurationError` that names everything that is wrong, and what is expected in its place.
    """
    if not isinstance(arguments, Mapping):
        raise ConfigurationError(f"invalid arguments for {TOOL_NAME}: they must be an object with a question")
    given = {name: value for name, value in cast(Mapping[object, object], arguments).items() if value is not None}
    problems = [_unknown(name) for name in given if name not in _PARAMETERS]
    question = given.get("question")
    if not _is_text(question):
        problems.append("question must be a string that is not blank")
    ids = given.get("library_ids", [*library_ids])
    if not isinstance(ids, list | tuple) or not all(_is_text(each) for each in cast("list[object]", ids)):
        problems.append("library_ids must be an array of ids, each a string that is not blank")
    elif not ids:
        problems.append("library_ids must name at least one library: there is no default")
    asked = given.get("model", model)
    if not _is_text(asked):
        problems.append("model must be a model's id")
    if problems:
        raise ConfigurationError(f"invalid arguments for {TOOL_NAME}: {'; '.join(problems)}")
    return Question(cast(str, question), tuple(cast("list[str]", ids)), cast(str, asked))


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _unknown(name: object) -> str:
    if not isinstance(name, str):
        return "a parameter's name must be a string"
    near = difflib.get_close_matches(name, _PARAMETERS, 1)
    hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(_PARAMETERS)}"
    shown = repr(name) if name.isidentifier() and len(name) <= 64 else "with an odd name"
    return f"no parameter {shown}{hint}"
