"""Every Python example in the documentation runs, in order, against an embedded server."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from nodrop.testing import MistralServer, Reply, finish, message, reference, text, thinking, usage
from nodrop.testing.records import RecordedRequest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if BLOCK.search(page.read_text())]


def example_of(schema: dict[str, Any]) -> Any:
    """A value that fits a plain JSON Schema."""
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return example_of(schema["anyOf"][0])
    match schema.get("type"):
        case "object":
            return {name: example_of(part) for name, part in schema.get("properties", {}).items()}
        case "array":
            return [example_of(schema["items"])]
        case "integer" | "number":
            return 3
        case "boolean":
            return True
        case _:
            return "an example"


def answer(request: RecordedRequest) -> Reply:
    """Calls the first tool once, fills a schema, and else says something with thinking and a citation."""
    assert isinstance(request.body, dict)
    asked = request.body["messages"][-1]["role"] == "user"
    tools = [tool["function"] for tool in request.body.get("tools") or [] if tool["type"] == "function"]
    form = (request.body.get("response_format") or {}).get("json_schema")
    said, calls = "Hello [from a test].", []
    if tools and asked:
        arguments = json.dumps(example_of(tools[0]["parameters"]))
        calls = [{"id": "aB3dE5gH7", "function": {"name": tools[0]["name"], "arguments": arguments}, "index": 0}]
        said = ""
    elif form:
        said = json.dumps(example_of(form["schema"]))
    reason = "tool_calls" if calls else "stop"
    if not request.streamed:
        return Reply.whole(message(said, tool_calls=calls) if calls else message(said), finish_reason=reason)
    return Reply.stream(thinking("Hm."), text(said), reference(0), finish(reason, usage=usage(12, 5)))


def blocks(page: Path) -> list[str]:
    """The examples of a page, each with the line numbers that it has there."""
    content = page.read_text()
    return ["\n" * content[: found.start(1)].count("\n") + found[1] for found in BLOCK.finditer(content)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run(page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    with MistralServer() as server:
        server.handler = answer
        monkeypatch.setenv("MISTRAL_API_KEY", server.api_key or "")
        monkeypatch.setenv("MISTRAL_BASE_URL", server.url)
        names: dict[str, Any] = {"__name__": "example"}
        for example in blocks(page):
            exec(compile(example, str(page), "exec"), names)
        for value in names.values():
            if type(value).__name__ == "Client":
                value.close()


def test_there_are_examples() -> None:
    assert len(PAGES) >= 3
