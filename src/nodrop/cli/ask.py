"""``nodrop ask``: one question to document libraries; the answer as it comes, then its sources."""

from __future__ import annotations

import argparse
import sys
from typing import Final

from nodrop.cli.prompt import prompt_of
from nodrop.cli.screen import Screen, aborting_on_interrupt, usage_line
from nodrop.client.abort import AbortSignal
from nodrop.client.sync import Client
from nodrop.document_query import DocumentQuery, QueryCitation, ToolResult
from nodrop.settings import load_settings

_ABORTED: Final = 130
_SHOWN: Final = ("title", "source", "url")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Libraries, model and the switch also come from the settings files (`nodrop doctor` shows them). "
        "Ctrl-C ends the query. Exit status: 0 answered, 1 failed, 130 aborted, 2 wrong usage."
    )
    parser.add_argument("question", nargs="+", metavar="QUESTION", help="'-' in it stands for standard input")
    parser.add_argument("--library", action="append", metavar="ID", help="a library to ask; repeatable")
    parser.add_argument("--model", metavar="ID")
    parser.add_argument("--no-stream", action="store_true", help="one whole answer, without a preview")
    parser.add_argument("--base-url", metavar="URL")
    parser.add_argument("--json", action="store_true", help="print the result as one line of JSON")


def run(arguments: argparse.Namespace) -> int:
    settings = load_settings()
    for warning in settings.warnings:
        print(f"nodrop: {warning}", file=sys.stderr)
    client_settings = settings.client_settings()
    if arguments.base_url is not None:
        client_settings["base_url"] = arguments.base_url
    with Client(**client_settings) as client:
        query = DocumentQuery(
            client,
            library_ids=arguments.library,
            model=arguments.model,
            streaming=False if arguments.no_stream else None,
            settings=settings,
        )
        return ask(query, prompt_of(arguments.question), Screen(as_json=arguments.json), as_json=arguments.json)


def ask(query: DocumentQuery, question: str, screen: Screen, *, as_json: bool = False) -> int:
    """Asks, shows the answer while it comes and its sources after it; gives the exit status."""
    signal = AbortSignal()
    shown = ""

    def show(text: str) -> None:
        nonlocal shown
        screen.write(text[len(shown) :])  # a preview only ever grows
        shown = text

    with aborting_on_interrupt(signal.abort):
        result = query.run(question, on_update=None if as_json else show, abort=signal)
    if as_json:
        print(result.model_dump_json(by_alias=True))
    elif result.is_error:
        screen.note(f"{'aborted' if result.details['aborted'] else 'error'}: {result.text}", dim=False)
    else:
        screen.write(result.text[len(shown) :])
        _footnotes(result, screen)
    if result.details["aborted"]:
        return _ABORTED
    return 1 if result.is_error else 0


def _footnotes(result: ToolResult, screen: Screen) -> None:
    for note in dict.fromkeys(line for citation in result.citations for line in _lines(citation)):
        screen.line(note, dim=True)
    usage = result.usage
    # The tool knows no prices: its zero cost is no estimate, so none is shown.
    screen.note(usage_line(usage).partition(" · ")[0])
    for entry in result.details.get("diagnostics", []):
        screen.note(f"note: {entry['type']}")


def _lines(citation: QueryCitation) -> list[str]:
    found: list[str] = []
    for each in citation["ids"]:
        source = citation["references"].get(str(each), {})
        words = [str(source[name]) for name in _SHOWN if isinstance(source.get(name), str) and source[name]]
        found.append(f"[{each}] {' · '.join(words) or 'the answer does not say what this source is'}")
    return found
