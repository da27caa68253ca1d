"""The token that a client of ours presents, compared in constant time."""

from __future__ import annotations

import hmac


def presents(authorization: str, token: str) -> bool:
    """Whether the value of an ``Authorization`` header is ``Bearer`` and ``token``."""
    scheme, _, given = authorization.partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), token.encode())
