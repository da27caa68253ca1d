"""Wire models in, the parts of one answer out: one assembly for the streamed and the one-shot form.

Rules:
- A message of a whole completion and a delta of a stream are read alike, in order; so is each of ``messages``.
- What role ``tool`` says, and the calls that the server makes of its own tools, go to ``tool_messages``, never into the
  answer. Deltas in a row that share a ``tool_call_id`` are one message of the tool; without an id each stands alone.
- Fields that have no place here are kept raw in ``unmapped``, by path without positions. Nothing is passed over.
- A second candidate, another role, a second finish reason, both ``message`` and ``messages``: errors that say so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from nodrop.content import Unmapped, Usage
from nodrop.core.usage import usage_of
from nodrop.document_query.canonical import ChunkList, clean
from nodrop.errors import ContentRejectedError, ServerReportedError, StreamProtocolError, StreamTruncatedError
from nodrop.wire import (
    SPEC_VERSION,
    AssistantMessage,
    ChatCompletionChoice,
    ChatCompletionResponse,
    CompletionChunk,
    CompletionResponseStreamChoice,
    DeltaMessage,
)

_KEPT_VALUES: Final = 256
_KEPT_CHARACTERS: Final = 65536
_A_NAME: Final = re.compile(r"[A-Za-z_][\w.\-/]{0,63}", re.ASCII)
_MORE_FIELDS: Final = "<more fields>"


class ToolMessage:
    """What one of the server's tools said."""

    def __init__(self, tool_call_id: str | None, further: Mapping[str, Any]) -> None:
        self.tool_call_id = tool_call_id
        self.content: Final = ChunkList()
        self._further = dict(further)

    @property
    def text(self) -> str:
        """Its text, without anything else."""
        return "".join(chunk.text for chunk in self.content.chunks if chunk.type == "text")

    def to_json(self) -> dict[str, Any]:
        named = {} if self.tool_call_id is None else {"tool_call_id": self.tool_call_id}
        content = [chunk.model_dump(mode="json") for chunk in self.content.chunks]
        return {"role": "tool", **named, **self._further, "content": content}


class ServerCalls:
    """Calls that the server made of its own tools; fragments stand as they came."""

    def __init__(self, calls: list[dict[str, Any]]) -> None:
        self._calls = calls

    def to_json(self) -> dict[str, Any]:
        return {"role": "assistant", "tool_calls": self._calls}


class Assembly:
    """Builds one answer."""

    def __init__(self) -> None:
        self.content: Final = ChunkList()
        self.tool_messages: Final[list[ToolMessage | ServerCalls]] = []
        self.cited_after: Final[list[int]] = []
        """For each reference chunk of the answer: how many tool messages had come before it."""
        self.unmapped: Final[dict[str, Unmapped]] = {}
        self.usage = Usage(reported=False)
        self.finish_reason: str | None = None
        self.response_id: str | None = None
        self.response_model: str | None = None
        self._kept = 0
        self._tool_speaks = False

    def add(self, item: CompletionChunk | ChatCompletionResponse) -> None:
        """Takes a chunk of a stream, or a whole completion.

        Raises :class:`nodrop.ContentRejectedError` or :class:`nodrop.StreamProtocolError` for what has no place here.
        """
        self.response_id = self.response_id or item.id or None
        self.response_model = item.model or self.response_model
        self.usage = usage_of(item.usage) or self.usage
        choices: Sequence[CompletionResponseStreamChoice | ChatCompletionChoice] = item.choices or ()
        for place, choice in enumerate(choices):
            if choice.index or place:
                raise _rejected(
                    "candidate", "second", f"choices[{choice.index or place}]", "one answer is the whole result"
                )
            if isinstance(choice, ChatCompletionChoice):
                self._whole(choice)
            else:
                self._message(choice.delta, "choices[0].delta", "choices.delta")
            self._end_of_choice(choice)
        self._keep_all("", item.model_extra)

    def finish(self) -> None:
        """The end of the answer. Raises when it is not whole."""
        match self.finish_reason:
            case None:
                raise StreamTruncatedError("the answer has no finish reason: it is cut off")
            case "error":
                raise ServerReportedError("the server ended the answer with finish_reason 'error' (server error)")
            case "tool_calls":
                raise StreamProtocolError("the answer ends with a tool call for the caller, which declared no function")
            case "stop" | "length" | "model_length":
                return
            case reason:
                raise _rejected("finish reason", reason, "choices[0].finish_reason", "no decision for it")

    @property
    def cut(self) -> bool:
        """Whether the answer ends at a token limit."""
        return self.finish_reason in ("length", "model_length")

    # ---- messages ----

    def _whole(self, choice: ChatCompletionChoice) -> None:
        message, messages = choice.message, choice.messages or []
        if message is not None and messages and (message.content or message.tool_calls):
            raise StreamProtocolError("the completion has both a message and messages at choices[0]")
        if message is not None:
            self._message(message, "choices[0].message", "choices.message")
        for number, part in enumerate(messages):
            self._message(part, f"choices[0].messages[{number}]", "choices.messages")

    def _message(self, message: DeltaMessage | AssistantMessage, path: str, base: str) -> None:
        match message.role:
            case "tool":
                self._tool_message(message)
            case "assistant" | "" | None:
                self._assistant_message(message, base)
            case role:
                raise _rejected("role", role, path, "no decision for this role")

    def _assistant_message(self, message: DeltaMessage | AssistantMessage, base: str) -> None:
        if message.content or message.tool_calls:
            self._tool_speaks = False
        self.content.add(message.content)
        if isinstance(message.content, list):
            cited = [chunk for chunk in message.content if chunk.type == "reference"]
            self.cited_after.extend(len(self.tool_messages) for _ in cited)
        if message.tool_calls:
            self.tool_messages.append(ServerCalls(_calls(message)))
        if isinstance(message, DeltaMessage):
            known = {"metadata": message.metadata, "tool_call_id": message.tool_call_id}
            self._keep_all(base, {name: value for name, value in known.items() if value is not None})
        self._keep_all(base, message.model_extra)

    def _tool_message(self, message: DeltaMessage | AssistantMessage) -> None:
        further: dict[str, Any] = clean(dict(message.model_extra or {}))
        if isinstance(message, DeltaMessage) and message.metadata is not None:
            further["metadata"] = message.metadata
        if message.tool_calls:
            further["tool_calls"] = _calls(message)
        tool_call_id = message.tool_call_id if isinstance(message, DeltaMessage) else None
        last = self.tool_messages[-1] if self.tool_messages and self._tool_speaks else None
        goes_on = isinstance(last, ToolMessage) and bool(tool_call_id) and last.tool_call_id == tool_call_id
        if isinstance(last, ToolMessage) and goes_on and not further:
            said = last
        else:
            said = ToolMessage(tool_call_id, further)
            self.tool_messages.append(said)
        said.content.add(message.content)
        self._tool_speaks = True

    def _end_of_choice(self, choice: CompletionResponseStreamChoice | ChatCompletionChoice) -> None:
        known = {"logprobs": choice.logprobs, "prompt_logprobs": choice.prompt_logprobs}
        self._keep_all("choices", {name: value.model_dump() for name, value in known.items() if value is not None})
        self._keep_all("choices", choice.model_extra)
        reason = choice.finish_reason
        if not reason:
            return
        if self.finish_reason is not None and self.finish_reason != reason:
            raise StreamProtocolError(f"a second, different finish reason: {reason!r} after {self.finish_reason!r}")
        self.finish_reason = reason

    # ---- fields that have no place here ----

    def _keep_all(self, base: str, fields: Mapping[str, Any] | None) -> None:
        for name, value in (fields or {}).items():
            path = f"{base}.{name}" if base else name
            size = len(path) + len(json.dumps(value))
            if self._kept + size > _KEPT_CHARACTERS and path not in self.unmapped:
                path = _MORE_FIELDS
            kept = self.unmapped.setdefault(path, Unmapped())
            if self._kept + size > _KEPT_CHARACTERS or len(kept.values) >= _KEPT_VALUES:
                kept.omitted += 1
            else:
                kept.values.append(clean(value))
                self._kept += size


def _calls(message: DeltaMessage | AssistantMessage) -> list[dict[str, Any]]:
    return [clean(call.model_dump()) for call in message.tool_calls or ()]


def _rejected(thing: str, name: str, path: str, reason: str) -> ContentRejectedError:
    shown = name if _A_NAME.fullmatch(name) else ""  # what is no name may be content
    return ContentRejectedError(
        f"rejected {thing} {shown!r} at {path}: {reason} (spec {SPEC_VERSION})",
        wire_type=shown,
        path=path,
        reason=reason,
        spec_version=SPEC_VERSION,
    )
