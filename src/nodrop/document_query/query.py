"""One query's life, without IO: the request, what arrives, the previews, the result.

The shells (``sync``, ``aio``) carry it out: they send ``request``, hand each item to ``take``, show what ``preview``
gives, and say how the exchange ended (``ended`` or ``failed``); ``result`` is the one result then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from nodrop.content import Cost, TextContent, Usage
from nodrop.document_query.assembly import Assembly
from nodrop.document_query.canonical import whole_characters
from nodrop.document_query.declaration import TOOL_NAME, Question
from nodrop.document_query.render import StructuredContent, model_text, structured_content, text_so_far
from nodrop.document_query.result import ToolResult
from nodrop.errors import AbortedError, APIError, InvalidRequestError, StatusError
from nodrop.wire import (
    ChatCompletionRequest,
    ChatCompletionResponse,
    CompletionChunk,
    DocumentLibraryTool,
    StreamOptions,
    UserMessage,
)

PREVIEW_SECONDS: Final = 0.1
_UNPROCESSABLE: Final = 422
_ABORTED: Final = "The document query was aborted."
_EMPTY: Final = "the answer is empty: it holds nothing that can be shown"


class Query:
    """One question. ``preview_seconds`` is the least time between two previews."""

    def __init__(self, question: Question, *, streaming: bool, preview_seconds: float) -> None:
        self.streaming: Final = streaming
        self._question = question
        self._preview_seconds = preview_seconds
        self._assembly: Final = Assembly()
        self._stream_options = streaming
        self._diagnostics: list[dict[str, Any]] = []
        self._request_id: str | None = None
        self._error: APIError | AbortedError | None = None
        self._previewed = ""
        self._previewed_at: float | None = None

    @property
    def request(self) -> ChatCompletionRequest:
        """What to send. The forms differ in ``stream_options``, and in ``stream``, which the client sets."""
        options: dict[str, Any] = {"stream_options": StreamOptions(include_usage=True)} if self._stream_options else {}
        return ChatCompletionRequest(
            model=self._question.model,
            messages=[UserMessage(content=whole_characters(self._question.text))],
            tools=[DocumentLibraryTool(library_ids=[*self._question.library_ids])],
            **options,
        )

    # ---- what the exchange brings ----

    def take(self, item: CompletionChunk | ChatCompletionResponse, request_id: str | None) -> None:
        """Takes the next item. Raises :class:`nodrop.APIError` for what has no place in an answer."""
        self._request_id = request_id
        self._assembly.add(item)

    def ended(self, oddities: tuple[str, ...]) -> None:
        """The exchange came to a good end. Raises :class:`nodrop.APIError` when the answer is not whole."""
        self._diagnostics += [{"type": oddity} for oddity in oddities]
        self._assembly.finish()

    def failed(self, error: APIError | AbortedError) -> bool:
        """The exchange failed; whether to send ``request`` once more, changed, because that may help."""
        refused = self._stream_options and isinstance(error, InvalidRequestError) and _is_about_stream_options(error)
        if refused:
            self._stream_options = False
            self._diagnostics.append({"type": "stream_options_refused", "details": {"retried_without": True}})
            return True
        # Frames of the exchange would keep the answer alive.
        self._error = error.with_traceback(None)
        if isinstance(error, APIError):
            self._request_id = error.request_id or self._request_id
        return False

    # ---- what the caller sees ----

    def preview(self, now: float) -> str | None:
        """The whole text so far, if it is time for it and there is more than last time. ``now`` is in seconds."""
        if self._previewed_at is not None and now - self._previewed_at < self._preview_seconds:
            return None
        return self._next_preview(now)

    def last_preview(self, now: float) -> str | None:
        """The whole text, if the answer is good and the last preview had not all of it."""
        return None if self._error is not None else self._next_preview(now)

    def _next_preview(self, now: float) -> str | None:
        text = text_so_far(self._assembly)
        if len(text) <= len(self._previewed):
            return None
        self._previewed, self._previewed_at = text, now
        return text

    def partial_updates(self, on_update: Callable[[ToolResult], object] | None) -> Callable[[str], object] | None:
        """Makes each preview a whole partial result, for agent loops that replace one by the next."""
        if on_update is None:
            return None
        show = on_update

        def update(text: str) -> object:
            usage, details = _free(self._assembly.usage), self._details(partial=True)
            return show(ToolResult(content=[TextContent(text=text)], details=details, usage=usage))

        return update

    def result(self, *, aborted: bool) -> ToolResult:
        """The result. ``aborted``: the caller had aborted by now, in whatever shape that surfaced."""
        if aborted or isinstance(self._error, AbortedError):
            return self._failure(_ABORTED, aborted=True)
        if self._error is not None:
            return self._failure(f"{TOOL_NAME} failed: {self._error}", error=_error_json(self._error))
        content = structured_content(self._assembly)
        if not content["answer"].strip():
            return self._failure(f"{TOOL_NAME} failed: {_EMPTY}", content, error={"type": "EmptyAnswer"})
        return ToolResult(
            content=[TextContent(text=model_text(content["answer"], cut=self._assembly.cut))],
            structured_content=content,
            details=self._details(),
            usage=_free(self._assembly.usage),
        )

    def _failure(self, text: str, content: StructuredContent | None = None, **details: Any) -> ToolResult:
        return ToolResult(
            content=[TextContent(text=text)],
            structured_content=content,
            details=self._details(**details),
            usage=_free(self._assembly.usage),
            is_error=True,
        )

    def _details(self, **more: Any) -> dict[str, Any]:
        seen = self._assembly
        of_the_answer = {
            "response_id": seen.response_id,
            "response_model": seen.response_model,
            "finish_reason": seen.finish_reason,
            "unmapped": {path: kept.model_dump(by_alias=True) for path, kept in seen.unmapped.items()},
            "diagnostics": [*self._diagnostics],
        }
        return {
            "model": self._question.model,
            "library_ids": [*self._question.library_ids],
            "streamed": self.streaming,
            "aborted": False,
            "request_id": self._request_id,
            **{name: value for name, value in of_the_answer.items() if value},
            **more,
        }


def refused_call(error: Exception, *, streaming: bool) -> ToolResult:
    """The result of a call whose arguments are wrong: the model reads what to change. Nothing was sent."""
    details = {"streamed": streaming, "aborted": False, "request_id": None, "error": {"type": type(error).__name__}}
    usage = _free(Usage(reported=False))
    return ToolResult(content=[TextContent(text=str(error))], details=details, usage=usage, is_error=True)


def _free(usage: Usage) -> Usage:
    # Zero by design and not None: the tool knows no prices, and pi's sessions add up numbers.
    return usage.model_copy(update={"cost": Cost()})


def _is_about_stream_options(error: InvalidRequestError) -> bool:
    if error.status != _UNPROCESSABLE or error.in_stream:  # once an answer has begun, nothing is sent again
        return False
    return any("stream_options" in detail.path for detail in error.details) or "stream_options" in str(error)


def _error_json(error: APIError | AbortedError) -> dict[str, Any]:
    status = {"status": error.status} if isinstance(error, StatusError) and error.status is not None else {}
    retryable = isinstance(error, APIError) and error.is_retryable
    return {"type": type(error).__name__, **status, "is_retryable": retryable}
