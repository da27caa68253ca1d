"""What the flow of a request asks of a client, and what it is told: its commands and their replies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Generic, Literal, TypeAlias, TypeVar

from nodrop.errors import NodropError

Item = TypeVar("Item")


# ---- commands ----


@dataclass(frozen=True, slots=True)
class Send:
    """Send the request and wait for the response head, until ``deadline`` on the flow's clock.

    When there is no connection at ``connect_by``, the reply is ``Expired("connect")``.
    """

    connect_by: float
    deadline: float


@dataclass(slots=True)
class Read:
    """Read the next bytes of the body, until ``deadline`` on the flow's clock.

    ``full``: the deadline is a whole silence from now, which a transport's own read timeout covers.
    """

    deadline: float
    full: bool


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait before the next attempt. ``attempt`` (from 1) is the one that failed, with ``error``."""

    seconds: float
    attempt: int
    error: NodropError


@dataclass(slots=True)
class Emit(Generic[Item]):
    """Hand ``items`` to the consumer."""

    items: list[Item]


class Settle:
    """The answer is whole."""


class Drop:
    """The exchange is over before its end: close its connection."""


# ---- replies ----


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a response; ``headers`` are lower-cased."""

    status: int
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Broken:
    """The transport failed. ``text`` names its exception class, and says what it says."""

    text: str


@dataclass(frozen=True, slots=True)
class Expired:
    """The deadline passed, or another bound: then ``phase`` says which."""

    phase: Literal["connect", "silence"] | None = None


class End:
    """The end of the body."""


class Aborted:
    """The caller aborted."""


END: Final = End()
ABORTED: Final = Aborted()

Command: TypeAlias = Send | Read | Wait | Emit[Item] | Settle | Drop
Reply: TypeAlias = Head | bytes | End | Broken | Expired | Aborted | None
