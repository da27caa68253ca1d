"""What the user asks: the words of the command line, and standard input."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Final

from nodrop.errors import ConfigurationError

STANDARD_INPUT: Final = "-"


def prompt_of(words: Sequence[str]) -> str:
    """The words of a prompt; ``-`` among them stands for standard input, on lines of its own.

    Raises :class:`ConfigurationError` when standard input is empty or no text, and for a second ``-``.
    """
    if STANDARD_INPUT not in words:
        return " ".join(words)
    before, after = words[: words.index(STANDARD_INPUT)], words[words.index(STANDARD_INPUT) + 1 :]
    if STANDARD_INPUT in after:
        raise ConfigurationError("standard input can be read once: one '-' in a prompt")
    piped = standard_input()
    if not piped:
        raise ConfigurationError("standard input is empty, and '-' stands for it")
    return "\n".join(part for part in (" ".join(before), piped, " ".join(after)) if part)


def standard_input() -> str:
    """All of standard input, without the blanks around it."""
    return _text(sys.stdin.read).strip()


def next_line() -> str:
    """The next line of a conversation. Raises :class:`EOFError` at its end."""
    print("> ", end="", file=sys.stderr, flush=True)  # standard output is the answer's
    return _text(input).strip()


def _text(read: Callable[[], str]) -> str:
    try:
        return read()
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"standard input is no {error.encoding} text") from None
