"""Wire chunks → events and the message: the exhaustive match over the decisions.

One assembler builds one message. Streams and whole completions take the same way: each message of a whole choice as if
it were a delta. Events go into the list that the caller hands in, so that what came before an error stays there when
it is raised. ``finish`` ends the answer; ``message`` tells what it holds at any moment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NoReturn, assert_never

from nodrop.content import AssistantMessage, Diagnostic, StopReason, Usage
from nodrop.core.blocks import Blocks
from nodrop.core.decisions import (
    CALL_TYPE,
    CONTENT,
    FINISH_REASON,
    ROLE,
    SECOND_CANDIDATE,
    THINKING_PART,
    decision_for,
)
from nodrop.core.fields import FOREIGN
from nodrop.core.rejections import malformed_frame, path_key, rejected_field, rejected_type, unknown_type
from nodrop.core.server_errors import ERROR_OBJECTS, error_beside_choices
from nodrop.core.tool_calls import Fragment
from nodrop.core.unmapped import UnmappedFields
from nodrop.core.usage import priced, usage_of
from nodrop.errors import ServerReportedError, StreamProtocolError, StreamTruncatedError
from nodrop.events import Event
from nodrop.rate_card import RateCard
from nodrop.wire import (
    AssistantMessage as WireMessage,
)
from nodrop.wire import (
    ChatCompletionChoice,
    ChatCompletionResponse,
    ChatCompletionResponseChoiceLogprobs,
    CompletionChunk,
    CompletionResponseStreamChoice,
    CompletionTokensDetails,
    ContentChunk,
    DeltaMessage,
    PromptTokensDetails,
    ThinkChunk,
    ToolCall,
)
from nodrop.wire import ChatCompletionResponseTokenLogprobsTopK as TokenLogprobs

UnknownFields = Literal["keep", "reject"]
_NO_CONTENT: Final[tuple[object, ...]] = (None, "", [], {})
_MESSAGES: Final = ("choices.delta", "choices.message")  # where strings come in pieces; also choices.messages


class Assembler:
    """Builds one message.

    ``model`` is the id that was asked for, ``now`` gives Unix milliseconds. ``unknown_fields`` says what becomes of a
    field that nobody knows: kept on ``message.unmapped``, or an error.
    """

    def __init__(
        self, *, model: str, rates: RateCard, now: Callable[[], int], unknown_fields: UnknownFields = "keep"
    ) -> None:
        self.blocks: Final = Blocks()
        self.finish_reason: str | None = None
        self._model = model
        self._rates = rates
        self._now = now
        self._unknown_fields = unknown_fields
        self._timestamp = now()
        self._unmapped = UnmappedFields()
        self._diagnostics: list[Diagnostic] = []
        self._logprobs: list[TokenLogprobs] = []
        self._prompt_logprobs: list[TokenLogprobs] = []
        self._usage = Usage(reported=False)
        self._response_id: str | None = None
        self._response_model: str | None = None

    # ---- the frame ----

    def chunk(self, chunk: CompletionChunk, out: list[Event]) -> None:
        """Maps one chunk of a stream. Raises an :class:`APIError` at the first thing that is rejected."""
        self._frame(chunk)
        for place, choice in enumerate(chunk.choices or ()):
            if choice.index or place:
                self._second_candidate(choice.index or place)
            self._message(choice.delta, "choices[0].delta", "choices.delta", out)
            if choice.finish_reason or choice.logprobs or choice.prompt_logprobs or choice.__pydantic_extra__:
                self._end_of_choice(choice)
        if chunk.usage is not None or chunk.__pydantic_extra__ or chunk.object in ERROR_OBJECTS:
            self._beside_choices(chunk)

    def whole(self, response: ChatCompletionResponse, out: list[Event]) -> None:
        """Maps a whole completion, with the errors of :meth:`chunk`."""
        self._frame(response)
        for place, choice in enumerate(response.choices):
            if choice.index or place:
                self._second_candidate(choice.index or place)
            message, messages = choice.message, choice.messages or ()
            if message is not None and messages and (message.content or message.tool_calls):
                raise malformed_frame(f"choices[{place}]", "it has both a message and messages")
            if message is not None:
                self._message(message, f"choices[{place}].message", "choices.message", out)
            for number, part in enumerate(messages):
                self._message(part, f"choices[{place}].messages[{number}]", "choices.messages", out)
            self._end_of_choice(choice)
        self._beside_choices(response)

    def finish(self, out: list[Event], *, done_marker: bool) -> Literal["stop", "length", "toolUse"]:
        """The end of the input: ends all blocks and tells why the answer ended.

        Raises :class:`StreamTruncatedError` when no finish reason came, :class:`ServerReportedError` when it is
        ``error``; then the open blocks stay open.
        """
        decision = decision_for(FINISH_REASON, self.finish_reason)
        stop_reason = decision.stop_reason if decision else None
        if stop_reason is None:
            raise StreamTruncatedError(
                "the stream ended without a finish reason: the answer is cut off; what arrived is in .partial"
            )
        if stop_reason == "error":
            raise ServerReportedError("the server ended the answer with finish_reason 'error' (server error)")
        if self.blocks.nameless_calls:
            raise StreamProtocolError(f"{self.blocks.nameless_calls} tool call(s) of the answer were never named")
        if not done_marker:
            self.note("no_done_marker")
        self.blocks.end(out)
        self.blocks.end_calls(out, cut=stop_reason == "length")
        return stop_reason

    def note(self, kind: str, **details: Any) -> None:
        """Adds a diagnostic, once per kind and details. Never give it content."""
        if not any(note.type == kind and (note.details or {}) == details for note in self._diagnostics):
            self._diagnostics.append(Diagnostic(type=kind, timestamp=self._now(), details=details or None))

    def message(self, stop_reason: StopReason, *, error_message: str | None = None, **facts: Any) -> AssistantMessage:
        """A snapshot. ``facts`` are further fields of the message (``request_id``, ``rate_limit``)."""
        priced_by = self._response_model or self._model
        return AssistantMessage(
            content=self.blocks.content(ended=stop_reason != "pending", cut=stop_reason not in ("stop", "toolUse")),
            model=self._model or priced_by,
            usage=priced(self._usage, priced_by, self._rates),
            stop_reason=stop_reason,
            error_message=error_message,
            raw_stop_reason=self.finish_reason,
            response_id=self._response_id,
            response_model=self._response_model,
            diagnostics=list(self._diagnostics),
            citations=list(self.blocks.citations),
            unmapped=self._unmapped.snapshot(),
            logprobs=list(self._logprobs),
            prompt_logprobs=list(self._prompt_logprobs),
            timestamp=self._timestamp,
            **facts,
        )

    def _frame(self, frame: CompletionChunk | ChatCompletionResponse) -> None:
        if frame.id and self._response_id is None:
            self._response_id = frame.id
        if frame.model:
            self._response_model = frame.model
        if frame.usage is not None:
            self._usage = usage_of(frame.usage) or self._usage

    def _beside_choices(self, frame: CompletionChunk | ChatCompletionResponse) -> None:
        """What stands beside the choices: fields of the usage that nobody knows, an error of the server, and others."""
        usage = frame.usage
        if usage is not None:
            self._unknown(usage.model_extra or {}, "usage")
            for key in ("prompt_tokens_details", "prompt_token_details", "completion_tokens_details"):
                details: PromptTokensDetails | CompletionTokensDetails | None = getattr(usage, key)
                if details is not None:
                    self._unknown(details.model_extra or {}, f"usage.{key}")
        failure = error_beside_choices(frame)
        if failure is not None:
            raise failure
        self._unknown(frame.model_extra or {}, "")

    def _second_candidate(self, number: int) -> NoReturn:
        raise rejected_type("candidate", "second", f"choices[{number}]", SECOND_CANDIDATE)

    def _end_of_choice(self, choice: CompletionResponseStreamChoice | ChatCompletionChoice) -> None:
        if choice.logprobs is not None:
            self._keep_logprobs(choice.logprobs, self._logprobs, "choices.logprobs")
        if choice.prompt_logprobs is not None:
            self._keep_logprobs(choice.prompt_logprobs, self._prompt_logprobs, "choices.prompt_logprobs")
        if choice.__pydantic_extra__:
            self._unknown(choice.__pydantic_extra__, "choices")
        reason = choice.finish_reason
        if not reason:
            return
        if self.finish_reason is not None and self.finish_reason != reason:
            raise StreamProtocolError(f"a second, different finish reason: {reason!r} after {self.finish_reason!r}")
        self.finish_reason = reason

    def _keep_logprobs(self, found: ChatCompletionResponseChoiceLogprobs, kept: list[TokenLogprobs], base: str) -> None:
        kept.extend(found.content)
        if found.model_extra:
            self._unknown(found.model_extra, base)

    # ---- the content ----

    def _message(self, message: DeltaMessage | WireMessage, path: str, base: str, out: list[Event]) -> None:
        role = message.role
        if role and role != "assistant":
            decision = decision_for(ROLE, role)
            raise unknown_type("role", role, path) if decision is None else rejected_type("role", role, path, decision)
        content = message.content
        if isinstance(content, str):
            self.blocks.text(content, out)
        elif content:
            for place, chunk in enumerate(content):
                self._chunk(chunk, path, place, base, out)
        if message.tool_calls:
            for place, call in enumerate(message.tool_calls):
                self._tool_call(call, f"{path}.tool_calls[{place}]", base, out)
        if message.__pydantic_extra__:
            self._unknown(message.__pydantic_extra__, base, path)
        if isinstance(message, DeltaMessage):
            if message.metadata is not None:
                self._unmapped.keep(base, "metadata", message.metadata, join=True)
            if message.tool_call_id is not None:
                self._unmapped.keep(base, "tool_call_id", message.tool_call_id, join=False)

    def _chunk(self, chunk: ContentChunk, path: str, place: int, base: str, out: list[Event]) -> None:
        match chunk.type:
            case "text":
                self.blocks.text(chunk.text, out)
            case "thinking":
                self._thinking(chunk, f"{path}.content[{place}]", base, out)
            case "reference":
                self.blocks.reference(chunk.reference_ids, self.blocks.text_block, out)
            case "image_url" | "document_url" | "file" | "input_audio" | "resource" | "resource_link":
                raise rejected_type("content type", chunk.type, f"{path}.content[{place}]", CONTENT[chunk.type])
            case _:
                assert_never(chunk)
        if chunk.model_extra:
            self._unknown(chunk.model_extra, f"{base}.content")

    def _thinking(self, chunk: ThinkChunk, path: str, base: str, out: list[Event]) -> None:
        if chunk.signature:
            self.blocks.end_if_signed_otherwise(chunk.signature, out)
        for place, part in enumerate(chunk.thinking):
            match part.type:
                case "text":
                    self.blocks.thought(part.text, out)
                case "reference":
                    self.blocks.reference(part.reference_ids, self.blocks.thinking_block, out)
                case "tool_reference":
                    where = f"{path}.thinking[{place}]"
                    raise rejected_type("thinking part", part.type, where, THINKING_PART[part.type])
                case _:
                    assert_never(part)
            if part.model_extra:
                self._unknown(part.model_extra, f"{base}.content.thinking")
        if chunk.signature:
            self.blocks.sign(chunk.signature, out)

    def _tool_call(self, call: ToolCall, path: str, base: str, out: list[Event]) -> None:
        if call.type is not None and decision_for(CALL_TYPE, call.type) is None:
            raise unknown_type("tool call type", call.type, f"{path}.type")
        function = call.function
        oddity = self.blocks.call_fragment(Fragment(call.index, call.id, function.name, function.arguments), path, out)
        if oddity:
            self.note("tool_call", oddity=oddity)
        if call.model_extra:
            self._unknown(call.model_extra, f"{base}.tool_calls")
        if function.model_extra:
            self._unknown(function.model_extra, f"{base}.tool_calls.function")

    # ---- fields that nobody knows ----

    def _unknown(self, extra: Mapping[str, Any], base: str, message_path: str = "") -> None:
        """Keeps, or rejects, the unknown fields of one object; on a message, content in another API's field too."""
        for name, value in extra.items():
            foreign = FOREIGN.get(name) if message_path else None
            if foreign is not None:
                if value not in _NO_CONTENT:
                    raise rejected_field(name, f"{message_path}.{name}", foreign)
                continue
            where = f"{base}.{path_key(name)}" if base else path_key(name)
            if self._unknown_fields == "reject":
                raise rejected_field(name, where, "nobody knows this field, and unknown_fields is 'reject'")
            first_at = self._unmapped.keep(base, name, value, join=base.startswith(_MESSAGES))
            if first_at is not None:
                self.note("unknown_field", path=first_at)
