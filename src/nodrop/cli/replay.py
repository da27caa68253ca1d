"""``nodrop replay FILE``: a recorded body through the same core, without a network."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, cast

from nodrop.cli.prompt import STANDARD_INPUT
from nodrop.cli.screen import Screen
from nodrop.core.decoder import Decoder
from nodrop.core.server_errors import error_from_response
from nodrop.errors import ConfigurationError
from nodrop.events import Event
from nodrop.rate_card import RateCard
from nodrop.settings import load_settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help="server-sent events, or JSON (a completion, an error); - is stdin",
    )
    parser.add_argument(
        "--status",
        type=int,
        metavar="N",
        help="the HTTP status of the body (default: that of the side file NAME.meta.json, else 200)",
    )
    parser.add_argument("--model", default="", metavar="ID", help="the model that was asked for, for the cost estimate")
    parser.add_argument("--json", action="store_true", help="print the events as JSON lines")


def run(arguments: argparse.Namespace) -> int:
    piped = arguments.file == STANDARD_INPUT
    path = Path(arguments.file)
    body = sys.stdin.buffer.read() if piped else _read(path)
    recorded = {} if piped else _side_file(path)
    status = arguments.status if arguments.status is not None else recorded.get("status", 200)
    if not isinstance(status, int) or not 100 <= status <= 599:
        raise ConfigurationError("an HTTP status is a number from 100 to 599")
    headers: dict[str, str] = recorded.get("response_headers") or {}
    model = arguments.model or recorded.get("model") or ""
    rates = load_settings().rate_card()
    return Screen(as_json=arguments.json).show_all(
        replayed(body, status=status, headers=headers, model=model, rates=rates)
    )


def replayed(
    body: bytes, *, status: int, headers: dict[str, str], model: str, rates: RateCard | None = None
) -> list[Event]:
    """The events of a recorded answer. A failed request has one event, the error."""
    decoder = Decoder(model=model, rates=rates)
    if not 200 <= status < 300:
        # As with a live request that failed before a 2xx head: a lone `error`, no `start`.
        return [event for event in decoder.fail(error_from_response(status, headers, body)) if event.type != "start"]
    if body.lstrip()[:1] == b"{":
        return decoder.whole(body)
    return decoder.feed(body) + decoder.close()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
    raise ConfigurationError(f"cannot read {path}: {reason}")


def _side_file(path: Path) -> dict[str, Any]:
    side = path.with_name(path.stem + ".meta.json")
    if not side.is_file():
        return {}
    try:
        value: object = json.loads(_read(side))
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ConfigurationError(f"the side file {side} is no JSON object; give --status instead, or mend it")
    return cast("dict[str, Any]", value)
