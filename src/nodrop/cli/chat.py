"""``nodrop chat``: one question, or a conversation."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from nodrop.cli.prompt import next_line, prompt_of, standard_input
from nodrop.cli.screen import Screen, aborting_on_interrupt
from nodrop.client.base import ChatOptions
from nodrop.client.sync import Client
from nodrop.content import Context, ImageContent, TextContent, UserMessage
from nodrop.errors import ConfigurationError
from nodrop.settings import DEFAULT_MODEL, load_settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "MISTRAL_API_KEY holds the key, MISTRAL_BASE_URL the server. Ctrl-C ends an answer and keeps what arrived."
    )
    parser.add_argument(
        "prompt",
        nargs="*",
        metavar="PROMPT",
        help="the question; '-' in it stands for standard input. Without one it is standard input, or a conversation",
    )
    parser.add_argument("--model", metavar="ID", help=f"default: that of the settings files, else {DEFAULT_MODEL}")
    parser.add_argument("--system", metavar="TEXT", help="the system prompt")
    parser.add_argument("--image", action="append", default=[], type=Path, metavar="FILE", help="an image; repeatable")
    parser.add_argument("--effort", metavar="LEVEL", help="reasoning_effort, for example none or high")
    parser.add_argument("--temperature", type=float, metavar="N")
    parser.add_argument("--max-tokens", type=int, metavar="N")
    parser.add_argument("--base-url", metavar="URL")
    parser.add_argument("--json", action="store_true", help="print the events as JSON lines")


def run(arguments: argparse.Namespace) -> int:
    options = _options(arguments)
    settings = load_settings()
    for warning in settings.warnings:
        print(f"nodrop: {warning}", file=sys.stderr)
    if arguments.model is None:  # an empty one is a mistake, not a wish for the default
        arguments.model = settings.model.value
    client_settings = settings.client_settings()
    if arguments.base_url is not None:
        client_settings["base_url"] = arguments.base_url
    with Client(**client_settings) as client:
        prompt = prompt_of(arguments.prompt)
        if not prompt and not sys.stdin.isatty():
            prompt = standard_input()
            if not prompt and not arguments.image:
                raise ConfigurationError("no prompt: give one, or write it to standard input")
        context = Context(system_prompt=arguments.system)
        if prompt or arguments.image:
            _, status = _turn(client, arguments, context.append(_question(prompt, arguments.image)), options)
            return status
        return _conversation(client, arguments, context, options)


def _options(arguments: argparse.Namespace) -> ChatOptions:
    given: dict[str, Any] = {
        "reasoning_effort": arguments.effort,
        "temperature": arguments.temperature,
        "max_tokens": arguments.max_tokens,
    }
    options: Any = {name: value for name, value in given.items() if value is not None}
    return options  # type: ignore[no-any-return]


def _question(prompt: str, images: list[Path]) -> UserMessage:
    if not images:
        return UserMessage(content=prompt)
    text = [TextContent(text=prompt)] if prompt else []
    return UserMessage(content=[*text, *(ImageContent.from_path(path) for path in images)])


def _turn(client: Client, arguments: argparse.Namespace, context: Context, options: ChatOptions) -> tuple[Context, int]:
    screen = Screen(as_json=arguments.json)
    with client.stream(arguments.model, context, **options) as stream, aborting_on_interrupt(stream.abort):
        status = screen.show_all(stream)
    return context.append(stream.message), status


def _conversation(client: Client, arguments: argparse.Namespace, context: Context, options: ChatOptions) -> int:
    """Question and answer until the end of the input. An answer that failed stays in the history as far as it came."""
    status = 0
    print(f"{arguments.model}: end with Ctrl-D", file=sys.stderr)
    while True:
        try:
            prompt = next_line()
        except EOFError:
            print(file=sys.stderr)  # the shell's prompt begins a line of its own
            return status
        if prompt:
            context, status = _turn(client, arguments, context.append(_question(prompt, [])), options)
