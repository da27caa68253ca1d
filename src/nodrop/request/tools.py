"""Tools in the wire's form."""

from __future__ import annotations

from typing import Any

from nodrop.content import Tool
from nodrop.core.surrogates import without_surrogates
from nodrop.errors import ConfigurationError
from nodrop.json_schema import Schema, strict_with_nulls
from nodrop.json_values import json_copy


def wire_tool(tool: Tool) -> dict[str, Any]:
    """``tool`` as Mistral takes it.

    ``constrained_sampling`` (pi's, pi-facts 1.2 and 4.2): ``None`` sends the schema as it is and no ``strict``;
    ``False`` sends ``strict`` as false. ``{"type": "json_schema", "strict": "prefer"}`` sends it as true with the
    schema in strict form (each optional property required and nullable), or as false when the schema has no strict
    form; ``"require"`` is an error then. A grammar is a hint for other APIs: the tool is sent without it, as pi does.

    Raises :class:`nodrop.ConfigurationError` naming the tool.
    """
    where = f"the tool {tool.name[:64]!r}"
    parameters = json_copy(tool.parameters, f"the parameters of {where}")
    strict, parameters = _sampling(tool.constrained_sampling, parameters, where)
    function: dict[str, Any] = {"name": without_surrogates(tool.name)}
    if tool.description:
        function["description"] = without_surrogates(tool.description)
    function["parameters"] = parameters
    if strict is not None:
        function["strict"] = strict
    return {"type": "function", "function": function}


def _sampling(sampling: Any, parameters: Schema, where: str) -> tuple[bool | None, Schema]:
    match sampling:
        case None | {"type": "grammar"}:
            return None, parameters
        case False:
            return False, parameters
        case {"type": "json_schema", "strict": "prefer" | "require" as wish}:
            changed = strict_with_nulls(parameters)
            if not isinstance(changed, str):
                return True, changed
            if wish == "require":
                raise ConfigurationError(f"{where} requires strict sampling, but its schema has {changed!r}")
            return False, parameters
        case _:
            raise ConfigurationError(f"{where}: its constrained_sampling is none that pi 1.4.0 has")
