"""What a model or a program may ask for: the declaration, the validation, and where defaults come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import nodrop
from nodrop.document_query import TOOL_NAME
from nodrop.testing import MistralServer, Reply
from tests.document_query.driving import LIBRARY, MODEL

Make = Callable[..., nodrop.DocumentQuery]


@pytest.fixture
def make(mistral_server: MistralServer) -> Iterator[Make]:
    with nodrop.Client(api_key=mistral_server.api_key, base_url=mistral_server.url) as client:

        def query(**options: Any) -> nodrop.DocumentQuery:
            given = {"library_ids": [LIBRARY], "model": MODEL, "streaming": False, **options}
            return nodrop.DocumentQuery(client, **given)

        yield query


def test_the_declaration(make: Make, mistral_server: MistralServer) -> None:
    tool = make().tool
    assert tool.name == TOOL_NAME == "mistral_document_query"
    assert tool.parameters["required"] == ["question"]
    assert tool.parameters["additionalProperties"] is False
    assert list(tool.parameters["properties"]) == ["question", "library_ids", "model"]
    assert LIBRARY in tool.parameters["properties"]["library_ids"]["description"]
    assert MODEL in tool.parameters["properties"]["model"]["description"]


def test_without_default_libraries_they_are_required(make: Make, mistral_server: MistralServer) -> None:
    tool = make(library_ids=[]).tool
    assert tool.parameters["required"] == ["question", "library_ids"]


BAD: dict[str, tuple[Any, list[str]]] = {
    "no question": ({}, ["question must be a string that is not blank"]),
    "a blank question": ({"question": " \n"}, ["question must be"]),
    "a number": ({"question": 5}, ["question must be"]),
    "one library as a string": ({"question": "?", "library_ids": "lib"}, ["library_ids must be an array"]),
    "no library": ({"question": "?", "library_ids": []}, ["library_ids must name at least one"]),
    "a library that is a number": ({"question": "?", "library_ids": ["a", 3]}, ["library_ids must be an array"]),
    "a blank model": ({"question": "?", "model": ""}, ["model must be a model's id"]),
    "a misspelt name": ({"question": "?", "library_id": ["a"]}, ["'library_id'; did you mean library_ids?"]),
    "another name": ({"question": "?", "zzz": 1}, ["no parameter 'zzz'; there are question, library_ids, model"]),
    "two mistakes": ({"query": "?"}, ["question must be", "no parameter 'query'"]),
    "no object": (["?"], ["must be an object"]),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_wrong_arguments_tell_the_model_what_to_change_and_send_nothing(
    kind: str, make: Make, mistral_server: MistralServer
) -> None:
    given, words = BAD[kind]
    result = make().execute("call-1", given)
    assert result.is_error
    assert result.text.startswith(f"invalid arguments for {TOOL_NAME}: ")
    for word in words:
        assert word in result.text
    assert not mistral_server.requests


def test_what_is_wrong_is_never_quoted(make: Make, mistral_server: MistralServer) -> None:
    given: Any = {"question": {"secret": "PAYLOAD"}, "model": ["PAYLOAD"], "PAY LOAD": 1}
    assert "PAYLOAD" not in make().execute("call-1", given).model_dump_json()
    assert "PAY LOAD" not in make().execute("call-1", given).model_dump_json()


def test_run_raises_for_the_same_mistakes(make: Make, mistral_server: MistralServer) -> None:
    with pytest.raises(nodrop.ConfigurationError, match="question must be a string"):
        make().run("  ")
    with pytest.raises(nodrop.ConfigurationError, match="library_ids must name at least one library"):
        make(library_ids=[]).run("?")


def test_arguments_win_over_defaults_and_null_is_absent(make: Make, mistral_server: MistralServer) -> None:
    mistral_server.enqueue(Reply.whole("A"), repeat=True)
    query = make()
    query.execute("1", {"question": "?", "library_ids": ["x", "y"], "model": "m"})
    query.execute("2", {"question": "?", "library_ids": None, "model": None})
    query.run("?", library_ids=["z"])
    bodies = [request.body for request in mistral_server.requests]
    assert [(body["model"], body["tools"][0]["library_ids"]) for body in bodies] == [
        ("m", ["x", "y"]), (MODEL, [LIBRARY]), (MODEL, ["z"]),
    ]  # fmt: skip


def test_lone_surrogates_in_a_question_are_replaced(make: Make, mistral_server: MistralServer) -> None:
    mistral_server.enqueue(Reply.whole("A"))
    make().run("half \ud83d")
    assert mistral_server.requests[0].body["messages"][0]["content"] == "half \ufffd"


def test_wrong_defaults_are_found_at_once(make: Make, mistral_server: MistralServer) -> None:
    for wrong in ({"library_ids": "lib"}, {"library_ids": [3]}, {"model": " "}, {"preview_interval": -1}):
        with pytest.raises(nodrop.ConfigurationError):
            make(**wrong)


def test_what_is_not_given_comes_from_the_settings_files(
    make: Make,
    mistral_server: MistralServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NODROP_CONFIG", str(tmp_path / "config.toml"))
    (tmp_path / "config.toml").write_text(
        'modle = 1\nmodel = "m-user"\nlibrary_ids = ["from-user"]\n[rag]\nstreaming = false\n'
    )
    query = make(library_ids=None, model=None, streaming=None)
    mistral_server.enqueue(Reply.whole("A"))
    assert query.streaming is False
    assert "line 1: modle is no setting of nodrop; did you mean model?" in caplog.text
    query.run("?")
    [request] = mistral_server.requests
    assert (request.body["model"], request.body["stream"]) == ("m-user", False)
    assert request.body["tools"][0]["library_ids"] == ["from-user"]


def test_when_all_is_given_no_file_is_read(
    make: Make, mistral_server: MistralServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NODROP_CONFIG", "/no/such/file.toml")
    assert make().streaming is False
    with pytest.raises(nodrop.ConfigurationError, match=r"no/such/file\.toml"):
        make(streaming=None)
