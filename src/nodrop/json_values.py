"""What a caller hands in as JSON, copied and checked.

A request is built from copies: what the caller does with an object afterwards changes no request, and building one
changes no object. A value that is no JSON is refused here by its place and type, before a serialiser would write
something else in its stead (a ``NaN``, the text of a date) or quote it in an error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from nodrop.core.rejections import path_key
from nodrop.core.surrogates import without_surrogates
from nodrop.errors import ConfigurationError
from nodrop.wire import WireModel

_DEEPEST: Final = 128


def json_copy(value: object, where: str, depth: int = 0) -> Any:
    """A deep copy of ``value`` in plain JSON types; lone surrogates become U+FFFD, tuples lists.

    ``where`` names the place in errors, for example ``option metadata``. A generated wire model counts as the object
    that it writes. Raises :class:`nodrop.ConfigurationError` for a type that JSON does not have, for NaN and the
    infinities, and for more than 128 levels (a value that contains itself).
    """
    if depth > _DEEPEST:
        raise ConfigurationError(f"{where}: nested more than {_DEEPEST} levels deep")
    match value:
        case None | bool():
            return value
        case str():
            # A subclass (an enum, say) is written as the string that it is.
            return without_surrogates(str.__str__(value))
        case int():
            return int(value)
        case float():
            if not math.isfinite(value):
                raise ConfigurationError(f"{where}: {value} is no JSON number")
            return float(value)
        case list() | tuple():
            items: list[object] = [*value]  # pyright: ignore[reportUnknownArgumentType]
            return [json_copy(item, f"{where}[{index}]", depth + 1) for index, item in enumerate(items)]
        case Mapping():
            entries: Mapping[object, object] = value  # pyright: ignore[reportUnknownVariableType]
            return {
                _key(key, where): json_copy(item, f"{where}.{path_key(str(key))}", depth + 1)
                for key, item in entries.items()
            }
        case WireModel():
            return json_copy(value.model_dump(), where, depth + 1)
        case _:
            raise ConfigurationError(f"{where}: a Python {type(value).__name__} is no JSON")


def _key(key: object, where: str) -> str:
    if not isinstance(key, str):
        raise ConfigurationError(f"{where}: the key of an object must be a string, not a Python {type(key).__name__}")
    cleaned: str = without_surrogates(str.__str__(key))
    return cleaned
