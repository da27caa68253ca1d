"""Every exception that nodrop raises.

Texts, ``repr`` and ``args`` name types, paths, statuses and the server's own words about a failure; they never hold
the payload (text of an answer or prompt, base64, data URLs) and never a key. What is content on purpose is in
``.partial`` and ``.body``. Every exception pickles and copies, those two included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nodrop.content import AssistantMessage

Phase = Literal["connect", "silence", "total"]
"""Which bound a timeout passed: reaching the server, waiting for its next event, or the whole request."""


class NodropError(Exception):
    """The base of all. ``str()`` is one line that names the cause and, where there is one, the way out.

    The facts of an error are keyword arguments with defaults, kept as attributes: so it pickles by its message and
    its ``__dict__``, as any exception does, whatever a subclass adds. ``partial`` is the message of the answer so far,
    where a request was under way.
    """

    partial: AssistantMessage | None = None

    def __init__(self, message: str = "") -> None:
        super().__init__(message)

    @property
    def message(self) -> str:
        """The text of the error."""
        return str(self)


class ConfigurationError(NodropError):
    """The call itself is wrong (no key, a bad option, a bad file). Nothing was sent."""


class UnsupportedContentError(NodropError):
    """A block of the history cannot be sent to Mistral. Nothing was sent."""

    def __init__(
        self,
        message: str = "",
        *,
        block_type: str = "",
        role: str = "",
        partial: AssistantMessage | None = None,
    ) -> None:
        super().__init__(message)
        self.block_type = block_type
        self.role = role
        self.partial = partial


class OutputParseError(NodropError):
    """The text of an answer does not fit the type that it should be read into."""


class AbortedError(NodropError):
    """The caller aborted the request. ``partial`` is what had arrived."""

    def __init__(self, message: str = "the request was aborted", *, partial: AssistantMessage | None = None) -> None:
        super().__init__(message)
        self.partial = partial


class APIError(NodropError):
    """Something between the request and a finished answer went wrong.

    ``partial`` is the answer so far, ``request_id`` the server's name for the request, ``attempts`` how many requests
    were sent. ``is_retryable`` says whether the same request may succeed later, whether it was retried here or not.
    """

    is_retryable: bool = False

    def __init__(
        self,
        message: str = "",
        *,
        partial: AssistantMessage | None = None,
        request_id: str | None = None,
        attempts: int = 0,
    ) -> None:
        super().__init__(message)
        self.partial = partial
        self.request_id = request_id
        self.attempts = attempts


class ConnectionFailed(APIError):
    """The network failed: no connection, or one that broke. The text names the transport's exception class."""

    is_retryable = True


class RequestTimedOut(APIError):
    """A bound in time passed. ``phase`` says which, ``seconds`` how long it was."""

    def __init__(self, message: str = "", *, phase: Phase = "silence", seconds: float = 0.0, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.phase: Phase = phase
        self.seconds = seconds
        # A total bound is the caller's own: the same request under the same bound is not worth another try by itself.
        self.is_retryable = phase != "total"


class ContextOverflowError(APIError):
    """The history is longer than the model's context, in whatever words and under whatever status it was said.

    The text starts with ``context_length_exceeded`` and goes on in the server's words. ``requested`` and ``limit``
    are tokens, where the words have them.
    """

    def __init__(
        self,
        message: str = "",
        *,
        requested: int | None = None,
        limit: int | None = None,
        status: int | None = None,
        body: bytes = b"",
        **facts: Any,
    ) -> None:
        super().__init__(message, **facts)
        self.requested = requested
        self.limit = limit
        self.status = status
        self.body = body


class ErrorDetail(NamedTuple):
    """One entry of a validation error: the path of the field, and what the server says of it (never the input)."""

    path: str
    message: str
    type: str


class StatusError(APIError):
    """The server refused or failed, with an HTTP status of its own or inside a 200 stream (``in_stream``).

    ``body`` is what it sent (it may quote the prompt), ``headers`` its headers without secrets, ``retry_after`` the
    seconds that it asked to wait, ``details`` the fields that it complained of.
    """

    def __init__(
        self,
        message: str = "",
        *,
        status: int | None = None,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        retry_after: float | None = None,
        in_stream: bool = False,
        details: tuple[ErrorDetail, ...] = (),
        code: str | None = None,
        is_retryable: bool | None = None,
        **facts: Any,
    ) -> None:
        super().__init__(message, **facts)
        self.status = status
        self.body = body
        self.headers = dict(headers or {})
        self.retry_after = retry_after
        self.in_stream = in_stream
        self.details = details
        self.code = code
        if is_retryable is not None:
            self.is_retryable = is_retryable


class AuthenticationError(StatusError):
    """401 or 403: the key is wrong, or may not do this."""


class NotFoundError(StatusError):
    """404: no such route or model. Look at ``base_url``."""


class InvalidRequestError(StatusError):
    """400, 422 and other 4xx: the request is refused as it stands; ``details`` names the fields."""


class RateLimitError(StatusError):
    """429: too much, for now. Not retryable when a quota or the billing is what ran out."""

    is_retryable = True


class CapacityError(RateLimitError):
    """429: the server has no capacity for this model at the moment."""


class ServerError(StatusError):
    """408, 5xx and their kin: the server failed."""

    is_retryable = True


class StreamError(APIError):
    """The answer began and then went wrong."""


class StreamTruncatedError(StreamError):
    """The answer ended before its finish reason: what is in ``partial`` is not the whole answer."""

    is_retryable = True


class StreamProtocolError(StreamError):
    """The server sent something that is no chat-completions stream."""


class ServerReportedError(StreamError):
    """The server says, inside the stream, that it failed, without a status of its own."""

    is_retryable = True


class ContentRejectedError(APIError):
    """Something arrived that has no place in the content model: a known type that is rejected, or an unknown one.

    ``wire_type`` is its type (empty when it has none), ``path`` where it stood, ``reason`` why it is rejected,
    ``spec_version`` the version of the vendored document. ``raw`` is set at the wire level only: the JSON that the
    generated models refuse. It is content: absent from the text and from ``repr``.
    """

    def __init__(
        self,
        message: str = "",
        *,
        wire_type: str = "",
        path: str = "",
        reason: str = "",
        spec_version: str = "",
        raw: bytes | None = None,
        **facts: Any,
    ) -> None:
        super().__init__(message, **facts)
        self.wire_type = wire_type
        self.path = path
        self.reason = reason
        self.spec_version = spec_version
        self.raw = raw
