"""A TOML file read with places: errors and warnings name the file, the line and the key.

``tomllib`` keeps no line numbers. The line of a key is found with ``tomllib`` itself: the statement that brings a key
ends at the first line where the file, cut off there, is valid and has the key; it begins behind the line where a
shorter file was last valid. So the line is right for dotted keys, inline tables and values over several lines alike,
and nothing here reads TOML a second way.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, cast

from nodrop.errors import ConfigurationError

KeyPath = tuple[str, ...]
_AT_LINE: Final = re.compile(r"\(at line (\d+), column \d+\)")


@dataclass(frozen=True)
class TomlFile:
    """A file that was read. ``data`` is what it holds."""

    path: Path
    text: str
    data: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> TomlFile:
        """Raises :class:`nodrop.ConfigurationError` naming the file, and the line where it is no TOML."""
        try:
            raw = path.read_bytes()
        except OSError as error:
            raise ConfigurationError(f"{path}: cannot be read ({error.strerror})") from None
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            raise ConfigurationError(f"{path}, line {line}: the file is not UTF-8") from None
        try:
            return cls(path, text, tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            said = str(error)
            place = _AT_LINE.search(said)
            line = int(place[1]) if place else text.rstrip().count("\n") + 1  # else it says: at end of document
            # The parser's words may quote a character of the file, never a value.
            reason = _AT_LINE.sub("", said).replace("(at end of document)", "at the end").strip()
            raise ConfigurationError(f"{path}, line {line}: no valid TOML: {reason}") from None
        except RecursionError:
            raise ConfigurationError(f"{path}: nested too deeply") from None

    def line(self, key: KeyPath) -> int:
        """The line, from 1, of the statement that brings ``key``. Raises LookupError when the file has no such key."""
        begin = 0
        for end, data in self._valid_prefixes:
            if _has(data, key):
                return begin + 1  # blank lines and comments before it were valid ends themselves
            begin = end
        raise LookupError(".".join(key))

    def place(self, key: KeyPath) -> str:
        """``path, line N: the.key``, for messages."""
        return f"{self.path}, line {self.line(key)}: {dotted(key)}"

    @cached_property
    def _valid_prefixes(self) -> list[tuple[int, dict[str, Any]]]:
        lines = self.text.split("\n")
        found: list[tuple[int, dict[str, Any]]] = []
        for end in range(1, len(lines) + 1):
            try:
                found.append((end, tomllib.loads("\n".join(lines[:end]) + "\n")))
            except tomllib.TOMLDecodeError:
                continue  # cut off inside a statement
        return found


def dotted(key: KeyPath) -> str:
    """A key's path as it would be written; a part that is no plain name is only described."""
    return ".".join(part if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", part) else "<a key that is no name>" for part in key)


def _has(data: dict[str, Any], key: KeyPath) -> bool:
    value: object = data
    for part in key:
        if not isinstance(value, dict) or part not in value:
            return False
        value = cast("dict[str, object]", value)[part]
    return True
