"""The base of the generated models. Hand-written; everything else in this package is generated."""

from typing import Any, Literal, get_origin

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer


class WireModel(BaseModel):
    """A JSON object on Mistral's wire.

    Writing gives what was set, and nothing else: `model_dump()` and `model_dump_json()` leave out every field that was
    neither given nor is a tag (`type`, `role`). So a request carries no default that nobody asked for, a `None` that
    was given is sent as null, and a chunk that was read is written back with the keys it came with.
    """

    # Building validators at first use, not at import, halves the time that importing the models takes.
    # A field that Python's names forbid (`schema`) is given under either name, and written under the wire's.
    model_config = ConfigDict(
        defer_build=True,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        protected_namespaces=(),
    )

    @model_serializer(mode="wrap")
    def _only_what_was_set(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = write(self)
        given = self.model_fields_set
        for name, field in type(self).model_fields.items():
            if name not in given and get_origin(field.annotation) is not Literal:
                written.pop(field.alias or name, None)
                written.pop(name, None)
        return written
