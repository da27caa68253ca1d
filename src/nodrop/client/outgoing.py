"""One request as it goes out: everything that building it anew for each attempt needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Outgoing:
    """``timeout`` is connect, read, write and pool, in seconds. The headers hold the key: they are in no ``repr``."""

    url: str
    headers: dict[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    timeout: tuple[float, float, float, float]

    def __reduce__(self) -> Any:
        raise TypeError("an outgoing request holds the API key and does not pickle")
