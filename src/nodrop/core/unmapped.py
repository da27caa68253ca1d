"""Fields that have no place in the content model: kept raw, in order, within bounds, and noted once by path.

Nothing here is lost silently: what does not fit the bounds is counted. A name that is no name may be a payload: it is
kept with its value, and the path only says that there is one.
"""

from __future__ import annotations

import json
from typing import Any, Final

from nodrop.content import Unmapped
from nodrop.core.rejections import path_key

MAX_PATHS: Final = 256
MAX_VALUES: Final = 1000
MAX_CHARACTERS: Final = 65536
MORE_PATHS: Final = "<more fields>"


class UnmappedFields:
    """What was met so far, by path without positions (``choices.delta.colour``)."""

    def __init__(self) -> None:
        self.paths: dict[str, Unmapped] = {}
        self._sizes: dict[str, int] = {}
        self._joined: dict[str, list[str]] = {}

    def keep(self, base: str, name: str, value: Any, *, join: bool) -> str | None:
        """Keeps one value; gives its path when it is the first one there. ``join``: strings in a row are one string."""
        key = path_key(name)
        if key != name:
            value = {name: value}
        path = f"{base}.{key}" if base else key
        new = path not in self.paths
        if new and len(self.paths) >= MAX_PATHS:
            path = MORE_PATHS
            new = path not in self.paths
        kept = self.paths.setdefault(path, Unmapped())
        size = len(value) if isinstance(value, str) else len(json.dumps(value))
        total = self._sizes.get(path, 0) + size
        pieces = self._joined.get(path)
        if path == MORE_PATHS or total > MAX_CHARACTERS or (pieces is None and len(kept.values) >= MAX_VALUES):
            kept.omitted += 1
        elif join and isinstance(value, str):
            self._joined.setdefault(path, []).append(value)
            self._sizes[path] = total
        else:
            self._settle(path)
            kept.values.append(value)
            self._sizes[path] = total
        return path if new else None

    def snapshot(self) -> dict[str, Unmapped]:
        """A copy of all that was kept."""
        return {
            path: Unmapped(
                values=[*kept.values, "".join(self._joined[path])] if path in self._joined else list(kept.values),
                omitted=kept.omitted,
            )
            for path, kept in self.paths.items()
        }

    def _settle(self, path: str) -> None:
        # A value of another kind ends the joining of strings: the order of arrival stays.
        pieces = self._joined.pop(path, None)
        if pieces is not None:
            self.paths[path].values.append("".join(pieces))
