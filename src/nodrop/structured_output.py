"""Answers that are JSON of a given shape: what is asked for, and how it is read back."""

from __future__ import annotations

import re
from typing import Any, Final, TypeVar, assert_never

from pydantic import PydanticUndefinedAnnotation, PydanticUserError, TypeAdapter, ValidationError

from nodrop.content import AssistantMessage
from nodrop.errors import ConfigurationError, OutputParseError
from nodrop.json_schema import property_names, strict_schema

_Parsed = TypeVar("_Parsed")

_NOT_IN_A_NAME: Final = re.compile(r"[^A-Za-z0-9_-]+", re.ASCII)
_MOST_PLACES: Final = 5


def response_format_for(model: Any) -> dict[str, Any]:
    """The wire's ``response_format`` for a pydantic model class, or any type that pydantic can describe.

    The schema is strict: every property is required and no other is allowed, at every level. Raises
    :class:`nodrop.ConfigurationError` when there is no JSON Schema for it.
    """
    name = _NOT_IN_A_NAME.sub("_", _name(model)).strip("_")[:64] or "answer"
    schema = _schema_of(model)
    if schema is None:
        raise ConfigurationError(
            f"option response_format: {name} has no JSON Schema; give a pydantic model class, or the wire's own form"
        )
    return {"type": "json_schema", "json_schema": {"name": name, "schema": strict_schema(schema), "strict": True}}


def parse_output(message: AssistantMessage, model: type[_Parsed]) -> _Parsed:
    """The text of ``message``, read as JSON into ``model``.

    Raises :class:`nodrop.OutputParseError`: when the answer did not end by itself, when its text is no JSON, when it
    does not fit. The error names places of the model and kinds of misfit (pydantic's words), never what stood there.
    """
    _must_be_whole(message)
    text = message.text
    try:
        return TypeAdapter[_Parsed](model).validate_json(text)
    except ValidationError as error:
        found: list[Any] = error.errors(include_url=False, include_context=False, include_input=False)
    # Outside of the except block: a cause or a context would carry the text of the answer along.
    raise OutputParseError(_what_does_not_fit(found, model, len(text)))


def _must_be_whole(message: AssistantMessage) -> None:
    match message.stop_reason:
        case "stop" | "toolUse":
            if message.text.strip():
                return
            why = "it asks for tools; run them and ask again" if message.tool_calls else "it is empty"
            raise OutputParseError(f"the answer has no text: {why}")
        case "length":
            raise OutputParseError("the answer was cut at its token limit; raise max_tokens and ask again")
        case "error":
            raise OutputParseError("the answer failed before it was whole; message.error_message says why")
        case "aborted":
            raise OutputParseError("the answer was aborted before it was whole")
        case "pending":
            raise OutputParseError("the answer is still streaming; parse the final message")
        case "deferred":
            raise OutputParseError("the answer is deferred and has not come yet")
        case _:
            assert_never(message.stop_reason)


def _what_does_not_fit(found: list[Any], model: Any, length: int) -> str:
    if found[0]["type"] == "json_invalid":
        return f"the answer, {length} characters, is no JSON"
    known = property_names(_schema_of(model) or {})
    places = [f"{_place(each['loc'], known)}: {each['type']}" for each in found[:_MOST_PLACES]]
    more = len(found) - len(places)
    return f"the answer does not fit {_name(model)}: " + "; ".join(places) + (f"; and {more} more" if more else "")


def _place(location: tuple[int | str, ...], known: set[str]) -> str:
    # A key that the model does not name is the answer's own: it is content.
    parts = [str(part) if isinstance(part, int) or part in known else "…" for part in location]
    return ".".join(parts) or "the whole"


def _schema_of(model: Any) -> dict[str, Any] | None:
    if isinstance(model, str):  # pydantic would take it for the name of a type
        return None
    try:
        return TypeAdapter[Any](model).json_schema()
    except (PydanticUserError, PydanticUndefinedAnnotation):
        return None


def _name(model: Any) -> str:
    return str(getattr(model, "__name__", type(model).__name__))
