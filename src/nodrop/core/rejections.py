"""The errors that name what was rejected: its type, its path, the reason, the spec version, and what to do.

Names come from the wire, so they are bounded before they are shown: a payload in the place of a name stays hidden.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from nodrop.core.decisions import Decision
from nodrop.errors import ContentRejectedError, StreamProtocolError
from nodrop.wire import SPEC_VERSION

_A_NAME: Final = re.compile(r"[A-Za-z_][\w.\-/]{0,63}", re.ASCII)
_UNKNOWN_WAY_OUT: Final = (
    "upgrade nodrop if a newer version knows it, or hand in a decision for it (docs/new-wire-type.md)"
)
_MALFORMED_WAY_OUT: Final = "the error that client.wire.stream raises has the JSON on .raw"
_REJECTED_WAY_OUT: Final = "client.wire.stream hands it out as it came"


def shown(name: object) -> str:
    """A name from the wire, fit to be shown: quoted when it looks like a name, else only described."""
    if not isinstance(name, str):
        return json_kind(name)
    if _A_NAME.fullmatch(name):
        return repr(name)
    return f"a string of {len(name)} characters that is no name"


def path_key(name: str) -> str:
    """A key from the wire, fit to stand in a path."""
    return name if _A_NAME.fullmatch(name) else "<a key that is no name>"


def place_of(location: Iterable[int | str]) -> str:
    """The location of a validation error as a path, for example ``messages.0.content``."""
    return ".".join(path_key(step) if isinstance(step, str) else str(step) for step in location)


def path_of(steps: Iterable[int | str]) -> str:
    """Steps into parsed JSON as a path, for example ``choices[0].delta``."""
    path = ""
    for step in steps:
        path += f"[{step}]" if isinstance(step, int) else f".{path_key(step)}" if path else path_key(step)
    return path


def json_kind(value: object) -> str:
    """What a JSON value is, in JSON's words and without the value."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case dict():
            return "an object"
        case _:
            raise TypeError(f"{type(value).__name__} is no JSON type")


def _error(what: str, wire_type: object, path: str, reason: str, way_out: str) -> ContentRejectedError:
    return ContentRejectedError(
        f"{what} at {path}: {reason} (spec {SPEC_VERSION}); {way_out}",
        wire_type=wire_type if isinstance(wire_type, str) and _A_NAME.fullmatch(wire_type) else "",
        path=path,
        reason=reason,
        spec_version=SPEC_VERSION,
    )


def rejected_type(thing: str, wire_type: str, path: str, decision: Decision) -> ContentRejectedError:
    """A known thing that is rejected. ``thing`` is for example ``content type``."""
    return _error(f"rejected {thing} {shown(wire_type)}", wire_type, path, decision.reason, _REJECTED_WAY_OUT)


def rejected_field(name: str, path: str, reason: str) -> ContentRejectedError:
    """Content in a field that this API does not have."""
    return _error(f"rejected field {shown(name)}", name, path, reason, _REJECTED_WAY_OUT)


def unknown_type(thing: str, wire_type: object, path: str) -> ContentRejectedError:
    """A thing whose name no decision has."""
    return _error(
        f"unknown {thing} {shown(wire_type)}", wire_type, path, f"no decision for this {thing}", _UNKNOWN_WAY_OUT
    )


def missing_type(thing: str, item: object, path: str) -> ContentRejectedError:
    """An item with no ``type``, or with one that is no string, or that is no object at all."""
    if not isinstance(item, dict):
        reason = f"it has no type: it is {json_kind(item)}, not an object"
    elif "type" not in item:
        reason = "it has no type"
    else:
        reason = f"its type is {json_kind(item['type'])}, not a string"  # pyright: ignore[reportUnknownArgumentType]
    return _error(f"malformed {thing}", "", path, reason, _MALFORMED_WAY_OUT)


def malformed(thing: str, wire_type: str, path: str, reason: str) -> ContentRejectedError:
    """A known thing of the wrong shape. ``reason`` must come from the shape alone, never from a value."""
    return _error(f"malformed {thing} {shown(wire_type)}", wire_type, path, reason, _MALFORMED_WAY_OUT)


def repeated_key(path: str) -> ContentRejectedError:
    """A key that stands twice in one object with different values: a reader of JSON would drop one of them."""
    reason = "this key stands twice in one object, with different values"
    return _error("repeated key", "", path, reason, _MALFORMED_WAY_OUT)


def malformed_frame(path: str, reason: str) -> StreamProtocolError:
    """An event that is JSON but no chunk of a completion."""
    where = f" at {path}" if path else ""
    return StreamProtocolError(
        f"the server sent an event that is no completion chunk{where}: {reason} (spec {SPEC_VERSION})"
    )
