"""What the gateway is told. Workers read it from the environment, where ``nodrop serve`` has put it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from nodrop.errors import ConfigurationError
from nodrop.rate_card import RateCard

TOKEN_VARIABLE: Final = "NODROP_TOKEN"
HEARTBEAT_VARIABLE: Final = "NODROP_PI_HEARTBEAT"
SIZE_VARIABLE: Final = "NODROP_PI_MAX_REQUEST_BYTES"
RATES_VARIABLE: Final = "NODROP_PI_RATES"

HEARTBEAT_SECONDS: Final = 15.0
"""pi gives up after 300 s without a byte (``httpIdleTimeoutMs``), proxies after 60 s or less."""
MAX_REQUEST_BYTES: Final = 64 * 1024 * 1024
"""pi sends the whole history each time, images of up to 4.5 MiB of base64 included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """``token`` is what pi must present; ``heartbeat`` seconds of silence before a comment is sent;
    ``max_request_bytes`` the largest request. The Mistral key and server come from ``MISTRAL_API_KEY`` and
    ``MISTRAL_BASE_URL`` unless they are given."""

    token: str = field(repr=False)
    heartbeat: float = HEARTBEAT_SECONDS
    max_request_bytes: int = MAX_REQUEST_BYTES
    rates: RateCard = field(default_factory=RateCard.default, repr=False)
    api_key: str | None = field(default=None, repr=False)
    base_url: str | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[!-~]{16,}", self.token):
            raise ConfigurationError(f"{TOKEN_VARIABLE} must be 16 or more printable characters without spaces")
        if not 0 < self.heartbeat < float("inf"):
            raise ConfigurationError("the heartbeat is seconds, more than 0")
        if self.max_request_bytes < 1024:
            raise ConfigurationError("the largest request is at least 1024 bytes")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> GatewaySettings:
        """Raises :class:`nodrop.ConfigurationError` without ``NODROP_TOKEN``, or naming the variable that is wrong."""
        token = environment.get(TOKEN_VARIABLE)
        if not token:
            raise ConfigurationError(
                f"no token: set {TOKEN_VARIABLE} to a secret that pi presents too; `nodrop serve` makes one by itself"
            )
        rates = RateCard.default()
        if environment.get(RATES_VARIABLE):
            rates = rates.merged(RateCard.load(environment[RATES_VARIABLE]))
        return cls(
            token=token,
            heartbeat=_number(environment, HEARTBEAT_VARIABLE, HEARTBEAT_SECONDS),
            max_request_bytes=int(_number(environment, SIZE_VARIABLE, MAX_REQUEST_BYTES)),
            rates=rates,
        )


def _number(environment: Mapping[str, str], name: str, default: float) -> float:
    text = environment.get(name)
    if text is None:
        return default
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise ConfigurationError(f"{name} must be a number above 0")
    return number
