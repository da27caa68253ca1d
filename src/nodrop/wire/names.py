# GENERATED from openapi/mistral.yaml by `make generate`. Do not edit by hand: `make check` would report it.
"""The version of the vendored document, and the names that hand-written tables of decisions are keyed by."""

from typing import Final, Literal, TypeAlias

SPEC_VERSION: Final = "2026.11.30"

ContentType: TypeAlias = Literal[
    "document_url",
    "file",
    "image_url",
    "input_audio",
    "reference",
    "resource",
    "resource_link",
    "text",
    "thinking",
]
FinishReasonValue: TypeAlias = Literal[
    "",
    "error",
    "length",
    "model_length",
    "stop",
    "tool_calls",
]
ResourceContentType: TypeAlias = Literal[
    "image_url",
    "text",
]
ThinkingPartType: TypeAlias = Literal[
    "reference",
    "text",
    "tool_reference",
]
