# GENERATED from openapi/mistral.yaml by `make generate`. Do not edit by hand: `make check` would report it.
"""What can arrive: every union, tag, enum and field on the response path, with where it arrives.

`arrives` speaks of places in the JSON: `choices[].delta.content[]`. `type` is the wire's type: `string`,
`array[ContentChunk]`, `"text"` (a constant), `map[any]`, `any`; alternatives are joined by ` | `.
"""

from typing import Final, NamedTuple

from nodrop.wire.names import SPEC_VERSION as SPEC_VERSION


class Union(NamedTuple):
    """Alternatives, told apart by the property `tag` (None: the document names none). `members`: tag → class."""

    name: str
    tag: str | None
    members: dict[str, str]
    arrives: tuple[str, ...]


class Enum(NamedTuple):
    """A closed list of values. `fields`: the fields that hold it, as `Owner.property`."""

    name: str
    values: tuple[str, ...]
    fields: tuple[str, ...]
    arrives: tuple[str, ...]


class Field(NamedTuple):
    """A property of an object that can arrive."""

    owner: str
    name: str
    type: str
    required: bool
    arrives: tuple[str, ...]


UNIONS: Final[tuple[Union, ...]] = (
    Union(
        "ContentChunk",
        "type",
        {
            "document_url": "DocumentURLChunk",
            "file": "FileChunk",
            "image_url": "ImageURLChunk",
            "input_audio": "AudioChunk",
            "reference": "ReferenceChunk",
            "resource": "ResourceChunk",
            "resource_link": "ResourceLinkChunk",
            "text": "TextChunk",
            "thinking": "ThinkChunk",
        },
        (
            "choices[].delta.content[]",
            "choices[].message.content[]",
            "choices[].messages[].content[]",
        ),
    ),
    Union(
        "ResourceContent",
        "type",
        {
            "image_url": "ImageURLChunk",
            "text": "TextChunk",
        },
        (
            "choices[].delta.content[].content",
            "choices[].message.content[].content",
            "choices[].messages[].content[].content",
        ),
    ),
    Union(
        "ThinkingPart",
        "type",
        {
            "reference": "ReferenceChunk",
            "text": "TextChunk",
            "tool_reference": "ToolReferenceChunk",
        },
        (
            "choices[].delta.content[].thinking[]",
            "choices[].message.content[].thinking[]",
            "choices[].messages[].content[].thinking[]",
        ),
    ),
)

ENUMS: Final[tuple[Enum, ...]] = (
    Enum(
        "BuiltInConnectors",
        ("code_interpreter", "document_library", "image_generation", "mistral_mcp", "web_search", "web_search_premium"),
        ("ToolReferenceChunk.tool",),
        (
            "choices[].delta.content[].thinking[].tool",
            "choices[].message.content[].thinking[].tool",
            "choices[].messages[].content[].thinking[].tool",
        ),
    ),
    Enum(
        "FinishReason",
        ("", "error", "length", "model_length", "stop", "tool_calls"),
        ("ChatCompletionChoice.finish_reason",),
        (
            "choices[].finish_reason",
        ),
    ),
    Enum(
        "ImageDetail",
        ("auto", "high", "low"),
        ("ImageURL.detail",),
        (
            "choices[].delta.content[].image_url.detail",
            "choices[].message.content[].image_url.detail",
            "choices[].messages[].content[].image_url.detail",
            "choices[].delta.content[].content.image_url.detail",
            "choices[].message.content[].content.image_url.detail",
            "choices[].messages[].content[].content.image_url.detail",
        ),
    ),
    Enum(
        "StreamFinishReason",
        ("", "error", "length", "model_length", "stop", "tool_calls"),
        ("CompletionResponseStreamChoice.finish_reason",),
        (
            "choices[].finish_reason",
        ),
    ),
)

FIELDS: Final[tuple[Field, ...]] = (
    Field(
        "AssistantMessage",
        "content",
        "string | array[ContentChunk] | null",
        False,
        (
            "choices[].message.content",
        ),
    ),
    Field(
        "AssistantMessage",
        "prefix",
        "boolean",
        False,
        (
            "choices[].message.prefix",
        ),
    ),
    Field(
        "AssistantMessage",
        "role",
        '"assistant"',
        True,
        (
            "choices[].message.role",
        ),
    ),
    Field(
        "AssistantMessage",
        "tool_calls",
        "array[ToolCall] | null",
        False,
        (
            "choices[].message.tool_calls",
        ),
    ),
    Field(
        "AudioChunk",
        "input_audio",
        "string",
        True,
        (
            "choices[].delta.content[].input_audio",
            "choices[].message.content[].input_audio",
            "choices[].messages[].content[].input_audio",
        ),
    ),
    Field(
        "AudioChunk",
        "type",
        '"input_audio"',
        True,
        (
            "choices[].delta.content[].type",
            "choices[].message.content[].type",
            "choices[].messages[].content[].type",
        ),
    ),
    Field(
        "ChatCompletionChoice",
        "finish_reason",
        "FinishReason | null",
        True,
        (
            "choices[].finish_reason",
        ),
    ),
    Field(
        "ChatCompletionChoice",
        "index",
        "integer",
        True,
        (
            "choices[].index",
        ),
    ),
    Field(
        "ChatCompletionChoice",
        "logprobs",
        "ChatCompletionResponseChoiceLogprobs | null",
        False,
        (
            "choices[].logprobs",
        ),
    ),
    Field(
        "ChatCompletionChoice",
        "message",
        "AssistantMessage",
        False,
        (
            "choices[].message",
        ),
    ),
    Field(
        "ChatCompletionChoice",
        "messages",
        "array[DeltaMessage]",
        False,
        (
            "choices[].messages",
        ),
    ),
    Field(
        "ChatCompletionChoice",
        "prompt_logprobs",
        "ChatCompletionResponseChoiceLogprobs | null",
        False,
        (
            "choices[].prompt_logprobs",
        ),
    ),
    Field(
        "ChatCompletionResponse",
        "choices",
        "array[ChatCompletionChoice]",
        True,
        (
            "choices",
        ),
    ),
    Field(
        "ChatCompletionResponse",
        "created",
        "integer",
        True,
        (
            "created",
        ),
    ),
    Field(
        "ChatCompletionResponse",
        "id",
        "string",
        True,
        (
            "id",
        ),
    ),
    Field(
        "ChatCompletionResponse",
        "model",
        "string",
        True,
        (
            "model",
        ),
    ),
    Field(
        "ChatCompletionResponse",
        "object",
        "string",
        True,
        (
            "object",
        ),
    ),
    Field(
        "ChatCompletionResponse",
        "usage",
        "UsageInfo | null",
        False,
        (
            "usage",
        ),
    ),
    Field(
        "ChatCompletionResponseChoiceLogprobs",
        "content",
        "array[ChatCompletionResponseTokenLogprobsTopK]",
        True,
        (
            "choices[].logprobs.content",
            "choices[].prompt_logprobs.content",
        ),
    ),
    Field(
        "ChatCompletionResponseTokenLogprobs",
        "bytes",
        "array[integer]",
        True,
        (
            "choices[].logprobs.content[].top_logprobs[].bytes",
            "choices[].prompt_logprobs.content[].top_logprobs[].bytes",
        ),
    ),
    Field(
        "ChatCompletionResponseTokenLogprobs",
        "logprob",
        "number",
        True,
        (
            "choices[].logprobs.content[].top_logprobs[].logprob",
            "choices[].prompt_logprobs.content[].top_logprobs[].logprob",
        ),
    ),
    Field(
        "ChatCompletionResponseTokenLogprobs",
        "token",
        "string",
        True,
        (
            "choices[].logprobs.content[].top_logprobs[].token",
            "choices[].prompt_logprobs.content[].top_logprobs[].token",
        ),
    ),
    Field(
        "ChatCompletionResponseTokenLogprobs",
        "token_id",
        "integer",
        True,
        (
            "choices[].logprobs.content[].top_logprobs[].token_id",
            "choices[].prompt_logprobs.content[].top_logprobs[].token_id",
        ),
    ),
    Field(
        "ChatCompletionResponseTokenLogprobsTopK",
        "bytes",
        "array[integer]",
        True,
        (
            "choices[].logprobs.content[].bytes",
            "choices[].prompt_logprobs.content[].bytes",
        ),
    ),
    Field(
        "ChatCompletionResponseTokenLogprobsTopK",
        "logprob",
        "number",
        True,
        (
            "choices[].logprobs.content[].logprob",
            "choices[].prompt_logprobs.content[].logprob",
        ),
    ),
    Field(
        "ChatCompletionResponseTokenLogprobsTopK",
        "token",
        "string",
        True,
        (
            "choices[].logprobs.content[].token",
            "choices[].prompt_logprobs.content[].token",
        ),
    ),
    Field(
        "ChatCompletionResponseTokenLogprobsTopK",
        "token_id",
        "integer",
        True,
        (
            "choices[].logprobs.content[].token_id",
            "choices[].prompt_logprobs.content[].token_id",
        ),
    ),
    Field(
        "ChatCompletionResponseTokenLogprobsTopK",
        "top_logprobs",
        "array[ChatCompletionResponseTokenLogprobs] | null",
        False,
        (
            "choices[].logprobs.content[].top_logprobs",
            "choices[].prompt_logprobs.content[].top_logprobs",
        ),
    ),
    Field(
        "CompletionChunk",
        "choices",
        "array[CompletionResponseStreamChoice]",
        False,
        (
            "choices",
        ),
    ),
    Field(
        "CompletionChunk",
        "created",
        "integer",
        False,
        (
            "created",
        ),
    ),
    Field(
        "CompletionChunk",
        "id",
        "string",
        True,
        (
            "id",
        ),
    ),
    Field(
        "CompletionChunk",
        "model",
        "string",
        True,
        (
            "model",
        ),
    ),
    Field(
        "CompletionChunk",
        "object",
        "string",
        False,
        (
            "object",
        ),
    ),
    Field(
        "CompletionChunk",
        "p",
        "string | null",
        False,
        (
            "p",
        ),
    ),
    Field(
        "CompletionChunk",
        "usage",
        "UsageInfo | null",
        False,
        (
            "usage",
        ),
    ),
    Field(
        "CompletionEvent",
        "data",
        "CompletionChunk",
        True,
        (
            "event.data",
        ),
    ),
    Field(
        "CompletionResponseStreamChoice",
        "delta",
        "DeltaMessage",
        True,
        (
            "choices[].delta",
        ),
    ),
    Field(
        "CompletionResponseStreamChoice",
        "finish_reason",
        "StreamFinishReason | null",
        True,
        (
            "choices[].finish_reason",
        ),
    ),
    Field(
        "CompletionResponseStreamChoice",
        "index",
        "integer",
        True,
        (
            "choices[].index",
        ),
    ),
    Field(
        "CompletionResponseStreamChoice",
        "logprobs",
        "ChatCompletionResponseChoiceLogprobs | null",
        False,
        (
            "choices[].logprobs",
        ),
    ),
    Field(
        "CompletionResponseStreamChoice",
        "p",
        "string | null",
        False,
        (
            "choices[].p",
        ),
    ),
    Field(
        "CompletionResponseStreamChoice",
        "prompt_logprobs",
        "ChatCompletionResponseChoiceLogprobs | null",
        False,
        (
            "choices[].prompt_logprobs",
        ),
    ),
    Field(
        "CompletionTokensDetails",
        "audio_tokens",
        "integer | null",
        False,
        (
            "usage.completion_tokens_details.audio_tokens",
        ),
    ),
    Field(
        "CompletionTokensDetails",
        "reasoning_tokens",
        "integer | null",
        False,
        (
            "usage.completion_tokens_details.reasoning_tokens",
        ),
    ),
    Field(
        "DeltaMessage",
        "content",
        "string | array[ContentChunk] | null",
        False,
        (
            "choices[].delta.content",
            "choices[].messages[].content",
        ),
    ),
    Field(
        "DeltaMessage",
        "index",
        "integer | null",
        False,
        (
            "choices[].delta.index",
            "choices[].messages[].index",
        ),
    ),
    Field(
        "DeltaMessage",
        "metadata",
        "map[any] | null",
        False,
        (
            "choices[].delta.metadata",
            "choices[].messages[].metadata",
        ),
    ),
    Field(
        "DeltaMessage",
        "role",
        "string | null",
        False,
        (
            "choices[].delta.role",
            "choices[].messages[].role",
        ),
    ),
    Field(
        "DeltaMessage",
        "tool_call_id",
        "string | null",
        False,
        (
            "choices[].delta.tool_call_id",
            "choices[].messages[].tool_call_id",
        ),
    ),
    Field(
        "DeltaMessage",
        "tool_calls",
        "array[ToolCall] | null",
        False,
        (
            "choices[].delta.tool_calls",
            "choices[].messages[].tool_calls",
        ),
    ),
    Field(
        "DocumentURLChunk",
        "document_name",
        "string | null",
        False,
        (
            "choices[].delta.content[].document_name",
            "choices[].message.content[].document_name",
            "choices[].messages[].content[].document_name",
        ),
    ),
    Field(
        "DocumentURLChunk",
        "document_url",
        "string",
        True,
        (
            "choices[].delta.content[].document_url",
            "choices[].message.content[].document_url",
            "choices[].messages[].content[].document_url",
        ),
    ),
    Field(
        "DocumentURLChunk",
        "type",
        '"document_url"',
        True,
        (
            "choices[].delta.content[].type",
            "choices[].message.content[].type",
            "choices[].messages[].content[].type",
        ),
    ),
    Field(
        "ErrorResponse",
        "code",
        "string | integer | null",
        False,
        (
            "error body: code",
        ),
    ),
    Field(
        "ErrorResponse",
        "detail",
        "string | array[ValidationError]",
        False,
        (
            "error body: detail",
        ),
    ),
    Field(
        "ErrorResponse",
        "message",
        "string | HTTPValidationError | array[ValidationError]",
        False,
        (
            "error body: message",
        ),
    ),
    Field(
        "ErrorResponse",
        "object",
        "string",
        False,
        (
            "error body: object",
        ),
    ),
    Field(
        "ErrorResponse",
        "param",
        "string | null",
        False,
        (
            "error body: param",
        ),
    ),
    Field(
        "ErrorResponse",
        "raw_status_code",
        "integer",
        False,
        (
            "error body: raw_status_code",
        ),
    ),
    Field(
        "ErrorResponse",
        "type",
        "string",
        False,
        (
            "error body: type",
        ),
    ),
    Field(
        "FileChunk",
        "file_id",
        "string",
        True,
        (
            "choices[].delta.content[].file_id",
            "choices[].message.content[].file_id",
            "choices[].messages[].content[].file_id",
        ),
    ),
    Field(
        "FileChunk",
        "type",
        '"file"',
        True,
        (
            "choices[].delta.content[].type",
            "choices[].message.content[].type",
            "choices[].messages[].content[].type",
        ),
    ),
    Field(
        "FunctionCall",
        "arguments",
        "string | map[any]",
        True,
        (
            "choices[].delta.tool_calls[].function.arguments",
            "choices[].message.tool_calls[].function.arguments",
            "choices[].messages[].tool_calls[].function.arguments",
        ),
    ),
    Field(
        "FunctionCall",
        "name",
        "string | null",
        False,
        (
            "choices[].delta.tool_calls[].function.name",
            "choices[].message.tool_calls[].function.name",
            "choices[].messages[].tool_calls[].function.name",
        ),
    ),
    Field(
        "HTTPValidationError",
        "detail",
        "array[ValidationError]",
        False,
        (
            "error body: message.detail",
            "error body: detail",
        ),
    ),
    Field(
        "ImageURL",
        "detail",
        "ImageDetail | null",
        False,
        (
            "choices[].delta.content[].image_url.detail",
            "choices[].message.content[].image_url.detail",
            "choices[].messages[].content[].image_url.detail",
            "choices[].delta.content[].content.image_url.detail",
            "choices[].message.content[].content.image_url.detail",
            "choices[].messages[].content[].content.image_url.detail",
        ),
    ),
    Field(
        "ImageURL",
        "url",
        "string",
        True,
        (
            "choices[].delta.content[].image_url.url",
            "choices[].message.content[].image_url.url",
            "choices[].messages[].content[].image_url.url",
            "choices[].delta.content[].content.image_url.url",
            "choices[].message.content[].content.image_url.url",
            "choices[].messages[].content[].content.image_url.url",
        ),
    ),
    Field(
        "ImageURLChunk",
        "image_url",
        "string | ImageURL",
        True,
        (
            "choices[].delta.content[].image_url",
            "choices[].message.content[].image_url",
            "choices[].messages[].content[].image_url",
            "choices[].delta.content[].content.image_url",
            "choices[].message.content[].content.image_url",
            "choices[].messages[].content[].content.image_url",
        ),
    ),
    Field(
        "ImageURLChunk",
        "type",
        '"image_url"',
        True,
        (
            "choices[].delta.content[].type",
            "choices[].message.content[].type",
            "choices[].messages[].content[].type",
            "choices[].delta.content[].content.type",
            "choices[].message.content[].content.type",
            "choices[].messages[].content[].content.type",
        ),
    ),
    Field(
        "PromptTokensDetails",
        "audio_tokens",
        "integer | null",
        False,
        (
            "usage.prompt_token_details.audio_tokens",
            "usage.prompt_tokens_details.audio_tokens",
        ),
    ),
    Field(
        "PromptTokensDetails",
        "cached_tokens",
        "integer | null",
        False,
        (
            "usage.prompt_token_details.cached_tokens",
            "usage.prompt_tokens_details.cached_tokens",
        ),
    ),
    Field(
        "ReferenceChunk",
        "reference_ids",
        "array[string | integer]",
        True,
        (
            "choices[].delta.content[].reference_ids",
            "choices[].message.content[].reference_ids",
            "choices[].messages[].content[].reference_ids",
            "choices[].delta.content[].thinking[].reference_ids",
            "choices[].message.content[].thinking[].reference_ids",
            "choices[].messages[].content[].thinking[].reference_ids",
        ),
    ),
    Field(
        "ReferenceChunk",
        "type",
        '"reference"',
        True,
        (
            "choices[].delta.content[].type",
            "choices[].message.content[].type",
            "choices[].messages[].content[].type",
            "choices[].delta.content[].thinking[].type",
            "choices[].message.content[].thinking[].type",
            "choices[].messages[].content[].thinking[].type",
        ),
    ),
    Field(
        "ResourceChunk",
        "content",
        "ResourceContent",
        True,
        (
            "choices[].delta.content[].content",
            "choices[].message.content[].content",
            "choices[].messages[].content[].content",
        ),
    ),
    Field(
        "ResourceChunk",
        "type",
        '"resource"',
        True,
        (
            "choices[].delta.content[].type",
            "choices[].message.content[].type",
            "choices[].messages[].content[].type",
        ),
    ),
    Field(
        "ResourceChunk",
        "uri",
        "string",
        True,
        (
            "choices[].delta.content[].uri",
            "choices[].message.content[].uri",
            "choices[].messages[].content[].uri",
        ),
    ),
    Field(
        "ResourceLinkChunk",
        "metadata",
        "map[string | integer | number | boolean] | null",
        False,
        (
            "choices[].delta.content[].metadata",
            "choices[].message.content[].metadata",
            "choices[].messages[].content[].metadata",
        ),
    ),
    Field(
        "ResourceLinkChunk",
        "type",
        '"resource_link"',
        True,
        (
            "choices[].delta.content[].type",
            "choices[].message.content[].type",
            "choices[].messages[].content[].type",
        ),
    ),
    Field(
        "ResourceLinkChunk",
        "uri",
        "string",
        True,
        (
            "choices[].delta.content[].uri",
            "choices[].message.content[].uri",
            "choices[].messages[].content[].uri",
        ),
    ),
    Field(
        "TextChunk",
        "text",
        "string",
        True,
        (
            "choices[].delta.content[].text",
            "choices[].message.content[].text",
            "choices[].messages[].content[].text",
            "choices[].delta.content[].content.text",
            "choices[].delta.content[].thinking[].text",
            "choices[].message.content[].content.text",
            "choices[].message.content[].thinking[].text",
            "choices[].messages[].content[].content.text",
            "choices[].messages[].content[].thinking[].text",
        ),
    ),
    Field(
        "TextChunk",
        "type",
        '"text"',
        True,
        (
            "choices[].delta.content[].type",
            "choices[].message.content[].type",
            "choices[].messages[].content[].type",
            "choices[].delta.content[].content.type",
            "choices[].delta.content[].thinking[].type",
            "choices[].message.content[].content.type",
            "choices[].message.content[].thinking[].type",
            "choices[].messages[].content[].content.type",
            "choices[].messages[].content[].thinking[].type",
        ),
    ),
    Field(
        "ThinkChunk",
        "closed",
        "boolean",
        False,
        (
            "choices[].delta.content[].closed",
            "choices[].message.content[].closed",
            "choices[].messages[].content[].closed",
        ),
    ),
    Field(
        "ThinkChunk",
        "signature",
        "string | null",
        False,
        (
            "choices[].delta.content[].signature",
            "choices[].message.content[].signature",
            "choices[].messages[].content[].signature",
        ),
    ),
    Field(
        "ThinkChunk",
        "thinking",
        "array[ThinkingPart]",
        True,
        (
            "choices[].delta.content[].thinking",
            "choices[].message.content[].thinking",
            "choices[].messages[].content[].thinking",
        ),
    ),
    Field(
        "ThinkChunk",
        "type",
        '"thinking"',
        True,
        (
            "choices[].delta.content[].type",
            "choices[].message.content[].type",
            "choices[].messages[].content[].type",
        ),
    ),
    Field(
        "ToolCall",
        "function",
        "FunctionCall",
        True,
        (
            "choices[].delta.tool_calls[].function",
            "choices[].message.tool_calls[].function",
            "choices[].messages[].tool_calls[].function",
        ),
    ),
    Field(
        "ToolCall",
        "id",
        "string | null",
        False,
        (
            "choices[].delta.tool_calls[].id",
            "choices[].message.tool_calls[].id",
            "choices[].messages[].tool_calls[].id",
        ),
    ),
    Field(
        "ToolCall",
        "index",
        "integer",
        False,
        (
            "choices[].delta.tool_calls[].index",
            "choices[].message.tool_calls[].index",
            "choices[].messages[].tool_calls[].index",
        ),
    ),
    Field(
        "ToolCall",
        "type",
        "string | null",
        False,
        (
            "choices[].delta.tool_calls[].type",
            "choices[].message.tool_calls[].type",
            "choices[].messages[].tool_calls[].type",
        ),
    ),
    Field(
        "ToolReferenceChunk",
        "description",
        "string | null",
        False,
        (
            "choices[].delta.content[].thinking[].description",
            "choices[].message.content[].thinking[].description",
            "choices[].messages[].content[].thinking[].description",
        ),
    ),
    Field(
        "ToolReferenceChunk",
        "favicon",
        "string | null",
        False,
        (
            "choices[].delta.content[].thinking[].favicon",
            "choices[].message.content[].thinking[].favicon",
            "choices[].messages[].content[].thinking[].favicon",
        ),
    ),
    Field(
        "ToolReferenceChunk",
        "title",
        "string",
        True,
        (
            "choices[].delta.content[].thinking[].title",
            "choices[].message.content[].thinking[].title",
            "choices[].messages[].content[].thinking[].title",
        ),
    ),
    Field(
        "ToolReferenceChunk",
        "tool",
        "string | BuiltInConnectors",
        True,
        (
            "choices[].delta.content[].thinking[].tool",
            "choices[].message.content[].thinking[].tool",
            "choices[].messages[].content[].thinking[].tool",
        ),
    ),
    Field(
        "ToolReferenceChunk",
        "type",
        '"tool_reference"',
        True,
        (
            "choices[].delta.content[].thinking[].type",
            "choices[].message.content[].thinking[].type",
            "choices[].messages[].content[].thinking[].type",
        ),
    ),
    Field(
        "ToolReferenceChunk",
        "url",
        "string | null",
        False,
        (
            "choices[].delta.content[].thinking[].url",
            "choices[].message.content[].thinking[].url",
            "choices[].messages[].content[].thinking[].url",
        ),
    ),
    Field(
        "UsageInfo",
        "completion_tokens",
        "integer",
        False,
        (
            "usage.completion_tokens",
        ),
    ),
    Field(
        "UsageInfo",
        "completion_tokens_details",
        "CompletionTokensDetails | null",
        False,
        (
            "usage.completion_tokens_details",
        ),
    ),
    Field(
        "UsageInfo",
        "num_cached_tokens",
        "integer | null",
        False,
        (
            "usage.num_cached_tokens",
        ),
    ),
    Field(
        "UsageInfo",
        "prompt_audio_seconds",
        "integer | map[any] | null",
        False,
        (
            "usage.prompt_audio_seconds",
        ),
    ),
    Field(
        "UsageInfo",
        "prompt_token_details",
        "PromptTokensDetails | null",
        False,
        (
            "usage.prompt_token_details",
        ),
    ),
    Field(
        "UsageInfo",
        "prompt_tokens",
        "integer",
        False,
        (
            "usage.prompt_tokens",
        ),
    ),
    Field(
        "UsageInfo",
        "prompt_tokens_details",
        "PromptTokensDetails | null",
        False,
        (
            "usage.prompt_tokens_details",
        ),
    ),
    Field(
        "UsageInfo",
        "request_count",
        "integer | null",
        False,
        (
            "usage.request_count",
        ),
    ),
    Field(
        "UsageInfo",
        "service_tier",
        "string | null",
        False,
        (
            "usage.service_tier",
        ),
    ),
    Field(
        "UsageInfo",
        "total_tokens",
        "integer",
        False,
        (
            "usage.total_tokens",
        ),
    ),
    Field(
        "ValidationError",
        "ctx",
        "map[any]",
        False,
        (
            "error body: detail[].ctx",
            "error body: message[].ctx",
            "error body: message.detail[].ctx",
        ),
    ),
    Field(
        "ValidationError",
        "input",
        "any",
        False,
        (
            "error body: detail[].input",
            "error body: message[].input",
            "error body: message.detail[].input",
        ),
    ),
    Field(
        "ValidationError",
        "loc",
        "array[string | integer]",
        True,
        (
            "error body: detail[].loc",
            "error body: message[].loc",
            "error body: message.detail[].loc",
        ),
    ),
    Field(
        "ValidationError",
        "msg",
        "string",
        True,
        (
            "error body: detail[].msg",
            "error body: message[].msg",
            "error body: message.detail[].msg",
        ),
    ),
    Field(
        "ValidationError",
        "type",
        "string",
        True,
        (
            "error body: detail[].type",
            "error body: message[].type",
            "error body: message.detail[].type",
        ),
    ),
)
