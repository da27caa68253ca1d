"""Every oddity of the real documents (and a few that may come) has one normal form, or a named refusal."""

import contextlib
import random
from typing import Any

import pytest

from codegen import spec
from codegen.catalogue import build
from codegen.document import dump, escape, lines, parse, parts, read, resolve
from codegen.errors import CannotRunError
from tests.codegen.support import ROOT

Schema = dict[str, Any]


def cut(answer: Schema, schemas: Schema | None = None, request: Schema | None = None) -> Schema:
    """The normal form of a document whose answer (and request) hold the given schemas."""
    ask = {"type": "object", "properties": {"q": {"type": "string"}}}
    post = {
        "requestBody": {"content": {"application/json": {"schema": request or {"$ref": "#/components/schemas/Ask"}}}},
        "responses": {"200": {"content": {"application/json": {"schema": answer}}}},
    }
    document: Schema = {
        "openapi": "3.1.0",
        "paths": {"/v1/chat/completions": {"post": post}},
        "components": {"schemas": {"Ask": ask, **(schemas or {})}},
    }
    return spec.cut(document, "test.yaml", "1")


def named(properties: Schema, schemas: Schema | None = None, **keys: Any) -> Schema:
    """The normal form of an object `Answer` that can arrive."""
    answer = {"type": "object", "properties": properties, **keys}
    return spec.schemas(cut({"$ref": "#/components/schemas/Answer"}, {"Answer": answer, **(schemas or {})}))


def prop(schema: Any, schemas: Schema | None = None, **keys: Any) -> Any:
    return named({"x": schema}, schemas, **keys)["Answer"]["properties"]["x"]


def chunk(tag: Any) -> Schema:
    return {"type": "object", "properties": {"type": tag, "text": {"type": "string"}}}


NULL = {"type": "null"}


@pytest.mark.parametrize(
    ("upstream", "normal"),
    [
        ({"type": "string", "nullable": True}, {"anyOf": [{"type": "string"}, NULL]}),
        ({"type": ["string", "null"]}, {"anyOf": [{"type": "string"}, NULL]}),
        ({"anyOf": [NULL, {"type": "string"}]}, {"anyOf": [{"type": "string"}, NULL]}),
        ({"type": ["string", "integer"]}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        ({"type": "str"}, {"type": "string"}),
        ({"type": "bool"}, {"type": "boolean"}),
        ({"type": "int"}, {"type": "integer"}),
        ({"type": "string", "format": "uuid", "title": "T", "description": "d", "examples": [1]}, {"type": "string"}),
        ({"type": "string", "default": "null"}, {"type": "string"}),
        ({"type": "integer", "minimum": 0, "default": 0}, {"type": "integer"}),
        ({"type": "string", "x-anything": {"y": 1}, "deprecated": True}, {"type": "string"}),
        ({}, {}),
        (True, {}),
        ({"type": "object"}, {"type": "object", "additionalProperties": True}),
        ({"type": "object", "additionalProperties": False}, {"type": "object", "additionalProperties": True}),
        ({"type": "array", "$ref": "#/components/schemas/Named"}, {"type": "array", "items": {"type": "string"}}),
        ({"type": "array", "items": [{"type": "string"}, {"type": "integer"}]},
         {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}),
        ({"$ref": "#/components/schemas/Named", "default": {"a": 1}, "description": "d"}, {"type": "string"}),
        ({"allOf": [{"$ref": "#/components/schemas/Named"}]}, {"type": "string"}),
        ({"anyOf": [{"anyOf": [{"type": "integer"}, NULL]}, {"type": "string"}]},
         {"anyOf": [{"type": "string"}, {"type": "integer"}, NULL]}),
        ({"const": "a"}, {"type": "string", "const": "a"}),
        ({"oneOf": [{"type": "string"}, {"type": "string", "format": "binary"}]}, {"type": "string"}),
    ],
)  # fmt: skip
def test_one_spelling_for_each_form(upstream: Any, normal: Any) -> None:
    assert prop(upstream, {"Named": {"type": "string", "title": "Named"}}) == normal


@pytest.mark.parametrize(
    "tag",
    [
        {"const": "text"},
        {"type": "string", "const": "text", "default": "text"},
        {"type": "string", "enum": ["text"], "default": "text"},
        {"type": "string", "enum": ["text"], "const": "text"},
        {"enum": ["text"]},
        {"$ref": "#/components/schemas/Kinds", "default": "text"},
        {"allOf": [{"$ref": "#/components/schemas/Kinds"}], "default": "text"},
    ],
)
def test_seven_spellings_of_a_tag(tag: Schema) -> None:
    union = {
        "oneOf": [{"$ref": "#/components/schemas/Text"}, {"$ref": "#/components/schemas/Other"}],
        "discriminator": {"propertyName": "type"},
    }
    kinds = {"type": "string", "enum": ["text"], "title": "Kinds"}
    found = named(
        {"x": {"$ref": "#/components/schemas/Chunk"}},
        {"Chunk": union, "Text": chunk(tag), "Other": chunk({"const": "other"}), "Kinds": kinds},
    )
    assert found["Text"]["properties"]["type"] == {"type": "string", "const": "text"}
    assert found["Text"]["required"] == ["type"]
    mapping = {"other": "#/components/schemas/Other", "text": "#/components/schemas/Text"}
    assert found["Chunk"]["discriminator"] == {"propertyName": "type", "mapping": mapping}


def test_inline_unions_and_enums_get_the_name_of_their_place() -> None:
    schemas = {"Text": chunk({"const": "text"}), "Other": chunk({"const": "other"})}
    members = [{"$ref": "#/components/schemas/Text"}, {"$ref": "#/components/schemas/Other"}]
    inside_null = {"anyOf": [{"oneOf": members, "discriminator": {"propertyName": "type"}}, NULL]}
    assert prop(inside_null, schemas) == {"anyOf": [{"$ref": "#/components/schemas/AnswerX"}, NULL]}
    found = named({"x": {"type": "array", "items": {"anyOf": members}}}, schemas)
    assert found["AnswerX"] == {
        "anyOf": [{"$ref": "#/components/schemas/Other"}, {"$ref": "#/components/schemas/Text"}]
    }
    assert named({"x": {"type": ["string", "null"], "enum": ["b", "a", None]}})["AnswerX"] == {
        "type": "string",
        "enum": ["a", "b"],
    }
    assert prop({"type": "object", "properties": {"y": {"type": "string"}}}) == {"$ref": "#/components/schemas/AnswerX"}


def test_required_says_what_is_there_and_has_no_default() -> None:
    properties = {
        "a": {"type": "string", "required": True},
        "b": {"type": "integer", "default": 0},
        "c": {"type": "string"},
    }
    answer = named(properties, required=["b", "c", "c", "data"], additionalProperties=False)["Answer"]
    assert answer["required"] == ["a", "c"]
    assert "additionalProperties" not in answer
    assert named({"c": {"type": "string", "required": False}}, required=["c"])["Answer"].get("required") is None


def test_an_all_of_chain_is_one_object() -> None:
    number = {"type": "object", "properties": {"n": {"type": "integer"}}}
    last = {"properties": {"x": {"type": "string"}}, "required": ["x", "id"]}
    schemas = {
        "Base": {"type": "object", "properties": {"id": {"type": "string"}}},
        "Middle": {"allOf": [{"$ref": "#/components/schemas/Base"}, number]},
        "Answer": {"allOf": [{"$ref": "#/components/schemas/Middle"}, last]},
    }
    found = spec.schemas(cut({"$ref": "#/components/schemas/Answer"}, schemas))
    assert found["Answer"]["required"] == ["id", "x"]
    assert sorted(found["Answer"]["properties"]) == ["id", "n", "x"]
    assert set(found) == {"Answer", "Ask"}


def test_definitions_without_a_home_are_found() -> None:
    body = {"type": "object", "properties": {"x": {"$ref": "#/$defs/Inner"}}, "$defs": {"Inner": {"type": "string"}}}
    assert spec.schemas(cut(body))["ChatCompletionResponse"]["properties"]["x"] == {"type": "string"}
    body = {"type": "object", "properties": {"x": {"$ref": "#/$defs/Named"}}}
    found = spec.schemas(cut(body, {"Named": {"type": "integer"}}))
    assert found["ChatCompletionResponse"]["properties"]["x"] == {"type": "integer"}


def test_limits_and_defaults_stay_on_the_request_alone() -> None:
    limited = {"type": "object", "properties": {"t": {"type": "number", "maximum": 1, "default": 0.5}}}
    found = spec.schemas(cut({"$ref": "#/components/schemas/Seen"}, {"Seen": limited, "Ask": limited}))
    assert found["Ask"]["properties"]["t"] == {"type": "number", "maximum": 1, "default": 0.5}
    assert found["Seen"]["properties"]["t"] == {"type": "number"}


def test_a_property_or_tag_that_is_called_like_a_keyword_stays() -> None:
    words = ("default", "mapping", "pattern", "properties", "required", "items", "title", "type")
    found = named({word: {"type": "string"} for word in words})
    assert sorted(found["Answer"]["properties"]) == sorted(words)


def test_the_oldest_shape_a_request_in_alternatives() -> None:
    one, two = chunk({"const": "one"}), chunk({"const": "two"})
    request = {"anyOf": [{"$ref": "#/components/schemas/One"}, {"$ref": "#/components/schemas/Two"}]}
    found = cut({"type": "object", "properties": {"x": {"type": "string"}}}, {"One": one, "Two": two}, request)
    assert set(spec.schemas(found)) == {"ChatCompletionResponse", "One", "Two"}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string", "if": {}}, "Answer.x: the keyword 'if' is not understood"),
        ({"type": "text"}, "Answer.x: the type 'text' is not understood"),
        ({"$ref": "#/components/schemas/Nowhere"}, "'#/components/schemas/Nowhere' leads nowhere"),
        ({"$ref": "other.yaml#/X"}, "'other.yaml#/X' leads nowhere"),
        ({"$ref": "#/components/schemas/Loop"}, "refers to itself"),
        ({"enum": ["a", 1]}, "an enum of integer and string"),
        ({"const": 1.5}, "a constant of type float"),
        (False, "False is no schema"),
    ],
)
def test_what_is_not_understood_is_named(schema: Any, words: str) -> None:
    with pytest.raises(CannotRunError, match=r"test\.yaml") as caught:
        prop(schema, {"Loop": {"$ref": "#/components/schemas/Loop"}})
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_mapping_that_contradicts_a_tag_is_named() -> None:
    union = {
        "oneOf": [{"$ref": "#/components/schemas/Text"}, {"$ref": "#/components/schemas/Other"}],
        "discriminator": {"propertyName": "type", "mapping": {"words": "#/components/schemas/Text"}},
    }
    schemas = {"Text": chunk({"const": "text"}), "Other": chunk({"const": "other"}), "Chunk": union}
    with pytest.raises(CannotRunError, match="the mapping calls Text 'words', its own tag is 'text'"):
        named({"x": {"$ref": "#/components/schemas/Chunk"}}, schemas)


def test_a_member_that_no_tag_leads_to_takes_the_discriminator_away() -> None:
    union = {
        "oneOf": [{"$ref": "#/components/schemas/Text"}, {"$ref": "#/components/schemas/Plain"}],
        "discriminator": {"propertyName": "type"},
    }
    plain = {"type": "object", "properties": {"y": {"type": "string"}}}
    found = named(
        {"x": {"$ref": "#/components/schemas/Chunk"}},
        {"Text": chunk({"const": "text"}), "Plain": plain, "Chunk": union},
    )
    assert set(found["Chunk"]) == {"anyOf"}


def test_yaml_is_read_by_version_1_2() -> None:
    text = b"openapi: 3.0.0\na: 1e-08\nb: on\nc: 2024-01-18\nd: 0777\ne: 1e+09\nf: null\n200: ~\nh: .5\ni: 1_000\n"
    found = parse(text, "x")
    assert found == {
        "openapi": "3.0.0", "a": 1e-08, "b": "on", "c": "2024-01-18", "d": 777, "e": 1e9, "f": None, "200": None,
        "h": 0.5, "i": "1_000",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"openapi: [", "x:2: not YAML"),
        (b"openapi: 3.1.0\na: 1\na: 2\n", "x:3: not YAML: the key 'a' twice"),
        (b'{"openapi": ', "x:1: not JSON"),
        (b"\xff\xfe", "x: not UTF-8 at byte 0"),
        (b"just words", "x: no `openapi:` at the top"),
        (b"- a\n- b\n", "x: no `openapi:` at the top"),
        (b"", "x: no `openapi:` at the top"),
        (b"openapi: 3.1.0\n? [a]\n: 1\n", "a key that is not a scalar"),
    ],
)
def test_what_is_no_document_is_refused_in_one_line(data: bytes, words: str) -> None:
    with pytest.raises(CannotRunError) as caught:
        parse(data, "x")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_document_without_the_operation_is_refused() -> None:
    with pytest.raises(CannotRunError, match="x: no chat-completions operation"):
        spec.cut({"openapi": "3.1.0", "paths": {"/v1/models": {"get": {}}}}, "x", "1")


@pytest.mark.parametrize("seed", range(60))
def test_a_document_with_anything_anywhere_is_read_or_refused(seed: int) -> None:
    chance = random.Random(seed)
    document = read(ROOT / "openapi/upstream.yaml")
    places = [pointer for pointer in lines((ROOT / "openapi/upstream.yaml").read_text()) if pointer]
    *above, last = parts(chance.choice(places))
    holder = resolve(document, "".join(f"/{escape(part)}" for part in above))
    junk: Any = chance.choice(
        [None, 7, "x", True, [], {}, [None], {"$ref": 7}, {"a": {"$ref": "#/a"}}, {"type": {}}, [[]]]
    )
    holder[int(last) if isinstance(holder, list) else last] = junk
    with contextlib.suppress(CannotRunError):  # anything else is a bug
        build(spec.cut(document, "x", "1"))


def test_the_operation_is_found_by_its_id_as_well() -> None:
    document = parse(dump(cut({"type": "object", "properties": {"x": {"type": "string"}}})).encode(), "x")
    document["paths"] = {"/v2/talk": document["paths"]["/v1/chat/completions"]}
    assert spec.cut(document, "x", "1")["paths"].keys() == {"/v1/chat/completions"}


def test_the_normal_form_is_a_fixed_point() -> None:
    once = cut({"type": "object", "properties": {"x": {"type": "string"}, "y": {"enum": ["a", "b"]}}})
    assert dump(spec.cut(parse(dump(once).encode(), "x"), "x", "1")) == dump(once)
