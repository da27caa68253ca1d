"""What ``serve`` and ``mcp --http`` share: where to listen, and the token."""

from __future__ import annotations

import argparse
import ipaddress
import os
import secrets
import socket
from typing import Final

from nodrop.errors import ConfigurationError

TOKEN_VARIABLE: Final = "NODROP_TOKEN"


def add_listening_arguments(parser: argparse.ArgumentParser, port: int) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="default: %(default)s")
    parser.add_argument("--port", type=int, default=port, help="default: %(default)s; 0 for a free one")
    parser.add_argument(
        "--allow-remote", action="store_true", help="allow a --host that other machines can reach (plain HTTP)"
    )


def check_host(arguments: argparse.Namespace) -> None:
    """Raises :class:`nodrop.ConfigurationError` for a host beyond loopback that was not allowed explicitly."""
    if not arguments.allow_remote and not is_loopback(arguments.host):
        raise ConfigurationError(
            f"{arguments.host} is not loopback: other machines could reach it, over plain HTTP. "
            "Say --allow-remote if that is what you want"
        )


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listener(arguments: argparse.Namespace) -> tuple[socket.socket, str]:
    """A listening socket and its URL. Raises :class:`nodrop.ConfigurationError` when it cannot be had."""
    host, port = arguments.host, arguments.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        raise ConfigurationError(f"cannot listen on {host} port {port}: {error}") from None
    bound, number = listening.getsockname()[:2]
    return listening, f"http://[{bound}]:{number}" if ":" in bound else f"http://{bound}:{number}"


def ensure_token() -> list[str]:
    """Puts a token into the environment if none is there; gives the lines that tell people of it."""
    if os.environ.get(TOKEN_VARIABLE):
        return [f"The token to present is the {TOKEN_VARIABLE} of this environment."]
    token = os.environ[TOKEN_VARIABLE] = secrets.token_urlsafe(32)
    return ["The token to present, made for this run:", f"  export {TOKEN_VARIABLE}={token}"]
