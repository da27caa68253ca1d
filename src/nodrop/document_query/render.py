"""Chunks of an answer → its text, its citations, and the JSON of both: one render for both forms of a query.

The text shows text and citation markers, and names in brackets what text cannot show. Thinking is no part of the
answer: it stands in ``chunks``. Rendering what came so far gives a beginning of what the whole will render to.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final, assert_never, cast

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

from nodrop.document_query.assembly import Assembly, ToolMessage
from nodrop.wire import ContentChunk

_CUT_NOTICE: Final = "\n[cut off: the answer reached the token limit]"
_SHOWN_NAME: Final = 200
_BLANKS: Final = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")


# Names inside stay as they are here, whatever the model around them does with its own.
_AS_WRITTEN: Final = ConfigDict(alias_generator=None, extra="forbid")


@with_config(_AS_WRITTEN)
class QueryCitation(TypedDict):
    """One marker of the answer.

    ``offset`` and ``length`` are in code points of ``answer``. ``references`` holds, under the id as a string, what a
    tool message of the answer says of a cited source; ids of which none says anything are missing in it.
    """

    ids: list[int | str]
    offset: int
    length: int
    references: dict[str, Any]


@with_config(_AS_WRITTEN)
class StructuredContent(TypedDict):
    """The answer for programs: its text, its chunks as the generated models write them, and what tools said."""

    answer: str
    chunks: list[dict[str, Any]]
    citations: list[QueryCitation]
    tool_messages: list[dict[str, Any]]


def text_so_far(assembly: Assembly) -> str:
    """A beginning of the final text, as much as is certain."""
    text, _ = _render(assembly.content.chunks)
    return text[:-1] if assembly.content.ends_in_half_a_character else text


def structured_content(assembly: Assembly) -> StructuredContent:
    """All of an answer."""
    chunks = assembly.content.chunks
    answer, markers = _render(chunks)
    sources = [_sources(said.text) if isinstance(said, ToolMessage) else {} for said in assembly.tool_messages]
    citations = [
        QueryCitation(ids=ids, offset=offset, length=length, references=_matching(ids, sources, before))
        for (ids, offset, length), before in zip(markers, assembly.cited_after, strict=True)
        if ids
    ]
    return StructuredContent(
        answer=answer,
        chunks=[chunk.model_dump(mode="json") for chunk in chunks],
        citations=citations,
        tool_messages=[said.to_json() for said in assembly.tool_messages],
    )


def model_text(answer: str, *, cut: bool) -> str:
    """What the model gets to read: the answer, and, when it is cut, a line that says so."""
    return answer + _CUT_NOTICE if cut else answer


def marker(ids: Sequence[int | str]) -> str:
    """The marker of a citation, as a chat message has it: ``[0, 1]``; none for no ids."""
    return f"[{', '.join(str(each) for each in ids)}]" if ids else ""


def _render(chunks: list[ContentChunk]) -> tuple[str, list[tuple[list[int | str], int, int]]]:
    """The text; and for each reference chunk its ids, the offset of its marker, and the marker's length."""
    pieces: list[str] = []
    markers: list[tuple[list[int | str], int, int]] = []
    offset = 0
    for chunk in chunks:
        piece = _shown(chunk)
        if chunk.type == "reference":
            markers.append((chunk.reference_ids, offset, len(piece)))
        pieces.append(piece)
        offset += len(piece)
    return "".join(pieces), markers


def _shown(chunk: ContentChunk) -> str:
    match chunk.type:
        case "text":
            return chunk.text
        case "thinking":
            return ""
        case "reference":
            return marker(chunk.reference_ids)
        case "image_url":
            return "[image]"
        case "document_url":
            return _bracket("document", chunk.document_name)
        case "file":
            return _bracket("file", chunk.file_id)
        case "input_audio":
            return "[audio]"
        case "resource":
            return _bracket("resource", chunk.uri)
        case "resource_link":
            return _bracket("resource link", chunk.uri)
        case _:
            assert_never(chunk)


def _bracket(kind: str, name: str | None) -> str:
    """``[kind: name]``; the name on one line and bounded, and left out where it is the thing itself (a data URL)."""
    shown = _BLANKS.sub(" ", name or "").strip()
    if not shown or shown.lower().startswith("data:"):
        return f"[{kind}]"
    return f"[{kind}: {shown[:_SHOWN_NAME]}{'…' if len(shown) > _SHOWN_NAME else ''}]"


def _sources(said: str) -> dict[str, Any]:
    """The sources that a tool message lists, by id.

    In Mistral's documented citations flow a tool's result is a JSON object with one member for each source, under the
    id that reference chunks name. A message that is anything else lists none, and is kept all the same.
    """
    try:
        value: object = json.loads(said)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(value, dict):
        return {}
    return {key: source for key, source in cast("dict[str, object]", value).items() if isinstance(source, dict)}


def _matching(ids: Sequence[int | str], sources: list[dict[str, Any]], before: int) -> dict[str, Any]:
    """What is said of the cited sources: by the last tool message before the citation that knows one, else after it."""
    order = [*reversed(sources[:before]), *sources[before:]]
    found: dict[str, Any] = {}
    for each in ids:
        for listed in order:
            if str(each) in listed:
                found[str(each)] = listed[str(each)]
                break
    return found
