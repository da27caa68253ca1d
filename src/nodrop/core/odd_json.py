"""What may be wrong with a text that should be JSON, apart from its grammar."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, cast

BEFORE_DATA: Final = re.compile(r"\A[\s\x00-\x1f\x7f\ufeff\ufffd]+")
"""What can hide that a text starts like JSON: a byte order mark, blanks, control characters, broken UTF-8."""
MAX_DEPTH: Final = 200
"""The bound of the fast path's parser; what walks JSON recursively must not go deeper either."""


def is_nested_deeper(value: object, depth: int) -> bool:
    """Whether a JSON value has more than ``depth`` levels: what walks it recursively must not."""
    level: list[object] = [value]
    for _ in range(depth + 1):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return cast("dict[str, object]", value).values()
    return cast("list[object]", value) if isinstance(value, list) else ()
