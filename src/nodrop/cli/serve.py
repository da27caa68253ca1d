"""``nodrop serve``: the gateway for pi, run by uvicorn."""

from __future__ import annotations

import argparse
import os
import socket
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from nodrop.cli.listening import add_listening_arguments, check_host, ensure_token, listener
from nodrop.client.options import client_options
from nodrop.errors import ConfigurationError
from nodrop.pi import GatewaySettings
from nodrop.pi.settings import (
    HEARTBEAT_SECONDS,
    HEARTBEAT_VARIABLE,
    MAX_REQUEST_BYTES,
    RATES_VARIABLE,
    SIZE_VARIABLE,
)

if TYPE_CHECKING:
    import uvicorn

DEFAULT_PORT: Final = 8089
_APP: Final = "nodrop.pi.asgi:app"
_STOP_SECONDS: Final = 5
_MIB: Final = 1024 * 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "MISTRAL_API_KEY holds the key, MISTRAL_BASE_URL the server. NODROP_TOKEN is the token that pi presents; "
        "without it one is made and printed. docs/pi.md goes from here to a first answer."
    )
    add_listening_arguments(parser, DEFAULT_PORT)
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes; default: %(default)s")
    parser.add_argument(
        "--heartbeat", type=float, default=HEARTBEAT_SECONDS, metavar="SECONDS", help="default: %(default)s"
    )
    parser.add_argument(
        "--max-request-mib", type=float, default=MAX_REQUEST_BYTES // _MIB, metavar="N", help="default: %(default)s"
    )
    parser.add_argument(
        "--rates", type=Path, metavar="FILE", help="a rate card of your own, over the one in the package"
    )
    parser.add_argument("--base-url", metavar="URL", help="the Mistral server")


def run(arguments: argparse.Namespace) -> int:
    if arguments.workers < 1:
        raise ConfigurationError("--workers is 1 or more")
    check_host(arguments)
    about_token = ensure_token()
    _to_environment(arguments)
    GatewaySettings.from_environment()  # mistakes show here, once, and not in every worker
    client_options({})
    try:
        import uvicorn

        import_module("nodrop.pi.app")  # the extra is whole, or the error below says so
    except ModuleNotFoundError as error:
        if error.name not in ("uvicorn", "starlette"):
            raise
        raise ConfigurationError("nodrop serve needs the extra: pip install 'nodrop[pi]'") from None
    listening, url = listener(arguments)
    print(f"nodrop serve: {url} speaks pi-messages; pi's models.json is at {url}/models.json")
    print("\n".join(about_token), flush=True)
    config = uvicorn.Config(
        _APP,
        workers=arguments.workers,
        lifespan="on",
        log_config=_LOGGING,
        access_log=False,
        timeout_graceful_shutdown=_STOP_SECONDS,
    )
    return _serve(config, listening)


def _serve(config: uvicorn.Config, listening: socket.socket) -> int:
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    if config.workers > 1:
        listening.set_inheritable(True)
        Multiprocess(config, sockets=[listening]).run()
        return 0
    server = uvicorn.Server(config)
    server.run(sockets=[listening])
    return 0 if server.started else 1


def _to_environment(arguments: argparse.Namespace) -> None:
    """Workers are started anew and read their settings from the environment; never from a command line, which others
    can see."""
    os.environ[HEARTBEAT_VARIABLE] = str(arguments.heartbeat)
    os.environ[SIZE_VARIABLE] = str(int(arguments.max_request_mib * _MIB))
    if arguments.rates is not None:
        os.environ[RATES_VARIABLE] = str(arguments.rates)
    if arguments.base_url is not None:
        os.environ["MISTRAL_BASE_URL"] = arguments.base_url


_LOGGING: Final = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain", "stream": "ext://sys.stderr"}},
    "loggers": {
        "nodrop.pi": {"handlers": ["stderr"], "level": "INFO", "propagate": False},
        "uvicorn": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
    },
}
