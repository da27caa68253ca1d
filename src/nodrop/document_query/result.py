"""What a document query gives back: one result, good or bad."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from nodrop.content import TextContent, Usage
from nodrop.document_query.render import QueryCitation, StructuredContent


def _is_none(value: object) -> bool:
    return value is None


class ToolResult(BaseModel):
    """The result of one tool call, in the shape of pi 1.4.0's ``AgentToolResult``.

    ``content`` is what the model reads: one text, on failure what went wrong. ``structured_content`` is the answer
    for programs; ``None`` where there is no whole answer. ``details`` is JSON for screens and logs:

    - always ``model``, ``library_ids``, ``streamed``, ``aborted``, ``request_id`` (the server's, or null);
    - of an answer ``response_id``, ``response_model``, ``finish_reason``; ``unmapped``, the raw values of fields that
      have no place here, by path; ``diagnostics``, ``{"type", "details"?}`` each;
    - of a failure ``error``: ``type`` (the exception's name), ``status``, ``is_retryable``; of a partial result
      ``partial``.

    ``usage`` counts tokens; its cost is zero by design, for the tool knows no prices. JSON, written with
    ``model_dump_json(by_alias=True)``, is pi's camelCase; inside ``structuredContent`` and ``details`` names are as
    here.
    """

    model_config = ConfigDict(
        alias_generator=to_camel, validate_by_name=True, validate_by_alias=True, hide_input_in_errors=True
    )

    content: list[TextContent]
    structured_content: Annotated[StructuredContent | None, Field(exclude_if=_is_none)] = None
    details: dict[str, Any] = Field(default_factory=dict[str, Any])
    usage: Usage
    is_error: bool = False

    @property
    def text(self) -> str:
        """The one text of ``content``."""
        return "".join(block.text for block in self.content)

    @property
    def answer(self) -> str:
        """The answer's text with its markers; empty where there is no whole answer."""
        return self.structured_content["answer"] if self.structured_content is not None else ""

    @property
    def citations(self) -> list[QueryCitation]:
        """The citations of the answer, in order."""
        return self.structured_content["citations"] if self.structured_content is not None else []
