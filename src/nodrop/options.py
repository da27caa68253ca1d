"""The options of a request: every field of the wire's request that is not the history, and four of our own.

One table (:class:`RequestOptions`) for the type checker and the documentation; the values are checked by the generated
``ChatCompletionRequest``, so a bound is written in the vendored document and nowhere else.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypedDict, get_args

from pydantic import ValidationError

from nodrop.core.rejections import place_of, shown
from nodrop.errors import ConfigurationError
from nodrop.json_values import json_copy
from nodrop.structured_output import response_format_for
from nodrop.wire import (
    ChatCompletionRequest,
    ChatTool,
    GuardrailConfig,
    MistralPromptMode,
    Prediction,
    ReasoningEffort,
    RequestedServiceTier,
    ResponseFormat,
    ToolChoice,
    ToolChoiceEnum,
    WireModel,
)


class RequestOptions(TypedDict, total=False):
    """The keyword options of a request. One that is absent, or ``None``, is not sent; the server's default holds.

    Ranges are those of Mistral's API description. A value outside of them raises
    :class:`nodrop.ConfigurationError`, which names the option and never the value.
    """

    temperature: float | None
    """How much chance is in the answer: 0 to 1.5."""
    top_p: float | None
    """Only the most likely tokens up to this share of probability: above 0, to 1."""
    max_tokens: int | None
    """The most tokens to generate, 0 or more. An answer that reaches it ends with ``stop_reason`` ``length``."""
    min_tokens: int | None
    """The fewest tokens to generate."""
    stop: str | list[str] | None
    """Ends the answer where one of these texts would come."""
    random_seed: int | None
    """The same seed gives the same answer as far as the server can: 0 or more."""
    presence_penalty: float | None
    """-2 to 2. Above 0, tokens that occurred are less likely."""
    frequency_penalty: float | None
    """-2 to 2. Above 0, tokens are less likely the more often they occurred."""
    repetition_penalty: float | None
    """Above 1, repetition is less likely."""
    top_k: int | None
    """Only this many of the most likely tokens."""
    logprobs: bool | None
    """Send the log probability of each token; they come as ``message.logprobs``."""
    top_logprobs: int | None
    """How many alternatives per token ``logprobs`` gives."""
    prompt_logprobs: bool | None
    """The same for the tokens of the prompt; they come as ``message.prompt_logprobs``."""
    top_prompt_logprobs: int | None
    """How many alternatives per token ``prompt_logprobs`` gives."""
    n: int | None
    """Only 1: an answer has one candidate, and another one would have nowhere to go."""
    metadata: dict[str, Any] | None
    """Any JSON object; the server keeps it with the request."""
    response_format: type[Any] | ResponseFormat | dict[str, Any] | None
    """A pydantic model class (or any type that pydantic can describe): the answer is JSON of that shape, and
    ``message.parse(Model)`` reads it back. Or the wire's own form, for example ``{"type": "json_object"}``."""
    tool_choice: ToolChoiceEnum | ToolChoice | dict[str, Any] | str | None
    """``auto``, ``none``, ``any``, ``required``, the name of one of the tools, or
    ``{"type": "function", "function": {"name": ...}}``. Each of the four words means the word, never a tool."""
    parallel_tool_calls: bool | None
    """Whether one answer may hold several tool calls."""
    prediction: Prediction | dict[str, Any] | None
    """Text that the answer is expected to repeat: ``{"type": "content", "content": ...}``."""
    reasoning_effort: ReasoningEffort | None
    """How long a reasoning model thinks. The rate card says which values a model takes."""
    prompt_mode: MistralPromptMode | None
    """``reasoning`` puts Mistral's own reasoning prompt before the system prompt."""
    guardrails: list[GuardrailConfig | dict[str, Any]] | None
    """Moderation that the server does."""
    safe_prompt: bool | None
    """Whether the server puts its safety prompt before the history."""
    prompt_cache_key: str | None
    """Requests with one key find each other's prompt in the cache more often."""
    service_tier: RequestedServiceTier | None
    """``auto`` or ``standard_only``."""

    server_tools: list[ChatTool | dict[str, Any]] | None
    """Tools that the server runs itself, in the wire's form; they are sent after the tools of the context."""
    prefix: bool | str | None
    """The beginning of the answer, for the model to go on with: a text, or ``True`` for the last message of the
    history, which must be an answer without tool calls."""
    replay_thinking: bool | None
    """Send the thinking of earlier answers of the same model back. Without it no thinking is sent."""
    extra_body: dict[str, Any] | None
    """More keys for the body, sent unchecked and as they are (``None`` is sent as null). A key that is an option too
    replaces what the option says, whole. ``model``, ``messages``, ``stream`` and ``n`` above 1 are refused."""


OURS: Final = frozenset({"server_tools", "prefix", "replay_thinking", "extra_body"})
"""The options that are no field of the wire's request."""
NAMES: Final = frozenset(RequestOptions.__annotations__)

_TOOL_CHOICES: Final = frozenset(get_args(ToolChoiceEnum.__value__))
# What other APIs call it, where spelling leads nowhere.
_ELSEWHERE: Final = {
    "max_completion_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "seed": "random_seed",
    "system": "system_prompt",
    "abort": "signal",
    "stop_sequences": "stop",
}
OF_THE_CLIENT: Final = frozenset(
    {
        "api_key",
        "base_url",
        "timeouts",
        "max_retries",
        "max_retry_delay",
        "headers",
        "rates",
        "unknown_fields",
        "max_event_bytes",
        "on_retry",
        "http_client",
    }
)
"""The keywords of a client, for a user who gives one to a call. A test keeps them equal to its own."""
_IN_OTHER_WORDS: Final = {
    "timeout": "bounds are an option of the client: client.with_options(timeouts=nodrop.Timeouts(...))",
    "stream": "client.stream streams, client.complete does not",
    "messages": "the messages are the second argument",
}
_NOT_EXTRA: Final = ("model", "messages", "stream")


def checked(fields: Mapping[str, Any]) -> ChatCompletionRequest:
    """The generated request of ``fields`` (JSON). Raises :class:`nodrop.ConfigurationError` without their content."""
    try:
        return ChatCompletionRequest.model_validate(fields, strict=True)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=True, include_input=False)[0]
    # Tools that the caller wrote in the wire's form are those of `server_tools`; see there for their places.
    first, *inner = found["loc"]
    field = "server_tools" if first == "tools" else first
    where = place_of((field, *inner))
    raise ConfigurationError(
        f"{'option ' if field in NAMES else ''}{where}: {_reason(found['type'], found['msg'], found.get('ctx', {}))}"
    )


def _reason(kind: str, text: str, context: Mapping[str, Any]) -> str:
    # The one text of pydantic for these shapes that quotes what it validated.
    return f"its type must be one of {context['expected_tags']}" if kind == "union_tag_invalid" else text


def body_fields(options: RequestOptions, *, tool_names: Iterable[str]) -> dict[str, Any]:
    """The options that are fields of the wire's request, checked and copied. ``tool_names`` are those of the context.

    Raises :class:`nodrop.ConfigurationError` for a name that is no option, with the nearest one that is, for a value
    that the API does not take, and for ``n`` above 1.
    """
    values: dict[str, object] = {}
    for name, value in options.items():
        if name not in NAMES:
            raise ConfigurationError(_unknown(name))
        if value is not None and name not in OURS:
            values[name] = value
    fields = {name: json_copy(_wire_form(name, value, tool_names), f"option {name}") for name, value in values.items()}
    checked({"model": "", "messages": [], **fields})
    _one_candidate(fields.get("n"), "option n")
    return fields


def _unknown(name: str) -> str:
    if name in OF_THE_CLIENT:
        return f"{name} is an option of the client: nodrop.Client({name}=...), or client.with_options({name}=...)"
    if name in _IN_OTHER_WORDS:
        return f"unknown option {shown(name)}; {_IN_OTHER_WORDS[name]}"
    elsewhere = [_ELSEWHERE[name]] if name in _ELSEWHERE else []
    near = elsewhere or difflib.get_close_matches(name, sorted(NAMES), n=1, cutoff=0.6)
    near = near or sorted(known for known in NAMES if name in known)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"unknown option {shown(name)}; {hint}what the API has beyond the options goes into extra_body"


def _wire_form(name: str, value: Any, tool_names: Iterable[str]) -> object:
    if name == "response_format" and not isinstance(value, Mapping | WireModel):
        return response_format_for(value)
    if name == "tool_choice" and isinstance(value, str) and value not in _TOOL_CHOICES:
        if value not in set(tool_names):
            raise ConfigurationError(
                f"option tool_choice: it is neither one of {', '.join(sorted(_TOOL_CHOICES))} "
                "nor the name of a tool of the context"
            )
        return {"type": "function", "function": {"name": value}}
    return value  # pyright: ignore[reportUnknownVariableType]


def _one_candidate(n: object, where: str) -> None:
    if n not in (None, 1):
        raise ConfigurationError(
            f"{where}: only 1 candidate can be asked for; an answer has no place for a second one. "
            "Send the request as often as you want answers, or use client.wire"
        )


def given(options: RequestOptions, name: str) -> Any:
    """The value of an option, whatever it is: what the type checker promises is not yet checked here."""
    values: Mapping[str, Any] = options
    return values.get(name)


def flag(options: RequestOptions, name: Literal["replay_thinking"]) -> bool:
    """A switch of our own; absent and ``None`` are off. Raises :class:`nodrop.ConfigurationError` if it is no bool."""
    value = given(options, name)
    check_flag(name, value)
    return bool(value)


def check_flag(name: str, value: object) -> None:
    """Raises :class:`nodrop.ConfigurationError` when a switch is neither a bool nor ``None``: ``"no"`` would be on."""
    if value is not None and not isinstance(value, bool):
        raise ConfigurationError(f"option {name}: it must be True or False, not a Python {type(value).__name__}")


def server_tools(options: RequestOptions) -> list[Any]:
    """The tools that the server runs, in the wire's form, checked and copied."""
    value = given(options, "server_tools")
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        raise ConfigurationError(f"option server_tools: it must be a list, not a Python {type(value).__name__}")
    copied: list[Any] = json_copy(value, "option server_tools")  # pyright: ignore[reportUnknownArgumentType]
    checked({"model": "", "messages": [], "tools": copied})
    return copied


def extra_body(options: RequestOptions) -> dict[str, Any]:
    """What the caller sends beside the options: any JSON, copied."""
    value = given(options, "extra_body")
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"option extra_body: it must be a dict, not a Python {type(value).__name__}")
    copied: dict[str, Any] = json_copy(value, "option extra_body")  # pyright: ignore[reportUnknownArgumentType]
    for name in _NOT_EXTRA:
        if name in copied:
            raise ConfigurationError(f"option extra_body: {name!r} is what the call itself says and cannot be replaced")
    _one_candidate(copied.get("n"), "option extra_body.n")
    return copied
