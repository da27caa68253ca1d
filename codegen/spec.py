"""From any upstream document to the closure of the chat-completions operation, cut, stripped and normalised.

What comes out has one spelling for each fact, so that a diff of two revisions shows wire changes and nothing else:

- every union of objects and every enum is a named schema; a nullable thing is `anyOf: [T, {type: 'null'}]`;
- a tag is `type: string, const: X`, required, without a default (upstream spells it in seven ways);
- on the response path there are no defaults (what is absent is absent) and no limits (a limit is no reason to refuse
  an answer); prose, examples, titles and formats are gone everywhere, and so is `additionalProperties: false`;
- names, required lists, enum values and union members are sorted.

A keyword that this module does not know is an error that names it: a fact is understood or refused, never skipped.
"""

from typing import Any, Final, cast

from codegen.document import SCHEMAS, Json, Schema, reference, target
from codegen.errors import CannotRun
from codegen.normalise import Normaliser

_PATHS: Final = ("/v1/chat/completions", "/chat/completions")
_OPERATION_IDS: Final = ("chat_completion_v1_chat_completions_post", "createChatCompletion")


def find_operation(document: Schema, name: str) -> Schema:
    """The chat-completions operation, by path, else by operation id. Raises CannotRun when the document has none."""
    paths = cast("dict[str, Any]", document.get("paths") or {})
    for path in _PATHS:
        operation = paths.get(path, {}).get("post")
        if isinstance(operation, dict):
            return cast("Schema", operation)
    for item in paths.values():
        operation = item.get("post") if isinstance(item, dict) else None
        if isinstance(operation, dict) and cast("Schema", operation).get("operationId") in _OPERATION_IDS:
            return cast("Schema", operation)
    raise CannotRun(
        f"{name}: no chat-completions operation: looked for POST {' or '.join(_PATHS)}, and for the operation ids "
        f"{', '.join(_OPERATION_IDS)}: give Mistral's own OpenAPI document"
    )


def cut(document: Schema, name: str, version: str) -> Schema:
    """The normalised closure of the chat-completions operation. `name` is what errors call the document.

    Raises CannotRun when the operation, or something that it refers to, is missing or not understood.
    """
    operation = find_operation(document, name)
    normaliser = Normaliser(document, name)
    request = normaliser.root(_media(operation.get("requestBody"), "application/json"), "ChatCompletionRequest")
    if len(request) != 1:
        raise CannotRun(f"{name}: the operation's requestBody has no JSON schema: give Mistral's own OpenAPI document")
    responses: Schema = {}
    for status, response in sorted(cast("Schema", operation.get("responses") or {}).items()):
        content: Schema = {}
        for media, root in (("application/json", "ChatCompletionResponse"), ("text/event-stream", "CompletionEvent")):
            alternatives = normaliser.root(_media(normaliser.local(response), media), root if status == "200" else f"Error{status}")
            if alternatives:
                content[media] = {"schema": alternatives[0] if len(alternatives) == 1 else {"anyOf": alternatives}}
        if content:
            responses[str(status)] = {"description": "", "content": content}
    if "200" not in responses:
        raise CannotRun(f"{name}: the operation declares no answer with status 200: give Mistral's own OpenAPI document")
    result: Schema = {
        "openapi": "3.1.0",
        "info": {"title": "chat completions", "version": version},
        "paths": {
            _PATHS[0]: {
                "post": {
                    "operationId": _OPERATION_IDS[0],
                    "requestBody": {"required": True, "content": {"application/json": {"schema": request[0]}}},
                    "responses": responses,
                }
            }
        },
        "components": {"schemas": normaliser.finish()},
    }
    return tidy(result)


def _media(body: Json, media: str) -> Json:
    if not isinstance(body, dict):
        return None
    return cast("Schema", body).get("content", {}).get(media, {}).get("schema")


def schemas(document: Schema) -> dict[str, Schema]:
    """The named schemas of a normalised document."""
    return cast("dict[str, Schema]", document["components"]["schemas"])


def operation(document: Schema) -> Schema:
    """The one operation of a normalised document."""
    return cast("Schema", document["paths"][_PATHS[0]]["post"])


def references(schema: Json) -> list[str]:
    """The names of the schemas that `schema` refers to directly, in order."""
    if isinstance(schema, dict):
        name = target(schema)
        found = [name] if name is not None else []
        for key, value in cast("Schema", schema).items():
            if key != "mapping":  # a discriminator's mapping repeats the members
                found += references(value)
        return found
    if isinstance(schema, list):
        return [name for item in cast("list[Json]", schema) for name in references(item)]
    return []


def reach(document: Schema, start: Json) -> set[str]:
    """The names of all schemas reached from `start`."""
    named = schemas(document)
    found: set[str] = set()
    todo = references(start)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += references(named[name])
    return found


def response_side(document: Schema) -> set[str]:
    """The schemas that can arrive; all others are reached from the request only."""
    return reach(document, operation(document)["responses"])


_LIMITS: Final = (
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern",
    "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties",
)  # fmt: skip


def tidy(document: Schema) -> Schema:
    """Take defaults and limits off the response path, and leave out schemas that nothing refers to."""
    arriving = response_side(document)
    everything = arriving | reach(document, operation(document))
    kept = {name: schema for name, schema in schemas(document).items() if name in everything}
    for name in arriving:
        kept[name] = cast("Schema", _without(kept[name], ("default", *_LIMITS)))
    return {**document, "components": {"schemas": kept}}


def _without(value: Json, keys: tuple[str, ...], names: bool = False) -> Json:
    """`value` without the keywords `keys`; the keys of `properties` are names, not keywords."""
    if isinstance(value, dict):
        items = cast("Schema", value).items()
        return {key: _without(item, keys, key == "properties") for key, item in items if names or key not in keys}
    if isinstance(value, list):
        return [_without(item, keys) for item in cast("list[Json]", value)]
    return value


__all__ = ["SCHEMAS", "cut", "find_operation", "operation", "reach", "reference", "references", "response_side", "schemas", "tidy"]
