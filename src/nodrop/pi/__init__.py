"""The gateway that speaks pi's ``pi-messages`` protocol: an unmodified pi 1.4.0 uses nodrop as its Mistral provider.

``app`` routes and the token · ``request`` what pi sends, checked · ``transcript`` what pi leaves to its backend ·
``options`` max_tokens, thinking levels, the cache key · ``events`` nodrop's events in pi's form · ``wording`` error
texts that pi understands · ``stream`` one answer on its way, with heartbeats and aborts · ``models`` pi's models.json ·
``asgi`` the bare application. ``nodrop serve`` runs it; the protocol's facts are of pi 1.4.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nodrop.errors import ConfigurationError
from nodrop.pi.settings import GatewaySettings

if TYPE_CHECKING:
    from starlette.applications import Starlette

__all__ = ["GatewaySettings", "create_app"]


def create_app(settings: GatewaySettings) -> Starlette:
    """The ASGI application: ``POST /messages``, ``GET /health``, ``GET /models.json``, under any base path.

    Raises :class:`nodrop.ConfigurationError` when the extra is not installed.
    """
    try:
        from nodrop.pi.app import gateway_app
    except ModuleNotFoundError as error:
        if error.name != "starlette":
            raise
        raise ConfigurationError("the gateway needs the extra: pip install 'nodrop[pi]'") from None
    return gateway_app(settings)
