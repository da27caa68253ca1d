"""``nodrop demo``: the real client over real HTTP, against an embedded server. No key, no network."""

from __future__ import annotations

import argparse
import os

from nodrop.cli.screen import Screen
from nodrop.client.sync import Client
from nodrop.content import Tool
from nodrop.errors import ContentRejectedError
from nodrop.events import Failed
from nodrop.testing import MistralServer, demo


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "The answers are scripted, in the shapes that Mistral's models send. Nothing leaves this machine."
    parser.add_argument("--json", action="store_true", help="print the events as JSON lines")
    parser.add_argument("--fast", action="store_true", help="without the pauses of a model that thinks")


def run(arguments: argparse.Namespace) -> int:
    """Shows both scripted answers. Status 0 when the first is done and the second is rejected, as it must be."""
    screen = Screen(as_json=arguments.json)
    tool = Tool(name=demo.TOOL_NAME, description=demo.TOOL_DESCRIPTION, parameters=demo.TOOL_PARAMETERS)
    os.environ["NO_PROXY"] = "127.0.0.1"  # a proxy of this machine must not stand before its own loopback
    with MistralServer() as server, Client(api_key=server.api_key, base_url=server.url) as client:
        server.enqueue(*demo.replies(**({"delay": 0.0} if arguments.fast else {})))
        screen.line(f"An embedded Mistral (a simulator, scripted) answers on {server.url}.\n", dim=True)
        screen.line(f"> {demo.PROMPT}")
        with client.stream(demo.MODEL, demo.PROMPT, tools=[tool]) as stream:
            answered = screen.show_all(stream) == 0
        screen.line("\nAnd an answer that holds a chunk which has no place in a message: rejected by name, text kept.")
        screen.line(f"\n> {demo.CHART_PROMPT}")
        rejected = False
        with client.stream(demo.MODEL, demo.CHART_PROMPT) as stream:
            for event in stream:
                screen.show(event)
                rejected = isinstance(event, Failed) and isinstance(event.exception, ContentRejectedError)
        screen.line("\nWith MISTRAL_API_KEY set, `nodrop chat` talks to the real API with the same code.", dim=True)
    return 0 if answered and rejected else 1
