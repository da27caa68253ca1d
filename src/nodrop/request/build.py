"""From a :class:`Context` to the body of a request.

Stateless: the body holds the whole history, every time. What becomes of each message is in ``transcript``, of each
option in ``options``. The body is validated through the generated ``ChatCompletionRequest`` before it is handed out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import ValidationError

from nodrop.content import Context, Diagnostic, Message, SystemMessage, Tool, UserMessage
from nodrop.core.shapes import real_path
from nodrop.core.surrogates import without_surrogates
from nodrop.errors import ConfigurationError
from nodrop.options import RequestOptions, body_fields, check_flag, checked, extra_body, flag, given, server_tools
from nodrop.rate_card import RateCard
from nodrop.request.system import folded_system
from nodrop.request.tools import wire_tool
from nodrop.request.transcript import wire_messages
from nodrop.request.unknown_keys import refuse_wire_form, unknown_keys


@dataclass(frozen=True, slots=True)
class BuiltRequest:
    """A request, ready to be sent. ``body`` is its JSON: what was not set is not in it.

    ``diagnostics`` tell what was left out on purpose; they belong on the message of the answer.
    """

    body: dict[str, Any] = field(repr=False)
    diagnostics: tuple[Diagnostic, ...] = ()


def build_request(
    model: str,
    context: Context,
    options: RequestOptions,
    *,
    rates: RateCard,
    takes_images: bool | None = None,
) -> BuiltRequest:
    """The request that asks ``model`` to go on with ``context``. Nothing of the caller's is changed or kept.

    ``rates`` says whether the model takes images, unless ``takes_images`` does; a model that it lacks is sent them.
    The body has no ``stream`` key: that is the caller's to add.

    Raises :class:`nodrop.ConfigurationError` for a wrong option, a result without a call, or a history with nothing to
    send, and :class:`nodrop.UnsupportedContentError` for a block that cannot be sent.
    """
    if not isinstance(model, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"model is a model's id, a string, not a Python {type(model).__name__}")
    check_flag("takes_images", takes_images)
    if not model.strip():
        raise ConfigurationError("no model: name one, for example 'mistral-medium-latest'")
    system = folded_system(context)
    unknown = unknown_keys(context, system.tools)
    fields = body_fields(options, tool_names=[tool.name for tool in system.tools])
    more = extra_body(options)
    tools = [wire_tool(tool) for tool in system.tools] + server_tools(options)
    if takes_images is None:
        known = rates.find(model)
        takes_images = known is None or known.takes_images
    transcript = wire_messages(
        context.messages,
        model=model,
        takes_images=takes_images,
        replay_thinking=flag(options, "replay_thinking"),
        prefix=given(options, "prefix"),
    )
    messages = [*system.messages, *transcript.messages]
    if not messages:
        raise ConfigurationError("nothing to send: the history has no message with content")
    fields = {"model": without_surrogates(model), "messages": messages, **({"tools": tools} if tools else {}), **fields}
    body: dict[str, Any] = checked(fields).model_dump(mode="json")
    return BuiltRequest(body={**body, **more}, diagnostics=(*unknown, *transcript.diagnostics))


def as_context(
    value: str | Sequence[Message] | Context,
    *,
    system_prompt: str | None = None,
    tools: Sequence[Tool] | None = None,
) -> Context:
    """The context that ``value`` stands for: a prompt, messages, or a context as it is.

    ``system_prompt`` comes before the messages, ``tools`` come after those of a context. Raises
    :class:`nodrop.ConfigurationError` when a context has a system prompt of its own beside ``system_prompt``, and when
    a message is none.
    """
    messages: object = value
    own_tools: Sequence[Tool] = ()
    more: dict[str, Any] = {}
    if isinstance(value, Context):
        messages, own_tools, more = value.messages, value.tools, value.model_extra or {}
        if system_prompt is not None and value.messages and isinstance(value.messages[0], SystemMessage):
            raise ConfigurationError("the context has a system prompt already; give one or the other")
    elif isinstance(value, str):
        messages = [UserMessage(content=value)]
    if not isinstance(messages, list | tuple):
        raise ConfigurationError(
            "what to send must be a string, a list of messages (also of one), or a Context, "
            f"not a Python {type(value).__name__}"
        )
    for place, message in enumerate(messages):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        if isinstance(message, Mapping):
            refuse_wire_form(f"messages[{place}]", cast("Mapping[str, object]", message))
    given_as: dict[str, Any] = {
        **more,
        "messages": [*messages],
        "tools": [*own_tools, *(tools or ())],
        "system_prompt": system_prompt,
    }
    try:
        return Context.model_validate(given_as)
    except ValidationError as error:
        found = max(
            error.errors(include_url=False, include_context=False, include_input=False), key=lambda one: len(one["loc"])
        )
    raise ConfigurationError(_what_is_wrong(real_path(found["loc"], given_as), found["type"]))


def _what_is_wrong(where: str, kind: str) -> str:
    """The most specific error of a validation, in words and without the value."""
    match kind:
        case "union_tag_invalid" | "union_tag_not_found":
            return f"{where}: a role is one of system, user, assistant, toolResult"
        case "model_attributes_type" | "model_type" if where.startswith("tools"):
            return f"{where}: a tool is a Tool, or a dict with name, description and parameters"
        case "model_attributes_type" | "model_type" if "content" in where:
            return f"{where}: a block is a TextContent or its like, or a dict with a type"
        case "model_attributes_type" | "model_type":
            return f"{where}: a message is a UserMessage or its like, or a dict with role and content"
        case "missing":
            return f"{where} is missing"
        case _:
            return f"{where} is not what the content model has there ({kind})"
