"""From any upstream document to the closure of the chat-completions operation, cut, stripped and normalised.

What comes out has one spelling for each fact, so that a diff of two revisions shows wire changes and nothing else:

- every union of objects and every enum is a named schema; a nullable thing is `anyOf: [T, {type: 'null'}]`;
- a tag is `type: string, const: X`, required, without a default (upstream spells it in seven ways);
- on the response path there are no defaults (what is absent is absent) and no limits (a limit is no reason to refuse
  an answer); prose, examples, titles and formats are gone everywhere, and so is `additionalProperties: false`;
- names, required lists, enum values and union members are sorted.

A keyword that this package does not know is an error that names it: a fact is understood or refused, never skipped.
"""

from typing import Final

from codegen.document import Json, Schema, is_list, is_object, target, without
from codegen.errors import CannotRunError
from codegen.forms import LIMITS
from codegen.normalise import Normaliser

_PATHS: Final = ("/v1/chat/completions", "/chat/completions")
_OPERATION_IDS: Final = ("chat_completion_v1_chat_completions_post", "createChatCompletion")
_ADVICE: Final = "give Mistral's own OpenAPI document"


def find_operation(document: Schema, name: str) -> Schema:
    """The chat-completions operation, by path, else by operation id. Raises CannotRunError when there is none."""
    paths = document.get("paths")
    if is_object(paths):
        posts = {path: item.get("post") for path, item in paths.items() if is_object(item)}
        for path in _PATHS:
            if is_object(found := posts.get(path)):
                return found
        for found in posts.values():
            if is_object(found) and found.get("operationId") in _OPERATION_IDS:
                return found
    raise CannotRunError(
        f"{name}: no chat-completions operation (looked for POST {' or '.join(_PATHS)} and the operation ids "
        f"{', '.join(_OPERATION_IDS)}): {_ADVICE}"
    )


def cut(document: Schema, name: str, version: str) -> Schema:
    """The normalised closure of the chat-completions operation. `name` is what errors call the document.

    Raises CannotRunError when the operation, or something that it refers to, is missing or not understood.
    """
    try:
        return _cut(document, name, version)
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError) as error:
        # A document may hold anything anywhere. What the readers below stumble over is no OpenAPI.
        raise CannotRunError(f"{name}: not a well-formed OpenAPI document ({error!r}): {_ADVICE}") from error


def _cut(document: Schema, name: str, version: str) -> Schema:
    found = find_operation(document, name)
    normaliser = Normaliser(document, name)
    request = _media(normaliser, found.get("requestBody"), "application/json", "ChatCompletionRequest")
    if request is None:
        raise CannotRunError(f"{name}: the operation's requestBody has no JSON schema: {_ADVICE}")
    responses: Schema = {}
    declared = found.get("responses")
    for status, response in sorted(declared.items()) if is_object(declared) else []:
        roots = {"application/json": "ChatCompletionResponse", "text/event-stream": "CompletionEvent"}
        if status != "200":
            roots = {"application/json": f"Error{status}"}
        bodies = {media: _media(normaliser, response, media, root) for media, root in roots.items()}
        content = {media: body for media, body in bodies.items() if body is not None}
        if content:
            responses[status] = {"description": "", "content": content}
    if "200" not in responses:
        raise CannotRunError(f"{name}: the operation declares no JSON answer with status 200: {_ADVICE}")
    post: Schema = {
        "operationId": _OPERATION_IDS[0],
        "requestBody": {"required": True, "content": {"application/json": request}},
        "responses": responses,
    }
    return tidy(
        {
            "openapi": "3.1.0",
            "info": {"title": "chat completions", "version": version},
            "paths": {_PATHS[0]: {"post": post}},
            "components": {"schemas": normaliser.finish()},
        }
    )


def _media(normaliser: Normaliser, body: Json, media: str, root: str) -> Schema | None:
    """The normal form of one media type of a body, None when the body does not have it."""
    body = normaliser.local(body)
    content = body.get("content") if is_object(body) else None
    found = content.get(media) if is_object(content) else None
    if not is_object(found) or "schema" not in found:
        return None
    alternatives = normaliser.root(found["schema"], root)
    return {"schema": alternatives[0] if len(alternatives) == 1 else {"anyOf": alternatives}}


def schemas(document: Schema) -> dict[str, Schema]:
    """The named schemas of a normalised document."""
    found: dict[str, Schema] = document["components"]["schemas"]
    return found


def operation(document: Schema) -> Schema:
    """The one operation of a normalised document."""
    found: Schema = document["paths"][_PATHS[0]]["post"]
    return found


def references(value: Json, names: bool = False) -> list[str]:
    """The names of the schemas that `value` refers to directly, in order."""
    if is_object(value):
        found = [] if names or (name := target(value)) is None else [name]
        for key, item in value.items():
            if names or key != "mapping":  # a discriminator's mapping repeats the members
                found += references(item, not names and key == "properties")
        return found
    return [name for item in value for name in references(item)] if is_list(value) else []


def reach(document: Schema, start: Json) -> set[str]:
    """The names of all schemas reached from `start`. Raises CannotRunError for a reference that leads nowhere."""
    named = schemas(document)
    found: set[str] = set()
    todo = references(start)
    while todo:
        name = todo.pop()
        if name not in named:
            raise CannotRunError(f"a $ref to the schema {name!r}, which is not there: see openapi/patches.toml")
        if name not in found:
            found.add(name)
            todo += references(named[name])
    return found


def response_side(document: Schema) -> set[str]:
    """The schemas that can arrive; all others are reached from the request only."""
    return reach(document, operation(document)["responses"])


def tidy(document: Schema) -> Schema:
    """Take defaults and limits off the response path, and leave out schemas that nothing refers to."""
    arriving = response_side(document)
    everything = arriving | reach(document, operation(document))
    kept = {name: schema for name, schema in schemas(document).items() if name in everything}
    for name in arriving:
        kept[name] = without(kept[name], LIMITS | {"default"})
    return {**document, "components": {"schemas": kept}}
