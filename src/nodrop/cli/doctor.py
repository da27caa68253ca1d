"""``nodrop doctor``: each effective setting and where it came from. Nothing is sent; the key is never shown."""

from __future__ import annotations

import argparse
import json
import sys

from nodrop.client.sync import Client
from nodrop.settings import Settings, load_settings
from nodrop.version import __version__


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "Exit status: 0 ready, 1 no API key, 2 a settings file or a value is wrong. Nothing is sent."
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(arguments: argparse.Namespace) -> int:
    settings = load_settings()
    # What a client would refuse is found here, by the same check. Without a key of its own, any word stands in for it.
    client_settings = settings.client_settings()
    if settings.api_key.value is None:
        client_settings["api_key"] = "none"
    Client(**client_settings).close()
    print(json.dumps(_report(settings), ensure_ascii=False) if arguments.json else _text(settings))
    if settings.api_key.value:
        return 0
    print(f"nodrop: no API key: set MISTRAL_API_KEY, or api_key in {settings.user_file}", file=sys.stderr)
    return 1


def _values(settings: Settings) -> dict[str, tuple[object, str]]:
    """Each setting as it may be shown, and its source."""
    rates = settings.rates_file.value
    return {
        "api_key": ("set" if settings.api_key.value else "not set", settings.api_key.source),
        "base_url": (settings.base_url.value, settings.base_url.source),
        "model": (settings.model.value, settings.model.source),
        "library_ids": ([*settings.library_ids.value], settings.library_ids.source),
        "rates_file": (None if rates is None else str(rates), settings.rates_file.source),
        "streaming": (settings.streaming.value, settings.streaming.source),
    }


def _report(settings: Settings) -> dict[str, object]:
    return {
        "version": __version__,
        "user_file": {"path": str(settings.user_file), "exists": settings.user_file.exists()},
        "project_file": None if settings.project_file is None else str(settings.project_file),
        "settings": {name: {"value": value, "from": source} for name, (value, source) in _values(settings).items()},
        "warnings": [*settings.warnings],
    }


def _text(settings: Settings) -> str:
    absent = "" if settings.user_file.exists() else " (absent)"
    lines = [
        f"nodrop {__version__}",
        f"user file     {settings.user_file}{absent}",
        f"project file  {settings.project_file or 'none'}",
        "",
    ]
    for name, (value, source) in _values(settings).items():
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        lines.append(f"{name:<12}  {shown}  ({source})")
    return "\n".join([*lines, *(f"warning: {warning}" for warning in settings.warnings)])
