"""The options of a request: complete, checked, sent only when set."""

from __future__ import annotations

import enum
import pickle
from typing import Any, get_type_hints

import pytest
from pydantic import BaseModel

from nodrop.client.options import ClientSettings
from nodrop.content import Tool
from nodrop.errors import ConfigurationError
from nodrop.options import OF_THE_CLIENT, OURS, RequestOptions
from nodrop.rate_card import RateCard
from nodrop.request import as_context, build_request
from nodrop.wire import ChatCompletionRequest, GuardrailConfig, Prediction, ResponseFormat
from tests.request.support import MODEL, build

OF_THE_CALL = {"model", "messages", "stream", "stream_options", "tools"}


def options(values: Any) -> RequestOptions:
    """Options that a type checker would refuse, as a caller without one may give them."""
    given: RequestOptions = values
    return given


def test_every_field_of_the_wires_request_is_an_option() -> None:
    wire = set(ChatCompletionRequest.model_fields) - OF_THE_CALL
    ours = set(get_type_hints(RequestOptions)) - OURS
    assert ours - wire == set(), "options that the API no longer has: take them out of RequestOptions"
    assert wire - ours == set(), "fields of the request that are no option: add them to RequestOptions"


class Answer(BaseModel):
    total: int


ANSWER_FORMAT = {
    "type": "json_schema",
    "json_schema": {
        "name": "Answer",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"total": {"type": "integer"}},
            "required": ["total"],
            "additionalProperties": False,
        },
    },
}


READ = {"type": "function", "function": {"name": "read"}}


class Effort(enum.StrEnum):
    HIGH = "high"


@pytest.mark.parametrize(
    ("name", "value", "wire"),
    [
        ("temperature", 0, 0.0),
        ("temperature", 1.5, 1.5),
        ("top_p", 1, 1.0),
        ("max_tokens", 0, 0),
        ("min_tokens", 1, 1),
        ("stop", "END", "END"),
        ("stop", ["a", "b\ud800"], ["a", "b\ufffd"]),
        ("stop", ("a", "b"), ["a", "b"]),
        ("random_seed", 7, 7),
        ("presence_penalty", -2, -2.0),
        ("frequency_penalty", 2.0, 2.0),
        ("repetition_penalty", 1.1, 1.1),
        ("top_k", 40, 40),
        ("logprobs", True, True),
        ("top_logprobs", 2, 2),
        ("prompt_logprobs", False, False),
        ("top_prompt_logprobs", 1, 1),
        ("n", 1, 1),
        ("metadata", {"run": "a", "nested": {"none": None}}, {"run": "a", "nested": {"none": None}}),
        ("response_format", Answer, ANSWER_FORMAT),
        ("response_format", {"type": "json_object"}, {"type": "json_object"}),
        ("response_format", ResponseFormat(type="json_object"), {"type": "json_object"}),
        ("response_format", ANSWER_FORMAT, ANSWER_FORMAT),
        ("tool_choice", "auto", "auto"),
        ("tool_choice", "required", "required"),
        ("tool_choice", "read", READ),
        (
            "tool_choice",
            {"type": "function", "function": {"name": "x"}},
            {"type": "function", "function": {"name": "x"}},
        ),
        ("parallel_tool_calls", False, False),
        ("prediction", {"type": "content", "content": "4"}, {"type": "content", "content": "4"}),
        ("prediction", Prediction(content="4"), {"type": "content", "content": "4"}),
        ("reasoning_effort", "high", "high"),
        ("reasoning_effort", Effort.HIGH, "high"),
        ("prompt_mode", "reasoning", "reasoning"),
        ("guardrails", [{"block_on_error": True}], [{"block_on_error": True}]),
        ("guardrails", [GuardrailConfig(block_on_error=True)], [{"block_on_error": True}]),
        ("safe_prompt", True, True),
        ("prompt_cache_key", "key", "key"),
        ("service_tier", "auto", "auto"),
    ],
)
def test_an_option_is_sent_as_given_and_nothing_else_is(name: str, value: Any, wire: Any) -> None:
    context = as_context("hi", tools=[Tool(name="read")])
    body = build(context, options({name: value})).body
    assert body[name] == wire
    assert type(body[name]) is type(wire)
    assert body.keys() == {"model", "messages", "tools", name}


def test_every_option_of_the_wire_has_a_row_above() -> None:
    [mark] = [
        mark
        for mark in vars(test_an_option_is_sent_as_given_and_nothing_else_is)["pytestmark"]
        if mark.name == "parametrize"
    ]
    assert {row[0] for row in mark.args[1]} == set(ChatCompletionRequest.model_fields) - OF_THE_CALL


def test_none_is_not_set() -> None:
    given = options(dict.fromkeys(RequestOptions.__annotations__))
    assert build("hi", given).body.keys() == {"model", "messages"}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"temprature": 1}, "unknown option 'temprature'; did you mean 'temperature'"),
        ({"max_completion_tokens": 1}, "did you mean 'max_tokens'"),
        ({"seed": 1}, "did you mean 'random_seed'"),
        ({"xyzzy": 1}, "unknown option 'xyzzy'; what the API has"),
        ({"SECRET SECRET": 1}, "unknown option a string of 13 characters"),
        ({"temperature": 1.6}, "option temperature: .*less than or equal to 1.5"),
        ({"temperature": "SECRET"}, "option temperature: .*valid number"),
        ({"temperature": float("nan")}, "option temperature: nan is no JSON number"),
        ({"top_p": 0}, "option top_p: .*greater than 0"),
        ({"max_tokens": -1}, "option max_tokens"),
        ({"max_tokens": 1.5}, "option max_tokens: .*integer"),
        ({"max_tokens": True}, "option max_tokens: .*integer"),
        ({"stop": [1]}, "option stop"),
        ({"stop": b"SECRET"}, "option stop: a Python bytes is no JSON"),
        ({"reasoning_effort": "SECRET"}, "option reasoning_effort: .*'high'"),
        ({"metadata": {"at": object()}}, r"option metadata.at: a Python object is no JSON"),
        ({"metadata": {1: 2}}, "option metadata: the key of an object must be a string, not a Python int"),
        ({"metadata": "SECRET"}, "option metadata"),
        ({"guardrails": [{"block_on_error": "SECRET"}]}, "option guardrails.0.block_on_error"),
        ({"tool_choice": "SECRET"}, "option tool_choice: .* nor the name of a tool"),
        ({"tool_choice": {"function": 1}}, "option tool_choice"),
        ({"response_format": {"type": "SECRET"}}, "option response_format.type"),
        ({"response_format": "json_object"}, "option response_format: str has no JSON Schema"),
        ({"server_tools": [{"type": "SECRET"}]}, "option server_tools.0: its type must be one of 'connector'"),
        (
            {"server_tools": [{"type": "document_library", "library_ids": []}]},
            "option server_tools.0.document_library.lib",
        ),
        ({"server_tools": "SECRET"}, "option server_tools: it must be a list, not a Python str"),
        ({"replay_thinking": "SECRET"}, "option replay_thinking: it must be True or False, not a Python str"),
        ({"extra_body": "SECRET"}, "option extra_body: it must be a dict, not a Python str"),
        ({"extra_body": {"at": object()}}, "option extra_body.at"),
        ({"extra_body": {"model": "SECRET"}}, "option extra_body: 'model'"),
        ({"extra_body": {"messages": []}}, "option extra_body: 'messages'"),
        ({"extra_body": {"stream": False}}, "option extra_body: 'stream'"),
        ({"n": 2}, "option n: only 1 candidate"),
        ({"n": 0}, "option n"),
        ({"extra_body": {"n": 2}}, "option extra_body.n: only 1 candidate"),
        ({"extra_body": {"n": "2"}}, "option extra_body.n: only 1 candidate"),
    ],
)
def test_a_wrong_option_is_named_without_its_value(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigurationError, match=why) as caught:
        build("hi", options(given))
    error = caught.value
    assert "SECRET" not in f"{error} {error!r} {error.args}"
    assert error.__cause__ is None
    assert error.__context__ is None
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_value_that_contains_itself_is_refused() -> None:
    endless: dict[str, Any] = {}
    endless["again"] = endless
    with pytest.raises(ConfigurationError, match="levels deep"):
        build("hi", {"metadata": endless})


def test_server_tools_come_after_the_tools_of_the_context() -> None:
    library = {"type": "document_library", "library_ids": ["a"]}
    tools = build(as_context("hi", tools=[Tool(name="read")]), {"server_tools": [library]}).body["tools"]
    assert [tool["type"] for tool in tools] == ["function", "document_library"]
    assert tools[1] == library
    assert build("hi", {"server_tools": [library]}).body["tools"] == [library]


def test_extra_body_is_sent_as_it_is_and_wins() -> None:
    more = {"new_thing": {"a": None}, "temperature": None, "top_p": 9, "metadata": {"b": 1}, "n": None}
    body = build("hi", {"temperature": 0.5, "metadata": {"a": 1}, "extra_body": more}).body
    assert {key: body[key] for key in more} == more
    assert body["model"] == MODEL


def test_the_options_of_the_client_are_those_of_the_client() -> None:
    assert ClientSettings.__annotations__.keys() | {"http_client"} == OF_THE_CLIENT


@pytest.mark.parametrize("name", sorted(OF_THE_CLIENT))
def test_an_option_of_the_client_is_no_option_of_a_call(name: str) -> None:
    given: Any = {name: "SECRET"}
    with pytest.raises(ConfigurationError, match=f"^{name} is an option of the client: ") as caught:
        build_request(MODEL, as_context("q"), given, rates=RateCard.default())
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("timeout", "with_options\\(timeouts="),
        ("system", "system_prompt"),
        ("stream", "client.stream"),
        ("abort", "signal"),
    ],
)
def test_options_in_other_words(name: str, words: str) -> None:
    given: Any = {name: 5}
    with pytest.raises(ConfigurationError, match=words):
        build_request(MODEL, as_context("q"), given, rates=RateCard.default())


@pytest.mark.parametrize("value", ["no", 0, 1, "yes"])
def test_takes_images_is_a_bool(value: Any) -> None:
    with pytest.raises(ConfigurationError, match="takes_images: it must be True or False"):
        build_request(MODEL, as_context("q"), {}, rates=RateCard.default(), takes_images=value)
