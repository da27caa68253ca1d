"""One request as it goes out: everything that building it anew for each attempt needs."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Outgoing:
    """``timeout`` is connect, read, write and pool, in seconds. The headers hold the key: they are in no ``repr``."""

    url: str
    headers: dict[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    timeout: tuple[float, float, float, float]
