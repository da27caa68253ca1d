"""The content model: blocks, messages, usage, tools and the context of a request.

It is the content model of pi 1.4.0 with Python names. Attributes are snake_case; JSON, written with
``model_dump_json(by_alias=True)``, is pi's camelCase, with optional keys omitted and never null (the nulls inside
tool arguments are data and stay). A stored message that is read back equals the message that was stored.

A key that this version does not know is kept, so that a transcript of a newer pi survives a round trip; a *block*
that it does not know is kept as :class:`OtherBlock`, and refused by name when it would have to be sent.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, field_validator, model_validator
from pydantic.alias_generators import to_camel

from nodrop.errors import ConfigurationError
from nodrop.wire import ChatCompletionResponseTokenLogprobsTopK as TokenLogprobs

if TYPE_CHECKING:
    import os

StopReason = Literal["pending", "stop", "length", "toolUse", "error", "aborted", "deferred"]
"""Why a message ended. ``pending`` only while it streams; ``deferred`` is pi's and never made by nodrop."""

API: Final = "mistral-chat-completions"
PROVIDER: Final = "mistral"

_Parsed = TypeVar("_Parsed")


def _is_none(value: object) -> bool:
    return value is None


def _is_empty(value: Any) -> bool:
    return not value


def _is_true(value: object) -> bool:
    return value is True


_OPTIONAL: Final = Field(exclude_if=_is_none)
_NOT_EMPTY: Final = Field(exclude_if=_is_empty)
_UNLESS_TRUE: Final = Field(exclude_if=_is_true)


def now_ms() -> int:
    """The wall clock in Unix milliseconds, the unit of every timestamp here."""
    return time.time_ns() // 1_000_000


class _Model(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        extra="allow",
        # A validation error must not quote what it validated: the input may be the user's text or image.
        hide_input_in_errors=True,
    )


# ---- blocks ----


class TextContent(_Model):
    """Text. ``text_signature`` is opaque data of another provider, echoed in JSON and not sent to Mistral."""

    type: Literal["text"] = "text"
    text: str
    text_signature: Annotated[str | None, _OPTIONAL] = None


class ThinkingContent(_Model):
    """What a reasoning model thought. ``thinking_signature`` goes back with it when thinking is replayed."""

    type: Literal["thinking"] = "thinking"
    thinking: str
    thinking_signature: Annotated[str | None, _OPTIONAL] = None
    redacted: Annotated[bool | None, _OPTIONAL] = None


class ImageContent(_Model):
    """An image: ``data`` is plain base64 without a data-URL prefix, ``mime_type`` for example ``image/png``."""

    type: Literal["image"] = "image"
    data: str = Field(repr=False)
    mime_type: str

    @classmethod
    def from_bytes(cls, data: bytes, mime_type: str | None = None) -> Self:
        """The image in ``data``; the type is read from its first bytes unless it is given.

        Raises :class:`nodrop.ConfigurationError` when the bytes are no PNG, JPEG, GIF or WebP and no type is given.
        """
        from nodrop.images import image_from_bytes

        encoded, found = image_from_bytes(data, mime_type)
        return cls(data=encoded, mime_type=found)

    @classmethod
    def from_path(cls, path: str | os.PathLike[str], mime_type: str | None = None) -> Self:
        """The image in a file. Raises :class:`nodrop.ConfigurationError` naming the path when it cannot be read."""
        from nodrop.images import read_image

        encoded, found = read_image(path, mime_type)
        return cls(data=encoded, mime_type=found)


class ToolCall(_Model):
    """A tool that the model asks for.

    ``arguments`` is the decoded object. When ``complete`` is false the call must not be run: the stream was cut
    inside it, or its arguments are no JSON object, or one that has a key twice with different values. Then
    ``arguments`` is ``{}``, ``arguments_error`` says what was wrong, and ``raw_arguments`` holds what arrived, to the
    letter.
    """

    type: Literal["toolCall"] = "toolCall"
    id: str
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    thought_signature: Annotated[str | None, _OPTIONAL] = None
    namespace: Annotated[str | None, _OPTIONAL] = None
    arguments_error: Annotated[str | None, _OPTIONAL] = None
    raw_arguments: Annotated[str, _NOT_EMPTY] = ""
    complete: Annotated[bool, _UNLESS_TRUE] = True


class OtherBlock(_Model):
    """A block that its message cannot hold in pi's content model, kept as it came.

    It never reaches the server: sending it fails with :class:`nodrop.UnsupportedContentError`, which names it.
    """

    type: str

    @model_validator(mode="before")
    @classmethod
    def _from_block(cls, value: Any) -> Any:
        return value.model_dump(by_alias=True) if isinstance(value, BaseModel) else value


def _by_type(*known: str) -> Discriminator:
    """Sorts a block by its ``type`` into one of the known classes, and everything else into :class:`OtherBlock`."""

    def tag(value: Any) -> str:
        block: Any = value
        found: object = block.get("type") if isinstance(value, Mapping) else getattr(block, "type", None)
        return found if isinstance(found, str) and found in known else "other"

    return Discriminator(tag)


_Text = Annotated[TextContent, Tag("text")]
_Image = Annotated[ImageContent, Tag("image")]
_Thinking = Annotated[ThinkingContent, Tag("thinking")]
_Call = Annotated[ToolCall, Tag("toolCall")]
_Other = Annotated[OtherBlock, Tag("other")]

SystemBlock = Annotated[_Text | _Other, _by_type("text")]
UserBlock = Annotated[_Text | _Image | _Other, _by_type("text", "image")]
AssistantBlock = Annotated[_Text | _Thinking | _Call | _Other, _by_type("text", "thinking", "toolCall")]


# ---- usage ----


class Cost(_Model):
    """US dollars, an estimate from a dated rate card and never a billed total."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0
    total: float = 0.0


class Usage(_Model):
    """Tokens of one answer.

    ``input`` leaves out what came from the cache (``cache_read``); the whole prompt is the sum of ``input``,
    ``cache_read`` and ``cache_write``. ``output`` includes reasoning. ``cost`` is ``None`` when no rate is known,
    which is not zero. ``reported`` is false when the server sent no counters: then the zeros are not measured.
    ``raw`` is the last report as it came.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: Annotated[int | None, _OPTIONAL] = None
    cache_write1h: Annotated[int | None, _OPTIONAL] = None
    total_tokens: int = 0
    cost: Annotated[Cost | None, _OPTIONAL] = None
    reported: Annotated[bool, _UNLESS_TRUE] = True
    raw: Annotated[dict[str, Any] | None, _OPTIONAL] = None


def _no_usage() -> Usage:
    return Usage(reported=False)


# ---- what a message carries beside its content ----


class Citation(_Model):
    """A reference chunk of the answer: its ids, and where its marker stands.

    ``offset`` and ``length`` are in code points of the text (or thinking) of ``content[content_index]``.
    """

    ids: list[int | str]
    content_index: int
    offset: int
    length: int


class Unmapped(_Model):
    """The raw values of one field that has no place in the content model, in order of arrival.

    The strings of a field on a delta are joined into one. ``omitted`` counts the values beyond the bound.
    """

    values: list[Any] = Field(default_factory=list, repr=False)
    omitted: Annotated[int, _NOT_EMPTY] = 0


class DiagnosticError(_Model):
    """The error that a diagnostic tells of."""

    message: str
    name: Annotated[str | None, _OPTIONAL] = None
    stack: Annotated[str | None, _OPTIONAL] = None
    code: Annotated[str | int | None, _OPTIONAL] = None


class Diagnostic(_Model):
    """Something worth knowing about an answer that is no error. Never holds content of the answer."""

    type: str
    timestamp: int = Field(default_factory=now_ms)
    error: Annotated[DiagnosticError | None, _OPTIONAL] = None
    details: Annotated[dict[str, Any] | None, _OPTIONAL] = None


# ---- tools ----


class Tool(_Model):
    """A function that the model may call. ``parameters`` is a JSON Schema object."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = Field(default_factory=lambda: {"type": "object", "properties": {}})
    constrained_sampling: Annotated[dict[str, Any] | Literal[False] | None, _OPTIONAL] = None

    @classmethod
    def from_function(cls, function: Callable[..., Any], *, name: str | None = None) -> Self:
        """The tool that a Python function is: schema from its annotations, texts from its docstring.

        Raises :class:`nodrop.ConfigurationError` naming the parameter that has no JSON Schema.
        """
        from nodrop.function_schema import describe

        described = describe(function, name)
        return cls(name=described.name, description=described.description, parameters=described.parameters)


class ToolName(_Model):
    """The name of a tool that a later system message takes away."""

    name: str


# ---- messages ----


class _Message(_Model):
    timestamp: int = Field(default_factory=now_ms)


class SystemMessage(_Message):
    """The prompt, or a change to it. See pi-facts: later ones append, replace sections, add and remove tools."""

    role: Literal["system"] = "system"
    content: str | list[SystemBlock] = ""
    sections: Annotated[dict[str, str | None] | None, _OPTIONAL] = None
    tools_added: Annotated[list[Tool] | None, _OPTIONAL] = None
    tools_removed: Annotated[list[ToolName] | None, _OPTIONAL] = None


class UserMessage(_Message):
    """What the user says: a string, or text and images."""

    role: Literal["user"] = "user"
    content: str | list[UserBlock]


class AssistantMessage(_Message):
    """An answer. ``timestamp`` is when its request began."""

    role: Literal["assistant"] = "assistant"
    content: list[AssistantBlock]
    api: str = API
    provider: str = PROVIDER
    model: str = ""
    usage: Usage = Field(default_factory=_no_usage)
    stop_reason: StopReason = "stop"
    error_message: Annotated[str | None, _OPTIONAL] = None
    raw_stop_reason: Annotated[str | None, _OPTIONAL] = None
    response_id: Annotated[str | None, _OPTIONAL] = None
    response_model: Annotated[str | None, _OPTIONAL] = None
    request_id: Annotated[str | None, _OPTIONAL] = None
    thinking_level: Annotated[str | None, _OPTIONAL] = None
    provider_thinking_level: Annotated[str | None, _OPTIONAL] = None
    duration_ms: Annotated[int | float | None, _OPTIONAL] = None
    end_turn: Annotated[bool | None, _OPTIONAL] = None
    deferred: Annotated[Any, _OPTIONAL] = None
    diagnostics: Annotated[list[Diagnostic], _NOT_EMPTY] = Field(default_factory=list[Diagnostic])
    citations: Annotated[list[Citation], _NOT_EMPTY] = Field(default_factory=list[Citation])
    unmapped: Annotated[dict[str, Unmapped], _NOT_EMPTY] = Field(default_factory=dict[str, Unmapped])
    logprobs: Annotated[list[TokenLogprobs], _NOT_EMPTY] = Field(default_factory=list[TokenLogprobs])
    prompt_logprobs: Annotated[list[TokenLogprobs], _NOT_EMPTY] = Field(default_factory=list[TokenLogprobs])
    rate_limit: Annotated[dict[str, int | float | str], _NOT_EMPTY] = Field(
        default_factory=dict[str, int | float | str]
    )

    @field_validator("content", mode="before")
    @classmethod
    def _text_for_short(cls, value: Any) -> Any:
        return ([{"type": "text", "text": value}] if value else []) if isinstance(value, str) else value

    @property
    def text(self) -> str:
        """The text of all text blocks, joined, with its citation markers."""
        return "".join(block.text for block in self.content if isinstance(block, TextContent))

    @property
    def thinking(self) -> str:
        """The text of all thinking blocks, joined."""
        return "".join(block.thinking for block in self.content if isinstance(block, ThinkingContent))

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The tool calls in order. Look at ``complete`` before you run one."""
        return [block for block in self.content if isinstance(block, ToolCall)]

    def parse(self, model: type[_Parsed]) -> _Parsed:
        """The text of the answer, read as JSON into ``model`` (a pydantic model or any type that pydantic takes).

        Raises :class:`nodrop.OutputParseError` when the answer was cut, failed, or does not fit. Its text names the
        places that do not fit and never quotes the answer; that stays in ``message.text``.
        """
        from nodrop.structured_output import parse_output

        return parse_output(self, model)


class ToolResultMessage(_Message):
    """The result of a tool call. ``details`` is for logs and screens and is not sent."""

    role: Literal["toolResult"] = "toolResult"
    tool_call_id: str
    tool_name: str
    content: list[UserBlock]
    is_error: bool = False
    details: Annotated[Any, _OPTIONAL] = None
    usage: Annotated[Usage | None, _OPTIONAL] = None
    nested_calls: Annotated[Any, _OPTIONAL] = None
    duration_ms: Annotated[int | float | None, _OPTIONAL] = None

    @field_validator("content", mode="before")
    @classmethod
    def _text_for_short(cls, value: Any) -> Any:
        return [{"type": "text", "text": value}] if isinstance(value, str) else value


Message = Annotated[SystemMessage | UserMessage | AssistantMessage | ToolResultMessage, Field(discriminator="role")]


def tool_result(
    call: ToolCall, content: str | list[TextContent | ImageContent], *, is_error: bool = False
) -> ToolResultMessage:
    """The answer to ``call``, ready to be appended to a context.

    Raises :class:`nodrop.ConfigurationError` for any other content: how a value reads as text is the caller's to say.
    """
    if not isinstance(content, str | list):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(
            f"the content of a tool result is text or a list of blocks, not {type(content).__name__}; "
            "json.dumps() makes text of a value"
        )
    blocks: list[UserBlock] = [TextContent(text=content)] if isinstance(content, str) else [*content]
    for block in blocks:
        if not isinstance(block, BaseModel):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(
                f"a block of a tool result is a TextContent or its like, not {type(block).__name__}"
            )
    return ToolResultMessage(tool_call_id=call.id, tool_name=call.name, content=blocks, is_error=is_error)


class Context(_Model):
    """All that the model is told: the messages in order, and the tools that it may call.

    ``system_prompt`` is shorthand for a first :class:`SystemMessage`: afterwards it is that message.
    """

    messages: list[Message] = Field(default_factory=list[Message])
    tools: Annotated[list[Tool], _NOT_EMPTY] = Field(default_factory=list[Tool])
    system_prompt: Annotated[str | None, Field(exclude=True)] = None

    @model_validator(mode="after")
    def _unfold_system_prompt(self) -> Self:
        if self.system_prompt is not None:
            self.messages = [SystemMessage(content=self.system_prompt), *self.messages]
            self.system_prompt = None
        return self

    def append(self, *messages: Message) -> Context:
        """A new context with ``messages`` at its end; this one is left as it is."""
        return self.model_copy(update={"messages": [*self.messages, *messages]})
