"""A simulator of document libraries: it answers document queries from text files, by keywords, without a model.

    library = DocumentLibraries({"lib-pilot": Path("texts")})
    with MistralServer(handler=library.answer) as server: ...

What it does is what it says: it counts which words of the question stand in which paragraph, rare words more, and
quotes the best paragraphs, each with a reference. It understands nothing, and each answer begins with ``[simulator]``.
A request without the ``document_library`` tool gets the echo. No traffic of this tool was ever recorded: the shapes
are those of the vendored document, and a tool result lists its sources as Mistral's citations flow documents it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from nodrop.testing import simulator, wire
from nodrop.testing.replies import Reply

if TYPE_CHECKING:
    from nodrop.testing.records import RecordedRequest

DEMO_LIBRARY_ID: Final = "demo-harbours"
DEMO_FOLDER: Final = Path(__file__).parent / "demo_library"
_WORD: Final = re.compile(r"\w+")
_COMMON: Final = frozenset({
    "a", "an", "and", "are", "as", "at", "be", "by", "do", "does", "for", "from", "how", "i", "in", "is", "it", "may",
    "me", "of", "on", "or", "that", "the", "there", "this", "to", "was", "what", "when", "where", "which", "who", "why",
    "will", "with", "you", "your",
})  # fmt: skip
_QUOTED: Final = 3
_TOOL_CALL_ID: Final = "libSearch"


@dataclass(frozen=True)
class Passage:
    """One paragraph of a text. ``title`` is the text's first line, ``source`` its file's name."""

    title: str
    source: str
    text: str

    @property
    def words(self) -> set[str]:
        """The words that it can be found by."""
        return _words(f"{self.title} {self.text}")


class DocumentLibraries:
    """Libraries by id, each a folder of ``.txt`` files; a file's first line is its title, paragraphs are passages.

    ``delay`` is the pause in seconds between the events of a streamed answer. Raises ValueError for a folder without
    a text.
    """

    def __init__(self, folders: Mapping[str, Path], *, delay: float = 0.0) -> None:
        self._libraries = {library_id: _passages(folder) for library_id, folder in folders.items()}
        self._delay = delay

    @classmethod
    def demo(cls, *, delay: float = 0.0) -> DocumentLibraries:
        """The small library that comes with the package: three texts about harbours."""
        return cls({DEMO_LIBRARY_ID: DEMO_FOLDER}, delay=delay)

    def search(self, library_ids: list[str], question: str) -> list[Passage]:
        """The passages that share most with the question, best first: at most three, none that shares nothing."""
        passages = [passage for library_id in library_ids for passage in self._libraries[library_id]]
        asked = _words(question)
        frequency = {word: sum(word in passage.words for passage in passages) for word in asked}

        def score(passage: Passage) -> float:
            return sum(math.log(1 + len(passages) / frequency[word]) for word in asked & passage.words)

        ranked = sorted(passages, key=score, reverse=True)
        return [passage for passage in ranked[:_QUOTED] if score(passage) > 0]

    def answer(self, request: RecordedRequest) -> Reply:
        """A :data:`nodrop.testing.Handler`: a stream if the request asks for one, else the whole form."""
        tools = cast("list[dict[str, Any]]", request.body.get("tools") or [])
        wanted = [tool for tool in tools if tool.get("type") == "document_library"]
        if not wanted:
            return simulator.echo(request)
        library_ids = [str(each) for tool in wanted for each in cast("list[object]", tool.get("library_ids", []))]
        missing = [library_id for library_id in library_ids if library_id not in self._libraries]
        if missing:
            return Reply.error(404, f"Library {missing[0]!r} not found", type="not_found")
        question = simulator.last_text(request)
        found = self.search(library_ids, question)
        parts = _parts(found)
        tool_text = json.dumps({str(number): _listed(passage) for number, passage in enumerate(found)})
        counts = wire.usage(
            len(question.split()) + len(tool_text.split()),
            sum(len(part.get("text", "").split()) for part in parts),
        )
        model = str(request.body.get("model", wire.MODEL))
        if not request.streamed:
            messages = [wire.message(tool_text, role="tool", tool_call_id=_TOOL_CALL_ID), wire.message(parts)]
            return Reply.whole(messages=messages, usage=counts, model=model)
        chunks = [
            wire.start(),
            wire.tool_message(tool_text, tool_call_id=_TOOL_CALL_ID),
            *(piece for part in parts for piece in _pieces(part)),
            wire.finish(usage=counts),
        ]
        return Reply.stream(*(chunk | {"model": model} for chunk in chunks), delay=self._delay)


def _passages(folder: Path) -> list[Passage]:
    found: list[Passage] = []
    for path in sorted(folder.glob("*.txt")):
        title, *paragraphs = path.read_text(encoding="utf-8").strip().split("\n\n")
        found += [Passage(title.strip(), path.name, " ".join(text.split())) for text in paragraphs if text.strip()]
    if not found:
        raise ValueError(f"{folder.name} holds no text: a .txt file with a title and a paragraph")
    return found


def _words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.lower()) if word not in _COMMON}


def _parts(found: list[Passage]) -> list[wire.JSONObject]:
    if not found:
        return [wire.text_part(f"{simulator.LABEL} No passage of the library shares a word with the question.")]
    parts = [wire.text_part(f"{simulator.LABEL} The passages that share most words with the question:")]
    for number, passage in enumerate(found):
        parts += [wire.text_part(f"\n\n{passage.text} "), wire.reference_part(number)]
    return parts


def _listed(passage: Passage) -> wire.JSONObject:
    return {"title": passage.title, "source": passage.source, "snippets": [[passage.text]]}


def _pieces(part: wire.JSONObject) -> list[wire.JSONObject]:
    """A part as deltas: text word by word, everything else whole."""
    if part["type"] != "text":
        return [wire.content(part)]
    return [wire.text(piece) for piece in re.findall(r"\s*\S+|\s+$", part["text"])]
