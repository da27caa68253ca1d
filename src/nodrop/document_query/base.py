"""What both document queries share: what they are told, and how a call becomes a query."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from nodrop.client.abort import AbortSignal
from nodrop.content import Tool
from nodrop.document_query.declaration import TOOL_NAME, declaration, read_arguments
from nodrop.document_query.query import PREVIEW_SECONDS, Query
from nodrop.errors import ConfigurationError
from nodrop.settings import load_settings

if TYPE_CHECKING:
    from nodrop.settings import Settings


LOG: Final = logging.getLogger("nodrop")


def check_client(client: object, kind: str) -> None:
    """Raises :class:`nodrop.ConfigurationError` when ``client`` is not of this kind; by name, to import no client."""
    if all(cls.__name__ != kind for cls in type(client).__mro__):
        raise ConfigurationError(f"this document query takes a nodrop.{kind}, not a Python {type(client).__name__}")


class BaseDocumentQuery:
    """Holds the defaults of a query. What is not given comes from the settings files, read once, here."""

    name: Final = TOOL_NAME

    def __init__(
        self,
        library_ids: Sequence[str] | None,
        model: str | None,
        streaming: bool | None,
        settings: Settings | None,
        preview_interval: float,
    ) -> None:
        if isinstance(library_ids, str):
            raise ConfigurationError("library_ids is a list of ids, not one string")
        if not isinstance(streaming, bool | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"streaming is True or False, not a Python {type(streaming).__name__}")
        if not isinstance(preview_interval, int | float) or not 0 <= preview_interval < math.inf:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError("preview_interval is seconds, 0 or more")
        if settings is None and (library_ids is None or model is None or streaming is None):
            settings = load_settings()
            for warning in settings.warnings:
                LOG.warning("%s", warning)
        if settings is not None:
            library_ids = settings.library_ids.value if library_ids is None else library_ids
            model = settings.model.value if model is None else model
            streaming = settings.streaming.value if streaming is None else streaming
        self._library_ids = tuple(library_ids or ())
        self._model = model or ""
        self._streaming = bool(streaming)
        self._preview_interval = preview_interval
        # The defaults are arguments like any others; they are checked before the first question is asked.
        probe = self._library_ids or ("a library",)
        read_arguments({"question": "?"}, library_ids=probe, model=self._model)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(library_ids={[*self._library_ids]!r}, model={self._model!r})"

    @property
    def tool(self) -> Tool:
        """The declaration for a model: name, description, and a JSON Schema of the parameters."""
        return declaration(self._library_ids, self._model)

    @property
    def streaming(self) -> bool:
        """Whether queries are streamed."""
        return self._streaming

    def _check_call(self, on_update: object, signal: object) -> None:
        """Raises :class:`nodrop.ConfigurationError` when one of them is of the wrong kind."""
        if on_update is not None and not callable(on_update):
            raise ConfigurationError(f"on_update is a function, not a Python {type(on_update).__name__}")
        if signal is not None and not isinstance(signal, AbortSignal):
            raise ConfigurationError(f"what aborts a query is an AbortSignal, not a Python {type(signal).__name__}")

    def _query(self, arguments: Mapping[str, Any]) -> Query:
        """Raises :class:`nodrop.ConfigurationError` naming every argument that is wrong."""
        question = read_arguments(arguments, library_ids=self._library_ids, model=self._model)
        return Query(question, streaming=self._streaming, preview_seconds=self._preview_interval)


DEFAULT_INTERVAL: Final = PREVIEW_SECONDS
