"""The generated models, as the core uses them: strict, from bytes, nothing lost and nothing made up."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel, TypeAdapter

import nodrop.wire as wire
from codegen.catalogue import build
from codegen.document import read, target
from codegen.spec import response_side, schemas
from nodrop.wire import catalogue

ROOT = Path(__file__).parents[2]
DOCUMENT = read(ROOT / "openapi/mistral.yaml")
CAPTURES = ROOT.parent / "shared/captures"
CHUNKS = TypeAdapter(wire.CompletionChunk)
WHOLE = TypeAdapter(wire.ChatCompletionResponse)
ERRORS = TypeAdapter(wire.ErrorResponse)

ARRIVING = sorted(name for name in response_side(DOCUMENT) if "properties" in schemas(DOCUMENT)[name])
SENT_ONLY = sorted(
    name for name in schemas(DOCUMENT) if "properties" in schemas(DOCUMENT)[name] and name not in ARRIVING
)


def example(schema: Any, seen: tuple[str, ...] = ()) -> Any:
    """The smallest JSON value that a schema takes."""
    name = target(schema)
    if name is not None:
        return example(schemas(DOCUMENT)[name], (*seen, name))
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][-1]
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return example(schema[union][0], seen)
    match schema.get("type"):
        case "object":
            required = schema.get("required", [])
            return {key: example(value, seen) for key, value in schema.get("properties", {}).items() if key in required}
        case "array":
            return [example(schema["items"], seen)] * schema.get("minItems", 0)
        case "string":
            return "x"
        case "integer" | "number":
            return 1
        case "boolean":
            return True
        case None:
            return {"any": "thing"}
        case other:
            raise AssertionError(other)


@pytest.mark.parametrize("name", ARRIVING)
def test_an_unknown_field_survives_on_every_class_that_can_arrive(name: str) -> None:
    model: type[BaseModel] = getattr(wire, name)
    body = {**example(schemas(DOCUMENT)[name]), "brand_new": {"deep": [1, None, "x"]}}
    read_back = TypeAdapter(model).validate_json(json.dumps(body), strict=True)
    assert read_back.model_extra == {"brand_new": {"deep": [1, None, "x"]}}
    assert json.loads(read_back.model_dump_json())["brand_new"] == {"deep": [1, None, "x"]}


@pytest.mark.parametrize("name", SENT_ONLY)
def test_an_unknown_field_is_refused_on_every_class_that_is_only_sent(name: str) -> None:
    model: type[BaseModel] = getattr(wire, name)
    body = example(schemas(DOCUMENT)[name])
    model.model_validate(body)
    with pytest.raises(ValueError, match="extra_forbidden"):
        model.model_validate({**body, "brand_new": 1})


@pytest.mark.parametrize("name", ARRIVING)
def test_what_is_absent_stays_absent(name: str) -> None:
    schema = schemas(DOCUMENT)[name]
    body = dict(example(schema))
    found = TypeAdapter(getattr(wire, name)).validate_json(json.dumps(body), strict=True)
    for key in schema["properties"]:
        if key not in body:
            assert getattr(found, key) is None
            assert key not in found.model_fields_set
    assert json.loads(found.model_dump_json()) == body


def test_an_absent_index_or_id_of_a_call_stays_absent() -> None:
    call = TypeAdapter(wire.ToolCall).validate_json('{"function": {"arguments": "{}"}}', strict=True)
    assert (call.id, call.index, call.type, call.function.name) == (None, None, None, None)
    assert call.model_fields_set == {"function"}


@pytest.mark.parametrize(
    "chunk",
    [
        '{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","p":"abc","choices":[{"index":0,"delta":'
        '{"role":"assistant","content":""},"finish_reason":null}]}',
        '{"id":"","model":"m","choices":[{"index":0,"p":"x","delta":{"content":[{"type":"thinking","thinking":['
        '{"type":"text","text":"hm"},{"type":"reference","reference_ids":[0,"a"]},{"type":"tool_reference",'
        '"tool":"web_search","title":"t"}],"closed":true,"signature":"s"},{"type":"text","text":"so"}]},'
        '"finish_reason":""}]}',
        '{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":null,"tool_calls":[{"id":null,"type":null,'
        '"function":{"name":null,"arguments":{"a":1}}}]},"finish_reason":"model_length"}]}',
        '{"id":"c","model":"m","usage":null}',
        '{"id":"c","model":"m","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":0,"total_tokens":3,'
        '"num_cached_tokens":1,"prompt_tokens_details":{"cached_tokens":1,"audio_tokens":null,"messages":[]},'
        '"prompt_token_details":null,"completion_tokens_details":{"reasoning_tokens":2},"request_count":null,'
        '"prompt_audio_seconds":{},"service_tier":"standard"}}',
    ],
)
def test_realistic_chunks_are_read_strictly_and_written_back_as_they_came(chunk: str) -> None:
    assert json.loads(CHUNKS.validate_json(chunk, strict=True).model_dump_json()) == json.loads(chunk)


@pytest.mark.parametrize(
    ("choice", "fault"),
    [
        ('"index":0,"delta":{"content":[{"type":"video_url"}]},"finish_reason":null', "union_tag_invalid"),
        ('"index":0,"delta":{"content":[{"text":"x"}]},"finish_reason":null', "union_tag_not_found"),
        ('"index":0,"delta":{},"finish_reason":"new_one"', "literal_error"),
        ('"index":"0","delta":{},"finish_reason":null', "int_type"),
    ],
)
def test_what_is_unknown_or_of_another_type_is_refused(choice: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        CHUNKS.validate_json(f'{{"id":"c","model":"m","choices":[{{{choice}}}]}}', strict=True)


def test_a_request_says_what_was_set_and_nothing_else() -> None:
    request = wire.ChatCompletionRequest(
        model="m",
        messages=[
            wire.UserMessage(content=[wire.TextChunk(text="hi")]),
            wire.AssistantMessage(tool_calls=[wire.ToolCall(function=wire.FunctionCall(name="f", arguments="{}"))]),
            wire.ToolMessage(content=None, tool_call_id="abcdefghi"),
        ],
        tools=[wire.Tool(function=wire.Function(name="f", parameters={}))],
        response_format=wire.ResponseFormat(
            type="json_schema", json_schema=wire.JsonSchema(name="n", schema_={"type": "object"})
        ),
        temperature=None,
    )
    assert json.loads(request.model_dump_json()) == {
        "model": "m",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]},
            {"role": "tool", "content": None, "tool_call_id": "abcdefghi"},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}},
        "temperature": None,
    }


def test_the_generated_catalogue_and_aliases_say_what_the_document_says() -> None:
    built = build(DOCUMENT)
    assert DOCUMENT["info"]["version"] == catalogue.SPEC_VERSION
    assert {union.name: union.members for union in catalogue.UNIONS} == {
        union.name: {member.tag: member.schema for member in union.members} for union in built.unions.values()
    }
    assert [f"{field.owner}.{field.name}" for field in catalogue.FIELDS] == list(built.fields)
    assert set(get_args(wire.ContentType)) == set(built.unions["ContentChunk"].tags())
    assert set(get_args(wire.ThinkingPartType)) == set(built.unions["ThinkingPart"].tags())
    assert set(get_args(wire.FinishReasonValue)) == {"", "error", "length", "model_length", "stop", "tool_calls"}
    places = built.unions["ContentChunk"].arrives
    assert places == ("choices[].delta.content[]", "choices[].message.content[]", "choices[].messages[].content[]")
    assert "choices[].delta.content[].thinking[]" in built.unions["ThinkingPart"].arrives
    assert built.enums["StreamFinishReason"].arrives == ("choices[].finish_reason",)


def test_recorded_bodies_are_read_strictly() -> None:
    if not CAPTURES.is_dir():
        pytest.skip("no recordings beside the checkout")
    counts = {"chunks": 0, "whole answers": 0, "errors": 0}
    for path in sorted(CAPTURES.rglob("*.sse")):
        for line in path.read_bytes().split(b"\n"):
            data = line.removeprefix(b"data:").strip()
            if line.startswith(b"data:") and data not in (b"", b"[DONE]"):
                CHUNKS.validate_json(data, strict=True)
                counts["chunks"] += 1
    for path in sorted(CAPTURES.rglob("*.json")):
        if not path.name.endswith(".meta.json"):
            status = json.loads(path.with_name(path.stem + ".meta.json").read_bytes())["status"]
            (WHOLE if status == 200 else ERRORS).validate_json(path.read_bytes(), strict=True)
            counts["whole answers" if status == 200 else "errors"] += 1
    print(counts)
    assert all(counts.values())
