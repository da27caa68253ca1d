"""The sink of the wire level: bytes in, generated models out."""

from __future__ import annotations

from collections.abc import Mapping

from nodrop.core.server_errors import error_beside_choices
from nodrop.core.sink import Sink
from nodrop.core.wire_json import Walked, read_chunk
from nodrop.errors import (
    ContentRejectedError,
    NodropError,
    StreamProtocolError,
    StreamTruncatedError,
)
from nodrop.wire import ChatCompletionResponse, CompletionChunk


class WireSink(Sink[CompletionChunk | ChatCompletionResponse]):
    """Hands out the generated models as they come. What they refuse is an error with the JSON on ``.raw``.

    ``request_id`` is the server's name for the request, ``oddities`` what was odd about the text and no error.
    """

    _every_type = True

    def __init__(self, *, max_event_bytes: int) -> None:
        super().__init__(max_event_bytes=max_event_bytes)
        self.request_id: str | None = None
        self.oddities: list[str] = []
        self._delivered = False
        self._finish_seen = False

    @property
    def delivered(self) -> bool:
        return self._delivered

    def head(self, request_id: str | None, headers: Mapping[str, str]) -> None:
        self.request_id = request_id

    def done(self) -> list[CompletionChunk | ChatCompletionResponse]:
        return []

    def failed(self, error: NodropError) -> list[CompletionChunk | ChatCompletionResponse]:
        return []

    def _read(self, data: bytes, out: list[CompletionChunk | ChatCompletionResponse]) -> bool:
        chunk = read_chunk(data)
        if chunk is None:
            return False
        self._chunk(chunk, out)
        return True

    def _chunk(self, chunk: CompletionChunk, out: list[CompletionChunk | ChatCompletionResponse]) -> None:
        failure = error_beside_choices(chunk)
        if failure is not None:
            raise failure
        self._finish_seen = self._finish_seen or any(choice.finish_reason for choice in chunk.choices or ())
        self._delivered = True
        out.append(chunk)

    def _response(self, response: ChatCompletionResponse, out: list[CompletionChunk | ChatCompletionResponse]) -> None:
        self._finish_seen = self._delivered = True
        out.append(response)

    def _walked(self, walked: Walked, data: bytes, out: list[CompletionChunk | ChatCompletionResponse]) -> None:
        self.oddities += [oddity for oddity in walked.oddities if oddity not in self.oddities]
        if walked.error is None and isinstance(walked.chunk, CompletionChunk):
            self._chunk(walked.chunk, out)
        elif walked.error is None and isinstance(walked.chunk, ChatCompletionResponse):
            self._response(walked.chunk, out)
        else:
            error = walked.error or StreamProtocolError("the models refuse an event and nothing says why")
            if isinstance(error, ContentRejectedError):
                error.raw = data
            raise error

    def _end(self, out: list[CompletionChunk | ChatCompletionResponse], *, done_marker: bool) -> None:
        if not self._finish_seen:
            raise StreamTruncatedError("the stream ended without a finish reason: the answer is cut off")
        if self._sse.ignored_lines:
            self.oddities.append("ignored_lines")
        if not done_marker:
            self.oddities.append("no_done_marker")
        self.finished = True
