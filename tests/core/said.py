"""The error of an HTTP answer, from a body in any form."""

from __future__ import annotations

import json
from typing import Any

from nodrop.core.server_errors import error_from_response
from nodrop.errors import APIError


def error_of(status: int, body: Any, **headers: str) -> APIError:
    data = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
    return error_from_response(status, {name.replace("_", "-"): value for name, value in headers.items()}, data)
