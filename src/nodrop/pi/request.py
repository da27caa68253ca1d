"""What pi sends, checked (pi-messages of pi 1.4.0, section "request").

Unknown keys of the request and its options are refused by name: each would change the answer, and none may vanish.
Unknown keys *inside* a message are kept by the content model, as everywhere in nodrop.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from nodrop.content import Message
from nodrop.core.rejections import place_of
from nodrop.core.surrogates import without_surrogates
from nodrop.errors import ConfigurationError

ThinkingLevel = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]


class _Strict(BaseModel):
    model_config = ConfigDict(
        extra="forbid", alias_generator=to_camel, frozen=True, hide_input_in_errors=True, validate_by_name=False
    )


class ToolName(_Strict):
    name: str


class NamedToolChoice(_Strict):
    """The one function that the model must call."""

    type: Literal["function"]
    function: ToolName


class PiOptions(_Strict):
    """pi's options. ``max_tokens`` and ``temperature`` come from other clients of the protocol, not from pi's agent."""

    temperature: Annotated[float, Field(strict=True)] | None = None
    max_tokens: Annotated[int, Field(strict=True, ge=1)] | None = None
    reasoning: ThinkingLevel | None = None
    cache_retention: Literal["none", "short", "long"] | None = None
    session_id: Annotated[str, Field(pattern=r"^[!-~]{1,256}$")] | None = None
    tool_choice: Literal["auto", "none", "any", "required"] | NamedToolChoice | None = None


class PiContext(_Strict):
    messages: list[Message]


class PiRequest(_Strict):
    """One ``POST /messages``: the whole history, every time."""

    model: Annotated[str, Field(min_length=1, max_length=200)]
    context: PiContext
    options: PiOptions = PiOptions()


_DEPTH: Final = "the body is nested too deeply"


def read_request(body: bytes) -> PiRequest:
    """The request in ``body``. Raises :class:`nodrop.ConfigurationError` that names the place and quotes nothing."""
    try:
        value: Any = json.loads(body)
    except RecursionError:
        raise ConfigurationError(_DEPTH) from None
    except ValueError:  # UnicodeDecodeError among them
        raise ConfigurationError(f"the body is no JSON ({len(body)} bytes)") from None
    try:
        # First: JSON may hold half a character (a lone surrogate), which no model and no request can.
        return PiRequest.model_validate(without_surrogates(value))
    except RecursionError:
        raise ConfigurationError(_DEPTH) from None
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = place_of(found["loc"])
    reason = "is nothing that pi 1.4.0 sends" if found["type"] == "extra_forbidden" else f"is wrong ({found['type']})"
    raise ConfigurationError(f"{where or 'the body'} {reason}")
