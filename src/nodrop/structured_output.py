"""Answers that are JSON of a given shape: what is asked for, and how it is read back."""

from __future__ import annotations

import re
from typing import Any, Final, TypeVar

from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter, ValidationError

from nodrop.content import AssistantMessage
from nodrop.core.rejections import path_key
from nodrop.errors import ConfigurationError, OutputParseError
from nodrop.json_schema import strict_schema

_Parsed = TypeVar("_Parsed")

_NOT_A_NAME: Final = re.compile(r"[^A-Za-z0-9_-]+", re.ASCII)
_MOST_PLACES: Final = 5


def response_format_for(model: Any) -> dict[str, Any]:
    """The wire's ``response_format`` for a pydantic model class, or any type that pydantic can describe.

    The schema is strict: every property is required and no other is allowed, at every level. Raises
    :class:`nodrop.ConfigurationError` naming the type when it has no JSON Schema.
    """
    name = _NOT_A_NAME.sub("_", getattr(model, "__name__", "answer")).strip("_")[:64] or "answer"
    try:
        schema = TypeAdapter[Any](model).json_schema(mode="validation")
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        raise ConfigurationError(
            f"option response_format: {name} has no JSON Schema ({type(error).__name__})"
        ) from None
    return {"type": "json_schema", "json_schema": {"name": name, "schema": strict_schema(schema), "strict": True}}


def parse_output(message: AssistantMessage, model: type[_Parsed]) -> _Parsed:
    """The text of ``message``, read as JSON into ``model``.

    Raises :class:`nodrop.OutputParseError`: when the answer did not end by itself, when its text is no JSON, when it
    does not fit. The error names places in the model and reasons, never the text.
    """
    _must_be_whole(message)
    adapter = TypeAdapter[_Parsed](model)
    text = message.text
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=True, include_input=False)
    # Outside of the except block: a cause or a context would carry the text of the answer along.
    raise OutputParseError(_what_does_not_fit(found, getattr(model, "__name__", "the type"), len(text)))


def _must_be_whole(message: AssistantMessage) -> None:
    match message.stop_reason:
        case "stop":
            return
        case "toolUse":
            if not message.text.strip():
                raise OutputParseError("the answer asks for tools and has no text; run them and ask again")
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


def _what_does_not_fit(found: list[Any], name: str, length: int) -> str:
    if found and found[0]["type"] == "json_invalid":
        return f"the answer, {length} characters, is no JSON"
    places = [f"{_place(each['loc'])}: {each['type']}" for each in found[:_MOST_PLACES]]
    more = len(found) - len(places)
    return f"the answer does not fit {name}: " + "; ".join(places) + (f"; and {more} more" if more else "")


def _place(location: tuple[int | str, ...]) -> str:
    return ".".join(path_key(part) if isinstance(part, str) else str(part) for part in location) or "the whole"
