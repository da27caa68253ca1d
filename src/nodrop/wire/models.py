# GENERATED from openapi/mistral.yaml by `make generate`. Do not edit by hand: `make check` would report it.

from __future__ import annotations

from typing import Annotated, Any, Literal

from nodrop.wire.base import WireModel
from pydantic import ConfigDict, Field
from typing_extensions import TypeAliasType


class APIKeyAuth(WireModel):
    model_config = ConfigDict(
        extra="forbid",
    )
    type: Literal["api-key"] = "api-key"
    value: str


class AudioChunk(WireModel):
    model_config = ConfigDict(
        extra="allow",
    )
    input_audio: str
    type: Literal["input_audio"] = "input_audio"


BuiltInConnectors = TypeAliasType(
    "BuiltInConnectors",
    Literal[
        "code_interpreter",
        "document_library",
        "image_generation",
        "mistral_mcp",
        "web_search",
        "web_search_premium",
    ],
)


FrequencyPenalty = TypeAliasType(
    "FrequencyPenalty", Annotated[float, Field(ge=-2.0, le=2.0)]
)


MaxTokens = TypeAliasType("MaxTokens", Annotated[int, Field(ge=0)])


N = TypeAliasType("N", Annotated[int, Field(ge=1)])


PresencePenalty = TypeAliasType(
    "PresencePenalty", Annotated[float, Field(ge=-2.0, le=2.0)]
)


RandomSeed = TypeAliasType("RandomSeed", Annotated[int, Field(ge=0)])


Temperature = TypeAliasType("Temperature", Annotated[float, Field(ge=0.0, le=1.5)])


TopP = TypeAliasType("TopP", Annotated[float, Field(gt=0.0, le=1.0)])


class ChatCompletionResponseTokenLogprobs(WireModel):
    model_config = ConfigDict(
        extra="allow",
    )
    bytes: list[int]
    logprob: float
    token: str
    token_id: int


class ChatCompletionResponseTokenLogprobsTopK(WireModel):
    model_config = ConfigDict(
        extra="allow",
    )
    bytes: list[int]
    logprob: float
    token: str
    token_id: int
    top_logprobs: list[ChatCompletionResponseTokenLogprobs] | None = None


class CompletionTokensDetails(WireModel):
    model_config = ConfigDict(
        extra="allow",
    )
    audio_tokens: int | None = None
    reasoning_tokens: int | None = None


class DocumentURLChunk(WireModel):
    model_config = ConfigDict(
        extra="allow",
    )
    document_name: str | None = None
    document_url: str
    type: Literal["document_url"] = "document_url"


class FileChunk(WireModel):
    model_config = ConfigDict(
        extra="allow",
    )
    file_id: str
    type: Literal["file"] = "file"


FinishReason = TypeAliasType(
    "FinishReason", Literal["", "error", "length", "model_length", "stop", "tool_calls"]
)


class Function(WireModel):
    model_config = ConfigDict(
        extra="forbid",
    )
    description: str | None = None
    name: str
    parameters: dict[str, Any]
    strict: bool | None = None


class FunctionCall(WireModel):
    model_config = ConfigDict(
        extra="allow",
    )
    arguments: str | dict[str, Any]
    name: str | None = None


class FunctionName(WireModel):
    model_config = ConfigDict(
        extra="forbid",
    )
    name: str


ImageDetail = TypeAliasType("ImageDetail", Literal["auto", "high", "low"])


class ImageURL(WireModel):
    model_config = ConfigDict(
        extra="allow",
    )
    detail: ImageDetail | None = None
    url: str


class ImageURLChunk(WireModel):
    model_config = ConfigDict(
        extra="allow",
    )
    image_url: str | ImageURL
    type: Literal["image_url"] = "image_url"


class JsonSchema(WireModel):
    model_config = ConfigDict(
        extra="forbid",
    )
    description: str | None = None
    name: str
    schema_: Annotated[dict[str, Any], Field(alias="schema")]
    strict: bool | None = None


MistralPromptMode = TypeAliasType("MistralPromptMode", Literal["reasoning"])


ModerationLLMAction = TypeAliasType("ModerationLLMAction", Literal["block", "none"])


class ModerationLLMV1CategoryThresholds(WireModel):
    model_config = ConfigDict(
        extra="forbid",
    )
    dangerous_and_criminal_content: float | None = None
    financial: float | None = None
    hate_and_discrimination: float | None = None
    health: float | None = None
    law: float | None = None
    pii: float | None = None
    selfharm: float | None = None
    sexual: float | None = None
    violence_and_threats: float | None = None


class ModerationLLMV1Config(WireModel):
    model_config = ConfigDict(
        extra="forbid",
    )
    action: ModerationLLMAction | None = None
    custom_category_thresholds: ModerationLLMV1CategoryThresholds | None = None
    ignore_other_categories: bool | None = None
    model_name: str | None = None


class ModerationLLMV2CategoryThresholds(WireModel):
    model_config = ConfigDict(
        extra="forbid",
    )
    criminal: float | None = None
    dangerous: float | None = None
    financial: float | None = None
    hate_and_discrimination: float | None = None
    health: float | None = None
    jailbreaking: float | None = None
    law: float | None = None
    pii: float | None = None
    selfharm: float | None = None
    sexual: float | None = None
    violence_and_threats: float | None = None


class ModerationLLMV2Config(WireModel):
    model_config = ConfigDict(
        extra="forbid",
    )
    action: ModerationLLMAction | None = None
    custom_category_thresholds: ModerationLLMV2CategoryThresholds | None = None
    ignore_other_categories: bool | None = None
    model_name: str | None = None


class OAuth2TokenAuth(WireModel):
    model_config = ConfigDict(
        extra="forbid",
    )
    type: Literal["oauth2-token"] = "oauth2-token"
    value: str


class Prediction(WireModel):
    model_config = ConfigDict(
        extra="forbid",
    )
    content: str | None = None
    type: Literal["content"] = "content"


class PromptTokensDetails(WireModel):
    model_config = ConfigDict(
        extra="allow",
    )
    audio_tokens: int | None = None
    cached_tokens: int | None = None


ReasoningEffort = TypeAliasType(
    "ReasoningEffort",
    Literal["high", "low", "max", "medium", "minimal", "none", "xhigh"],
)


class ReferenceChunk(WireModel):
    model_config = ConfigDict(
        extra="allow",
    )
    reference_ids: list[str | int]
    type: Literal["reference"] = "reference"


RequestedServiceTier = TypeAliasType(
    "RequestedServiceTier", Literal["auto", "standard_only"]
)


class ResourceLinkChunk(WireModel):
    model_config = ConfigDict(
        extra="allow",
    )
    metadata: dict[str, str | int | float | bool] | None = None
    type: Literal["resource_link"] = "resource_link"
    uri: str


ResponseFormats = TypeAliasType(
    "ResponseFormats", Literal["json_object", "json_schema", "text"]
)


StreamFinishReason = TypeAliasType(
    "StreamFinishReason",
    Literal["", "error", "length", "model_length", "stop", "tool_calls"],
)


class StreamOptions(WireModel):
    model_config = ConfigDict(
        extra="forbid",
    )
    include_usage: bool | None = None


class TextChunk(WireModel):
    model_config = ConfigDict(
        extra="allow",
    )
    text: str
    type: Literal["text"] = "text"


class Tool(WireModel):
    model_config = ConfigDict(
        extra="forbid",
    )
    function: Function
    type: Literal["function"] = "function"


class ToolCall(WireModel):
    model_config = ConfigDict(
        extra="allow",
    )
    function: FunctionCall
    id: str | None = None
    index: int | None = None
    type: str | None = None


class ToolChoice(WireModel):
    model_config = ConfigDict(
        extra="forbid",
    )
    function: FunctionName
    type: str | None = None


ToolChoiceEnum = TypeAliasType(
    "ToolChoiceEnum", Literal["any", "auto", "none", "required"]
)


class ToolConfiguration(WireModel):
    model_config = ConfigDict(
        extra="forbid",
    )
    exclude: list[str] | None = None
    include: list[str] | None = None
    requires_confirmation: list[str] | None = None


class ToolReferenceChunk(WireModel):
    model_config = ConfigDict(
        extra="allow",
    )
    description: str | None = None
    favicon: str | None = None
    title: str
    tool: str | BuiltInConnectors
    type: Literal["tool_reference"] = "tool_reference"
    url: str | None = None


class UsageInfo(WireModel):
    model_config = ConfigDict(
        extra="allow",
    )
    completion_tokens: int | None = None
    completion_tokens_details: CompletionTokensDetails | None = None
    num_cached_tokens: int | None = None
    prompt_audio_seconds: int | dict[str, Any] | None = None
    prompt_token_details: PromptTokensDetails | None = None
    prompt_tokens: int | None = None
    prompt_tokens_details: PromptTokensDetails | None = None
    request_count: int | None = None
    service_tier: str | None = None
    total_tokens: int | None = None


class ValidationError(WireModel):
    model_config = ConfigDict(
        extra="allow",
    )
    ctx: dict[str, Any] | None = None
    input: Any | None = None
    loc: list[str | int]
    msg: str
    type: str


class ChatCompletionResponseChoiceLogprobs(WireModel):
    model_config = ConfigDict(
        extra="allow",
    )
    content: list[ChatCompletionResponseTokenLogprobsTopK]


ConnectorAuthorization = TypeAliasType(
    "ConnectorAuthorization",
    Annotated[APIKeyAuth | OAuth2TokenAuth, Field(discriminator="type")],
)


class CustomConnector(WireModel):
    model_config = ConfigDict(
        extra="forbid",
    )
    authorization: ConnectorAuthorization | None = None
    connector_id: str
    tool_configuration: ToolConfiguration | None = None
    type: Literal["connector"] = "connector"


class DocumentLibraryTool(WireModel):
    model_config = ConfigDict(
        extra="forbid",
    )
    library_ids: Annotated[list[str], Field(min_length=1)]
    tool_configuration: ToolConfiguration | None = None
    type: Literal["document_library"] = "document_library"


class GuardrailConfig(WireModel):
    model_config = ConfigDict(
        extra="forbid",
    )
    block_on_error: bool | None = None
    moderation_llm_v1: ModerationLLMV1Config | None = None
    moderation_llm_v2: ModerationLLMV2Config | None = None


class HTTPValidationError(WireModel):
    model_config = ConfigDict(
        extra="allow",
    )
    detail: list[ValidationError] | None = None


class ImageGenerationTool(WireModel):
    model_config = ConfigDict(
        extra="forbid",
    )
    tool_configuration: ToolConfiguration | None = None
    type: Literal["image_generation"] = "image_generation"


ResourceContent = TypeAliasType(
    "ResourceContent", Annotated[ImageURLChunk | TextChunk, Field(discriminator="type")]
)


class ResponseFormat(WireModel):
    model_config = ConfigDict(
        extra="forbid",
    )
    json_schema: JsonSchema | None = None
    type: ResponseFormats | None = None


ThinkingPart = TypeAliasType(
    "ThinkingPart",
    Annotated[
        ReferenceChunk | TextChunk | ToolReferenceChunk, Field(discriminator="type")
    ],
)


ChatTool = TypeAliasType(
    "ChatTool",
    Annotated[
        CustomConnector | DocumentLibraryTool | ImageGenerationTool | Tool,
        Field(discriminator="type"),
    ],
)


class ErrorResponse(WireModel):
    model_config = ConfigDict(
        extra="allow",
    )
    code: str | int | None = None
    detail: str | list[ValidationError] | None = None
    message: str | HTTPValidationError | list[ValidationError] | None = None
    object: str | None = None
    param: str | None = None
    raw_status_code: int | None = None
    type: str | None = None


class ResourceChunk(WireModel):
    model_config = ConfigDict(
        extra="allow",
    )
    content: ResourceContent
    type: Literal["resource"] = "resource"
    uri: str


class ThinkChunk(WireModel):
    model_config = ConfigDict(
        extra="allow",
    )
    closed: bool | None = None
    signature: str | None = None
    thinking: list[ThinkingPart]
    type: Literal["thinking"] = "thinking"


ContentChunk = TypeAliasType(
    "ContentChunk",
    Annotated[
        AudioChunk
        | DocumentURLChunk
        | FileChunk
        | ImageURLChunk
        | ReferenceChunk
        | ResourceChunk
        | ResourceLinkChunk
        | TextChunk
        | ThinkChunk,
        Field(discriminator="type"),
    ],
)


class DeltaMessage(WireModel):
    model_config = ConfigDict(
        extra="allow",
    )
    content: str | list[ContentChunk] | None = None
    index: int | None = None
    metadata: dict[str, Any] | None = None
    role: str | None = None
    tool_call_id: str | None = None
    tool_calls: list[ToolCall] | None = None


SystemMessageContentChunk = TypeAliasType(
    "SystemMessageContentChunk",
    Annotated[TextChunk | ThinkChunk, Field(discriminator="type")],
)


class ToolMessage(WireModel):
    model_config = ConfigDict(
        extra="forbid",
    )
    content: str | list[ContentChunk] | None
    name: str | None = None
    role: Literal["tool"] = "tool"
    tool_call_id: str | None = None


class UserMessage(WireModel):
    model_config = ConfigDict(
        extra="forbid",
    )
    content: str | list[ContentChunk] | None
    role: Literal["user"] = "user"


class AssistantMessage(WireModel):
    model_config = ConfigDict(
        extra="allow",
    )
    content: str | list[ContentChunk] | None = None
    prefix: bool | None = None
    role: Literal["assistant"] = "assistant"
    tool_calls: list[ToolCall] | None = None


class ChatCompletionChoice(WireModel):
    model_config = ConfigDict(
        extra="allow",
    )
    finish_reason: FinishReason | None
    index: int
    logprobs: ChatCompletionResponseChoiceLogprobs | None = None
    message: AssistantMessage | None = None
    messages: list[DeltaMessage] | None = None
    prompt_logprobs: ChatCompletionResponseChoiceLogprobs | None = None


class ChatCompletionResponse(WireModel):
    model_config = ConfigDict(
        extra="allow",
    )
    choices: list[ChatCompletionChoice]
    created: int
    id: str
    model: str
    object: str
    usage: UsageInfo | None = None


class CompletionResponseStreamChoice(WireModel):
    model_config = ConfigDict(
        extra="allow",
    )
    delta: DeltaMessage
    finish_reason: StreamFinishReason | None
    index: int
    logprobs: ChatCompletionResponseChoiceLogprobs | None = None
    p: str | None = None
    prompt_logprobs: ChatCompletionResponseChoiceLogprobs | None = None


class SystemMessage(WireModel):
    model_config = ConfigDict(
        extra="forbid",
    )
    content: str | list[SystemMessageContentChunk]
    role: Literal["system"] = "system"


ChatMessage = TypeAliasType(
    "ChatMessage",
    Annotated[
        AssistantMessage | SystemMessage | ToolMessage | UserMessage,
        Field(discriminator="role"),
    ],
)


class CompletionChunk(WireModel):
    model_config = ConfigDict(
        extra="allow",
    )
    choices: list[CompletionResponseStreamChoice] | None = None
    created: int | None = None
    id: str
    model: str
    object: str | None = None
    p: str | None = None
    usage: UsageInfo | None = None


class CompletionEvent(WireModel):
    model_config = ConfigDict(
        extra="allow",
    )
    data: CompletionChunk


class ChatCompletionRequest(WireModel):
    model_config = ConfigDict(
        extra="forbid",
    )
    frequency_penalty: FrequencyPenalty | None = None
    guardrails: list[GuardrailConfig] | None = None
    logprobs: bool | None = None
    max_tokens: MaxTokens | None = None
    messages: list[ChatMessage]
    metadata: dict[str, Any] | None = None
    min_tokens: int | None = None
    model: str
    n: N | None = None
    parallel_tool_calls: bool | None = None
    prediction: Prediction | None = None
    presence_penalty: PresencePenalty | None = None
    prompt_cache_key: str | None = None
    prompt_logprobs: bool | None = None
    prompt_mode: MistralPromptMode | None = None
    random_seed: RandomSeed | None = None
    reasoning_effort: ReasoningEffort | None = None
    repetition_penalty: float | None = None
    response_format: ResponseFormat | None = None
    safe_prompt: bool | None = None
    service_tier: RequestedServiceTier | None = None
    stop: str | list[str] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    temperature: Temperature | None = None
    tool_choice: ToolChoice | ToolChoiceEnum | None = None
    tools: list[ChatTool] | None = None
    top_k: int | None = None
    top_logprobs: int | None = None
    top_p: TopP | None = None
    top_prompt_logprobs: int | None = None
