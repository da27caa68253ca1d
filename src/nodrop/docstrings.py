"""Docstrings → a description and a text per parameter.

Three styles are read: Google (``Args:``), numpy (``Parameters`` underlined) and reST (``:param name:``). Only what is
recognised whole is taken out: when a section has a line that is no entry, or tells of a parameter that the function
does not have, the docstring stays as it is, in one piece.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final, NamedTuple


class Documented(NamedTuple):
    """``description`` is the docstring without the texts of the ``parameters``."""

    description: str
    parameters: dict[str, str]


_REST_FIELD: Final = re.compile(r":(param|parameter|arg|argument|type)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:(.*)")
_GOOGLE_HEAD: Final = re.compile(r"(Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments):\s*")
_GOOGLE_ENTRY: Final = re.compile(r"(\w+)\s*(?:\([^)]*\))?\s*:(.*)")
_NUMPY_HEAD: Final = re.compile(r"(Parameters|Other Parameters)\s*")
_NUMPY_ENTRY: Final = re.compile(r"(\w+(?:\s*,\s*\w+)*)\s*(?::.*)?")


def documented(docstring: str, parameters: Collection[str]) -> Documented:
    """``docstring`` (cleaned, as ``inspect.getdoc`` gives it) of a function with these parameters."""
    lines = docstring.splitlines()
    for read in (_rest, _google, _numpy):
        found = read(lines)
        if found is not None and found.parameters.keys() <= set(parameters):
            return found
    return Documented(docstring.strip(), {})


def _rest(lines: list[str]) -> Documented | None:
    kept: list[str] = []
    texts: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in lines:
        match = _REST_FIELD.match(line)
        if match is not None:
            kind, name, text = match.groups()
            # The type is in the schema; the line of it is read so that it does not stay behind.
            current = [] if kind == "type" else texts.setdefault(name, [])
            current.append(text)
        elif current is not None and line[:1].isspace():
            current.append(line)
        else:
            current = None
            kept.append(line)
    return _of(kept, texts)


def _google(lines: list[str]) -> Documented | None:
    head = next((place for place, line in enumerate(lines) if _GOOGLE_HEAD.fullmatch(line)), None)
    if head is None:
        return None
    end = next((place for place in range(head + 1, len(lines)) if lines[place][:1].strip()), len(lines))
    texts: dict[str, list[str]] = {}
    depth: int | None = None
    current: list[str] | None = None
    for line in lines[head + 1 : end]:
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip())
        depth = indent if depth is None else depth
        if indent > depth and current is not None:
            current.append(line)
            continue
        match = _GOOGLE_ENTRY.fullmatch(line.strip())
        if match is None or indent < depth:
            return None
        current = texts.setdefault(match[1], [])
        current.append(match[2])
    return _of([*lines[:head], *lines[end:]], texts)


def _numpy(lines: list[str]) -> Documented | None:
    head = next(
        (
            place
            for place in range(len(lines) - 1)
            if _NUMPY_HEAD.fullmatch(lines[place]) and _underline(lines[place + 1])
        ),
        None,
    )
    if head is None:
        return None
    end = next(
        (place for place in range(head + 2, len(lines) - 1) if lines[place].strip() and _underline(lines[place + 1])),
        len(lines),
    )
    texts: dict[str, list[str]] = {}
    current: list[list[str]] = []
    for line in lines[head + 2 : end]:
        if not line.strip():
            continue
        if line[:1].isspace():
            if not current:
                return None
            for text in current:
                text.append(line)
            continue
        match = _NUMPY_ENTRY.fullmatch(line)
        if match is None:
            return None
        current = [texts.setdefault(name.strip(), []) for name in match[1].split(",")]
    return _of([*lines[:head], *lines[end:]], texts)


def _underline(line: str) -> bool:
    return len(line.strip()) >= 3 and not line.strip().strip("-")


def _of(kept: list[str], texts: dict[str, list[str]]) -> Documented | None:
    if not texts:
        return None
    joined = {name: " ".join(part.strip() for part in parts if part.strip()) for name, parts in texts.items()}
    description = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()
    return Documented(description, {name: text for name, text in joined.items() if text})
