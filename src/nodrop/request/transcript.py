"""The messages of a history in the wire's form. The rules, all of them:

- A user's text and images are sent in their order. A model that takes no images gets a text in place of each.
- An answer's text is sent as stored, citation markers included; citations, signatures of text and usage are not.
- Its thinking is not sent, or, with ``replay_thinking``, as thinking chunks for answers of the same model.
- A result stands directly after its call, in the order of the calls, wherever it stood in the history. A call without
  one gets an error result. A result without a call is an error, and so is a second result.
- A call that is not complete was never run: it is sent only if somebody answered it, with ``{}`` for its arguments.
- Of an answer that failed, was aborted or has not ended only its text is sent, never its calls or their results.
- An empty message is not sent: a user's without text and images, an answer's with nothing but blanks and no calls.
- Ids that Mistral does not take are replaced (``tool_ids``). System messages are folded elsewhere (``system``).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, assert_never

from nodrop.content import (
    AssistantMessage,
    Diagnostic,
    ImageContent,
    Message,
    OtherBlock,
    SystemMessage,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserBlock,
    UserMessage,
)
from nodrop.core.surrogates import without_surrogates
from nodrop.core.tool_calls import compact_json
from nodrop.errors import ConfigurationError
from nodrop.images import check_base64
from nodrop.json_values import json_copy
from nodrop.request.pairing import Pairs, Slot, failed, paired
from nodrop.request.tool_ids import wire_ids
from nodrop.request.unsendable import unsendable

IMAGE_OMITTED: Final = "[image omitted: the model takes no images]"
NO_RESULT: Final = "No result provided"
NO_OUTPUT: Final = "(no tool output)"
SEE_IMAGE: Final = "(see attached image)"
TOOL_ERROR: Final = "[tool error] "

_Wire = dict[str, Any]


class Transcript(NamedTuple):
    """``messages`` in the wire's form, without the system message; ``diagnostics`` of what was left out on purpose."""

    messages: list[_Wire]
    diagnostics: tuple[Diagnostic, ...]


def wire_messages(
    messages: Sequence[Message],
    *,
    model: str,
    takes_images: bool,
    replay_thinking: bool,
    prefix: object = None,
) -> Transcript:
    """See the rules above. ``prefix`` is the option of that name.

    Raises :class:`nodrop.UnsupportedContentError` for a block that cannot be sent, and
    :class:`nodrop.ConfigurationError` for a result that answers no call, a second result of one call, image data that
    is a data URL, tool arguments that are no JSON, and a ``prefix`` without an answer to go on with.
    """
    writer = _Writer(model, takes_images, replay_thinking, paired(messages))
    for place, message in enumerate(messages):
        match message:
            case SystemMessage() | ToolResultMessage():
                pass  # one is folded in `system`, the other stands after its call
            case UserMessage():
                writer.user(message)
            case AssistantMessage():
                writer.assistant(place, message)
            case _:
                assert_never(message)
    writer.prefix(prefix)
    return Transcript(writer.out, writer.diagnostics())


@dataclass(slots=True)
class _Writer:
    model: str
    takes_images: bool
    replay_thinking: bool
    pairs: Pairs
    out: list[_Wire] = field(default_factory=list[_Wire])
    images_omitted: int = 0
    ids: dict[Slot, str] = field(init=False)
    # The last message, if it is an answer with text and without calls: the only one that may become a prefix.
    open_answer: _Wire | None = None

    def __post_init__(self) -> None:
        self.ids = wire_ids(self.pairs.sent)

    def user(self, message: UserMessage) -> None:
        self.open_answer = None
        if isinstance(message.content, str):
            content: str | list[_Wire] = without_surrogates(message.content)
        else:
            content = self._chunks(message.content, message.role)
        if content:
            self.out.append({"role": "user", "content": content})

    def assistant(self, place: int, message: AssistantMessage) -> None:
        self.open_answer = None
        chunks: list[_Wire] = []
        for block in message.content:
            match block:
                case TextContent():
                    if block.text:
                        chunks.append(_text(block.text))
                case ThinkingContent():
                    if self._replayed(message) and (block.thinking or block.thinking_signature):
                        chunks.append(_thinking(block))
                case ToolCall():
                    pass  # below: a call stands beside the content, not in it
                case OtherBlock():
                    raise unsendable(block, message.role)
                case _:
                    assert_never(block)
        slots = [slot for slot in self.pairs.at(place) if slot.sent]
        if not slots and all(chunk["type"] == "text" and not chunk["text"].strip() for chunk in chunks):
            return
        wire: _Wire = {"role": "assistant"}
        if chunks:
            wire["content"] = chunks[0]["text"] if len(chunks) == 1 and chunks[0]["type"] == "text" else chunks
        if slots:
            wire["tool_calls"] = [self._call(slot) for slot in slots]
        self.out.append(wire)
        self.out.extend(self._result(slot) for slot in slots)
        if not slots and any(chunk["type"] == "text" for chunk in chunks):
            self.open_answer = wire

    def prefix(self, prefix: object) -> None:
        match prefix:
            case None | False:
                return
            case True:
                if self.open_answer is None:
                    raise ConfigurationError(
                        "option prefix: the last message must be an answer with text and without tool calls"
                    )
                self.open_answer["prefix"] = True
            case str():
                if not prefix:
                    raise ConfigurationError("option prefix: it is an empty text")
                self.out.append({"role": "assistant", "content": without_surrogates(prefix), "prefix": True})
            case _:
                raise ConfigurationError(
                    f"option prefix: it must be a text or True, not a Python {type(prefix).__name__}"
                )

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        found: list[Diagnostic] = []
        if self.images_omitted:
            found.append(Diagnostic(type="images_omitted", details={"count": self.images_omitted, "model": self.model}))
        if self.pairs.incomplete:
            found.append(Diagnostic(type="incomplete_tool_calls_not_sent", details={"count": self.pairs.incomplete}))
        return tuple(found)

    def _replayed(self, message: AssistantMessage) -> bool:
        return self.replay_thinking and message.model in ("", self.model) and not failed(message)

    def _chunks(self, blocks: Sequence[UserBlock], role: str) -> list[_Wire]:
        chunks: list[_Wire] = []
        for block in blocks:
            match block:
                case TextContent():
                    if block.text:
                        chunks.append(_text(block.text))
                case ImageContent():
                    chunks.append(self._image(block))
                case OtherBlock():
                    raise unsendable(block, role)
                case _:
                    assert_never(block)
        return chunks

    def _image(self, image: ImageContent) -> _Wire:
        if not self.takes_images:
            self.images_omitted += 1
            return _text(IMAGE_OMITTED)
        check_base64(image.data)
        return {"type": "image_url", "image_url": f"data:{without_surrogates(image.mime_type)};base64,{image.data}"}

    def _call(self, slot: Slot) -> _Wire:
        call = slot.call
        name: str = without_surrogates(call.name)
        function = {"name": name, "arguments": wire_arguments(call)}
        return {"id": self.ids[slot], "type": "function", "function": function}

    def _result(self, slot: Slot) -> _Wire:
        content = self._result_content(slot.result) if slot.result else TOOL_ERROR + NO_RESULT
        name: str = without_surrogates(slot.call.name)
        return {"role": "tool", "tool_call_id": self.ids[slot], "name": name, "content": content}

    def _result_content(self, result: ToolResultMessage) -> str | list[_Wire]:
        mark = TOOL_ERROR if result.is_error else ""
        chunks = self._chunks(result.content, result.role)
        texts = [chunk["text"] for chunk in chunks if chunk["type"] == "text"]
        blank = not "".join(texts).strip()
        if len(texts) == len(chunks):
            return mark + (NO_OUTPUT if blank else "\n".join(texts))
        if blank:
            return [_text(mark + SEE_IMAGE), *(chunk for chunk in chunks if chunk["type"] != "text")]
        if not mark:
            return chunks
        if chunks[0]["type"] == "text":
            return [_text(mark + chunks[0]["text"]), *chunks[1:]]
        return [_text(mark.strip()), *chunks]


def wire_arguments(call: ToolCall) -> str:
    """The arguments as a JSON string: the model's own text if it says what ``arguments`` says, else ``arguments``.

    Raises :class:`nodrop.ConfigurationError` naming the tool when ``arguments`` are no JSON.
    """
    if call.complete and call.raw_arguments and _says(call.raw_arguments, call.arguments):
        raw: str = without_surrogates(call.raw_arguments)
        return raw
    return compact_json(json_copy(call.arguments, f"the arguments of a call of {call.name[:64]!r}"))


def _says(raw: str, arguments: dict[str, Any]) -> bool:
    """Whether the JSON text ``raw`` is ``arguments``. By their text: in Python 1, 1.0 and True are equal."""
    try:
        return json.dumps(json.loads(raw)) == json.dumps(arguments)
    except (TypeError, ValueError, RecursionError):
        return False


def _text(text: str) -> _Wire:
    return {"type": "text", "text": without_surrogates(text)}


def _thinking(block: ThinkingContent) -> _Wire:
    chunk: _Wire = {"type": "thinking", "thinking": [_text(block.thinking)] if block.thinking else [], "closed": True}
    if block.thinking_signature is not None:
        chunk["signature"] = without_surrogates(block.thinking_signature)
    return chunk
