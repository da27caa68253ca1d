"""A Python function as a tool: its name, what its docstring says, and the JSON Schema of its parameters."""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final, get_type_hints

from pydantic import PydanticUndefinedAnnotation, PydanticUserError, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticSerializationError

from nodrop.docstrings import documented
from nodrop.errors import ConfigurationError
from nodrop.json_schema import inlined, plain
from nodrop.json_values import json_copy

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}", re.ASCII)
_BY_NAME: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True)
class Described:
    """What a :class:`nodrop.Tool` needs to know of a function."""

    name: str
    description: str
    parameters: dict[str, Any]


def describe(function: Callable[..., Any], name: str | None = None) -> Described:
    """The tool that ``function`` is. It may be a method, a coroutine function or a ``functools.partial``.

    Each parameter needs an annotation that pydantic can describe. A default makes it optional; a text for it comes
    from ``Annotated[..., Field(description=...)]``, from a plain string in ``Annotated``, or from the docstring. The
    schema is self-contained: nested models stand where they are used, only those that contain themselves stay
    definitions.

    Raises :class:`nodrop.ConfigurationError` naming the parameter: without an annotation, ``*args`` and ``**kwargs``,
    positional-only (a model gives arguments by name), or of a type without a JSON Schema.
    """
    inner = _unwrapped(function)
    name = _name_of(inner, name)
    try:
        parameters = inspect.signature(function).parameters
        hints = get_type_hints(_annotated_part(inner), include_extras=True)
    except NameError as error:
        raise ConfigurationError(f"the tool {name}: the annotation {error.name!r} cannot be resolved") from None
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"the tool {name}: its parameters cannot be read ({type(error).__name__})") from None
    description, texts = documented(inspect.getdoc(inner) or "", parameters.keys())
    adapters = {key: _adapter(parameter, hints, name) for key, parameter in parameters.items()}
    schemas, shared = TypeAdapter.json_schemas([(key, "validation", adapter) for key, adapter in adapters.items()])
    properties = {
        key: _property(
            parameter, adapters[key], schemas[key, "validation"], _plain_string(hints[key]) or texts.get(key)
        )
        for key, parameter in parameters.items()
    }
    required = [key for key, parameter in parameters.items() if _is_required(parameter)]
    schema = {"type": "object", "properties": properties, **({"required": required} if required else {}), **shared}
    return Described(name, description, plain(inlined(schema)))


def _name_of(function: Any, name: str | None) -> str:
    found: object = name if name is not None else getattr(function, "__name__", None)
    if not isinstance(found, str):
        raise ConfigurationError(f"a {type(function).__name__} has no name of its own: give the tool a name")
    if not _NAME.fullmatch(found):
        raise ConfigurationError(
            f"{found[:64]!r} is no name for a tool: 1 to 64 of a-z, A-Z, 0-9, '_' and '-'; give the tool a name"
        )
    return found


def _unwrapped(function: Any) -> Any:
    return function.func if isinstance(function, functools.partial) else function  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]


def _annotated_part(function: Any) -> Any:
    """Where the annotations of a callable are: an object that is called has them on its ``__call__``."""
    return function if inspect.isroutine(function) else type(function).__call__


def _adapter(parameter: inspect.Parameter, hints: dict[str, Any], tool: str) -> TypeAdapter[Any]:
    where = f"the tool {tool}: the parameter {parameter.name!r}"
    if parameter.kind not in _BY_NAME:
        raise ConfigurationError(f"{where} is {parameter.kind.description}; a model gives arguments by name")
    if parameter.name not in hints:
        raise ConfigurationError(f"{where} has no annotation")
    annotation: Any = hints[parameter.name]
    if isinstance(parameter.default, FieldInfo):  # as pydantic's validate_call has it
        annotation = Annotated[annotation, parameter.default]
    try:
        adapter = TypeAdapter[Any](annotation)
        adapter.json_schema()
    except (PydanticUserError, PydanticUndefinedAnnotation) as error:
        raise ConfigurationError(f"{where} has no JSON Schema ({type(error).__name__})") from None
    return adapter


def _is_required(parameter: inspect.Parameter) -> bool:
    default = parameter.default
    return default.is_required() if isinstance(default, FieldInfo) else default is inspect.Parameter.empty


def _property(
    parameter: inspect.Parameter, adapter: TypeAdapter[Any], schema: dict[str, Any], text: str | None
) -> dict[str, Any]:
    out = dict(schema)
    if text and "description" not in out:
        out["description"] = text
    if parameter.default is not inspect.Parameter.empty and not isinstance(parameter.default, FieldInfo):
        # A default that the type does not have, or that JSON cannot say (an infinity, an object), is left out of the
        # schema: the parameter is optional all the same.
        with contextlib.suppress(ValidationError, PydanticSerializationError, ConfigurationError):
            default = adapter.dump_python(adapter.validate_python(parameter.default), mode="json", warnings="error")
            out["default"] = json_copy(default, "a default")
    return out


def _plain_string(annotation: Any) -> str | None:
    """The text in ``Annotated[int, "how many"]``."""
    return next((item for item in getattr(annotation, "__metadata__", ()) if isinstance(item, str)), None)
