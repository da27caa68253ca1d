"""``nodrop.pi.asgi:app``: the bare application, for any ASGI server. It refuses to start without ``NODROP_TOKEN``."""

from nodrop.pi import GatewaySettings, create_app

app = create_app(GatewaySettings.from_environment())
