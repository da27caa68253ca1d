"""``nodrop demo``: the real client over real HTTP, against an embedded server. No key, no network."""

from __future__ import annotations

import argparse
import sys
from typing import Final

import httpx

from nodrop.cli.ask import ask
from nodrop.cli.screen import Screen
from nodrop.client.sync import Client
from nodrop.content import Tool
from nodrop.document_query import DocumentQuery
from nodrop.errors import ContentRejectedError
from nodrop.events import Failed
from nodrop.testing import DocumentLibraries, MistralServer, demo
from nodrop.testing.library import DEMO_LIBRARY_ID

_QUESTION: Final = "Which harbour is sheltered in a north-westerly gale?"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "The answers are scripted, in the shapes that Mistral's models send. Nothing leaves this machine."
    parser.add_argument("what", nargs="?", choices=["chat", "ask"], default="chat", help="default: %(default)s")
    parser.add_argument("--json", action="store_true", help="print the events (of ask: the result) as JSON lines")
    parser.add_argument("--fast", action="store_true", help="without the pauses of a model that thinks")


def run(arguments: argparse.Namespace) -> int:
    """Shows a chat, or a document query."""
    # A proxy of this machine must not stand before its own loopback.
    with httpx.Client(trust_env=False) as http:
        return _ask(arguments, http) if arguments.what == "ask" else _chat(arguments, http)


def _ask(arguments: argparse.Namespace, http: httpx.Client) -> int:
    """Asks the demo library. Status 0 when the answer cites a source."""
    screen = Screen(as_json=arguments.json, notes=sys.stdout)  # all of it is what the demo shows
    libraries = DocumentLibraries.demo(delay=0.0 if arguments.fast else demo.DELAY)
    server = MistralServer(handler=libraries.answer)
    with server, Client(api_key=server.api_key, base_url=server.url, http_client=http) as client:
        screen.line(f"An embedded Mistral (a simulator that matches keywords) answers on {server.url}.\n", dim=True)
        screen.line(f"> {_QUESTION}")
        query = DocumentQuery(client, library_ids=[DEMO_LIBRARY_ID], model=demo.MODEL, streaming=True)
        status = ask(query, _QUESTION, screen, as_json=arguments.json)
        screen.line(
            "\nWith MISTRAL_API_KEY set, `nodrop ask --library ID` asks the real API with the same code.", dim=True
        )
    return status


def _chat(arguments: argparse.Namespace, http: httpx.Client) -> int:
    """Shows both scripted answers. Status 0 when the first is done and the second is rejected, as it must be."""
    screen = Screen(as_json=arguments.json, notes=sys.stdout)  # all of it is what the demo shows
    tool = Tool(name=demo.TOOL_NAME, description=demo.TOOL_DESCRIPTION, parameters=demo.TOOL_PARAMETERS)
    server = MistralServer()
    with server, Client(api_key=server.api_key, base_url=server.url, http_client=http) as client:
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
