"""The ledger of fields: what becomes of every property of every object that can arrive.

    mapped     its value is in the message, at the named place
    carried    kept whole where a caller can see it, at the named place
    decided    the named table (decisions.py, or below) decides by value
    ignored    carries nothing that a caller could miss; the reason says why
    rejected   refused, with the thing that it belongs to

An entry records the type and the presence that it was written for. ``make check`` compares this ledger with the
vendored document: a new field, one that is gone, and one whose type or presence changed are findings, each with the
line to paste here. There is no default entry and no wildcard. ``nodrop coverage`` prints this table.

Types are the wire's: ``array[ContentChunk]``, ``"text"`` (a constant), ``map[any]``; alternatives are joined by `` | ``.
"""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

Presence = Literal["required", "optional"]
Action = Literal["mapped", "carried", "decided", "ignored", "rejected"]


class Entry(NamedTuple):
    """What becomes of one field. ``what``: the place it goes to, the table that decides, or the reason."""

    type: str
    presence: Presence
    action: Action
    what: str


class Whole(NamedTuple):
    """What becomes of a union or an enum as a whole, and the values that this was written for."""

    values: tuple[str, ...]
    action: Action
    what: str


def mapped(type_: str, presence: Presence, what: str) -> Entry:
    return Entry(type_, presence, "mapped", what)


def carried(type_: str, presence: Presence, what: str) -> Entry:
    return Entry(type_, presence, "carried", what)


def decided(type_: str, presence: Presence, what: str) -> Entry:
    return Entry(type_, presence, "decided", what)


def ignored(type_: str, presence: Presence, what: str) -> Entry:
    return Entry(type_, presence, "ignored", what)


def rejected(type_: str, presence: Presence, what: str) -> Entry:
    return Entry(type_, presence, "rejected", what)


# Fields of other gateways that this API does not have: rejected on a message or delta when they are not empty.
FOREIGN: Final[Mapping[str, str]] = {
    "reasoning_content": "content in a field that this API does not have; thinking arrives as content chunks",
    "reasoning": "content in a field that this API does not have; thinking arrives as content chunks",
    "refusal": "content in a field that this API does not have",
}

FIELDS: Final[Mapping[str, Entry]] = {
    # ---- a chunk of a stream ----
    "CompletionEvent.data": mapped("CompletionChunk", "required", "the JSON of a server-sent event's data"),
    "CompletionChunk.id": mapped("string", "required", "message.response_id"),
    "CompletionChunk.model": mapped("string", "required", "message.response_model"),
    "CompletionChunk.choices": mapped("array[CompletionResponseStreamChoice]", "optional", "the message; a second is rejected"),
    "CompletionChunk.usage": mapped("UsageInfo | null", "optional", "message.usage; the last report wins"),
    "CompletionChunk.created": ignored("integer", "optional", "message.timestamp is the caller's clock, as in pi"),
    "CompletionChunk.object": ignored("string", "optional", "names the kind of the JSON; an error envelope is read before"),
    "CompletionChunk.p": ignored("string | null", "optional", "padding that hides the length of a packet"),
    "CompletionResponseStreamChoice.index": mapped("integer", "required", "0; a second candidate is rejected"),
    "CompletionResponseStreamChoice.delta": mapped("DeltaMessage", "required", "the message"),
    "CompletionResponseStreamChoice.finish_reason": decided("StreamFinishReason | null", "required", "FINISH_REASON"),
    "CompletionResponseStreamChoice.logprobs": mapped("ChatCompletionResponseChoiceLogprobs | null", "optional", "message.logprobs"),
    "CompletionResponseStreamChoice.prompt_logprobs": mapped("ChatCompletionResponseChoiceLogprobs | null", "optional", "message.prompt_logprobs"),
    "CompletionResponseStreamChoice.p": ignored("string | null", "optional", "padding that hides the length of a packet"),
    "DeltaMessage.role": decided("string | null", "optional", "ROLE"),
    "DeltaMessage.content": mapped("string | array[ContentChunk] | null", "optional", "text, thinking and citations"),
    "DeltaMessage.tool_calls": mapped("array[ToolCall] | null", "optional", "tool calls, put together by index"),
    "DeltaMessage.tool_call_id": carried("string | null", "optional", "message.unmapped"),
    "DeltaMessage.metadata": carried("map[any] | null", "optional", "message.unmapped"),
    "DeltaMessage.index": ignored("integer | null", "optional", "the place of the one message that there is"),
    # ---- a whole answer ----
    "ChatCompletionResponse.id": mapped("string", "required", "message.response_id"),
    "ChatCompletionResponse.model": mapped("string", "required", "message.response_model"),
    "ChatCompletionResponse.choices": mapped("array[ChatCompletionChoice]", "required", "the message; a second is rejected"),
    "ChatCompletionResponse.usage": mapped("UsageInfo | null", "optional", "message.usage"),
    "ChatCompletionResponse.created": ignored("integer", "required", "message.timestamp is the caller's clock, as in pi"),
    "ChatCompletionResponse.object": ignored("string", "required", "names the kind of the JSON; an error envelope is read before"),
    "ChatCompletionChoice.index": mapped("integer", "required", "0; a second candidate is rejected"),
    "ChatCompletionChoice.message": mapped("AssistantMessage", "optional", "the message"),
    "ChatCompletionChoice.messages": mapped("array[DeltaMessage]", "optional", "the message, in order, each as if a delta"),
    "ChatCompletionChoice.finish_reason": decided("FinishReason | null", "required", "FINISH_REASON"),
    "ChatCompletionChoice.logprobs": mapped("ChatCompletionResponseChoiceLogprobs | null", "optional", "message.logprobs"),
    "ChatCompletionChoice.prompt_logprobs": mapped("ChatCompletionResponseChoiceLogprobs | null", "optional", "message.prompt_logprobs"),
    "AssistantMessage.role": mapped('"assistant"', "required", "message.role"),
    "AssistantMessage.content": mapped("string | array[ContentChunk] | null", "optional", "text, thinking and citations"),
    "AssistantMessage.tool_calls": mapped("array[ToolCall] | null", "optional", "tool calls"),
    "AssistantMessage.prefix": ignored("boolean", "optional", "an echo of the request"),
    # ---- content ----
    "TextChunk.type": decided('"text"', "required", "CONTENT"),
    "TextChunk.text": mapped("string", "required", "the current text or thinking block"),
    "ThinkChunk.type": decided('"thinking"', "required", "CONTENT"),
    "ThinkChunk.thinking": mapped("array[ThinkingPart]", "required", "the current thinking block"),
    "ThinkChunk.signature": mapped("string | null", "optional", "thinking_signature of the block"),
    "ThinkChunk.closed": ignored("boolean", "optional", "true on fragments that are followed by more: it ends nothing"),
    "ReferenceChunk.type": decided('"reference"', "required", "CONTENT"),
    "ReferenceChunk.reference_ids": mapped("array[string | integer]", "required", "a marker in the text, and message.citations"),
    "ImageURLChunk.type": decided('"image_url"', "required", "CONTENT"),
    "ImageURLChunk.image_url": rejected("string | ImageURL", "required", "with its chunk"),
    "ImageURL.url": rejected("string", "required", "with its chunk"),
    "ImageURL.detail": rejected("ImageDetail | null", "optional", "with its chunk"),
    "DocumentURLChunk.type": decided('"document_url"', "required", "CONTENT"),
    "DocumentURLChunk.document_url": rejected("string", "required", "with its chunk"),
    "DocumentURLChunk.document_name": rejected("string | null", "optional", "with its chunk"),
    "FileChunk.type": decided('"file"', "required", "CONTENT"),
    "FileChunk.file_id": rejected("string", "required", "with its chunk"),
    "AudioChunk.type": decided('"input_audio"', "required", "CONTENT"),
    "AudioChunk.input_audio": rejected("string", "required", "with its chunk"),
    "ResourceChunk.type": decided('"resource"', "required", "CONTENT"),
    "ResourceChunk.uri": rejected("string", "required", "with its chunk"),
    "ResourceChunk.content": rejected("ResourceContent", "required", "with its chunk"),
    "ResourceLinkChunk.type": decided('"resource_link"', "required", "CONTENT"),
    "ResourceLinkChunk.uri": rejected("string", "required", "with its chunk"),
    "ResourceLinkChunk.metadata": rejected("map[string | integer | number | boolean] | null", "optional", "with its chunk"),
    "ToolReferenceChunk.type": decided('"tool_reference"', "required", "THINKING_PART"),
    "ToolReferenceChunk.tool": rejected("string | BuiltInConnectors", "required", "with its chunk"),
    "ToolReferenceChunk.title": rejected("string", "required", "with its chunk"),
    "ToolReferenceChunk.url": rejected("string | null", "optional", "with its chunk"),
    "ToolReferenceChunk.favicon": rejected("string | null", "optional", "with its chunk"),
    "ToolReferenceChunk.description": rejected("string | null", "optional", "with its chunk"),
    # ---- tool calls ----
    "ToolCall.id": mapped("string | null", "optional", "tool_call.id; a made-up one when none comes"),
    "ToolCall.type": decided("string | null", "optional", "CALL_TYPE"),
    "ToolCall.index": mapped("integer", "optional", "which call a fragment belongs to"),
    "ToolCall.function": mapped("FunctionCall", "required", "tool_call"),
    "FunctionCall.name": mapped("string | null", "optional", "tool_call.name"),
    "FunctionCall.arguments": mapped("string | map[any]", "required", "tool_call.arguments and raw_arguments"),
    # ---- usage ----
    "UsageInfo.prompt_tokens": mapped("integer", "optional", "usage.input"),
    "UsageInfo.completion_tokens": mapped("integer", "optional", "usage.output"),
    "UsageInfo.total_tokens": mapped("integer", "optional", "usage.total_tokens"),
    "UsageInfo.num_cached_tokens": mapped("integer | null", "optional", "usage.cache_read, third choice"),
    "UsageInfo.prompt_tokens_details": mapped("PromptTokensDetails | null", "optional", "usage.cache_read, first choice"),
    "UsageInfo.prompt_token_details": mapped("PromptTokensDetails | null", "optional", "usage.cache_read, second choice"),
    "UsageInfo.completion_tokens_details": mapped("CompletionTokensDetails | null", "optional", "usage.reasoning"),
    "UsageInfo.prompt_audio_seconds": carried("integer | map[any] | null", "optional", "usage.raw"),
    "UsageInfo.request_count": carried("integer | null", "optional", "usage.raw"),
    "UsageInfo.service_tier": carried("string | null", "optional", "usage.raw"),
    "PromptTokensDetails.cached_tokens": mapped("integer | null", "optional", "usage.cache_read"),
    "PromptTokensDetails.audio_tokens": mapped("integer | null", "optional", "usage.input: sound lies outside prompt_tokens"),
    "CompletionTokensDetails.reasoning_tokens": mapped("integer | null", "optional", "usage.reasoning"),
    "CompletionTokensDetails.audio_tokens": carried("integer | null", "optional", "usage.raw"),
    # ---- log probabilities: kept as they came ----
    "ChatCompletionResponseChoiceLogprobs.content": mapped("array[ChatCompletionResponseTokenLogprobsTopK]", "required", "message.logprobs or prompt_logprobs"),
    "ChatCompletionResponseTokenLogprobsTopK.token": mapped("string", "required", "message.logprobs[].token"),
    "ChatCompletionResponseTokenLogprobsTopK.logprob": mapped("number", "required", "message.logprobs[].logprob"),
    "ChatCompletionResponseTokenLogprobsTopK.bytes": mapped("array[integer]", "required", "message.logprobs[].bytes"),
    "ChatCompletionResponseTokenLogprobsTopK.token_id": mapped("integer", "required", "message.logprobs[].token_id"),
    "ChatCompletionResponseTokenLogprobsTopK.top_logprobs": mapped("array[ChatCompletionResponseTokenLogprobs] | null", "optional", "message.logprobs[].top_logprobs"),
    "ChatCompletionResponseTokenLogprobs.token": mapped("string", "required", "message.logprobs[].top_logprobs[].token"),
    "ChatCompletionResponseTokenLogprobs.logprob": mapped("number", "required", "message.logprobs[].top_logprobs[].logprob"),
    "ChatCompletionResponseTokenLogprobs.bytes": mapped("array[integer]", "required", "message.logprobs[].top_logprobs[].bytes"),
    "ChatCompletionResponseTokenLogprobs.token_id": mapped("integer", "required", "message.logprobs[].top_logprobs[].token_id"),
    # ---- error bodies: kept whole on error.body ----
    "ErrorResponse.message": mapped("string | HTTPValidationError | array[ValidationError]", "optional", "the error's message and details"),
    "ErrorResponse.detail": mapped("string | array[ValidationError]", "optional", "the error's message and details"),
    "ErrorResponse.type": mapped("string", "optional", "the class of the error"),
    "ErrorResponse.code": mapped("string | integer | null", "optional", "error.code"),
    "ErrorResponse.raw_status_code": mapped("integer", "optional", "error.status, where the body came inside a 200 stream"),
    "ErrorResponse.object": mapped("string", "optional", "tells an error inside a 200 stream from a chunk"),
    "ErrorResponse.param": carried("string | null", "optional", "error.body"),
    "HTTPValidationError.detail": mapped("array[ValidationError]", "optional", "the error's message and details"),
    "ValidationError.loc": mapped("array[string | integer]", "required", "error.details[].path"),
    "ValidationError.msg": mapped("string", "required", "error.details[].message"),
    "ValidationError.type": mapped("string", "required", "error.details[].type"),
    "ValidationError.input": carried("any", "optional", "error.body only: it may quote the prompt"),
    "ValidationError.ctx": carried("map[any]", "optional", "error.body"),
}  # fmt: skip

# Unions and enums besides those of decisions.py, with all values that they were written for.
UNIONS: Final[Mapping[str, Whole]] = {
    "ResourceContent": Whole(("image_url", "text"), "rejected", "with the resource that holds it"),
}
ENUMS: Final[Mapping[str, Whole]] = {
    # The values of each place where a finish reason can stand; FINISH_REASON decides them one by one.
    "FinishReason": Whole(("", "error", "length", "model_length", "stop", "tool_calls"), "decided", "FINISH_REASON"),
    "StreamFinishReason": Whole(("", "error", "length", "model_length", "stop", "tool_calls"), "decided", "FINISH_REASON"),
    "ImageDetail": Whole(("auto", "high", "low"), "rejected", "with the image that it describes"),
    "BuiltInConnectors": Whole(("code_interpreter", "document_library", "image_generation", "mistral_mcp", "web_search", "web_search_premium"), "rejected", "with the tool reference that names it"),
}  # fmt: skip
