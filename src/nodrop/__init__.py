"""nodrop streams Mistral's chat completions and never drops content.

Every wire type is mapped into the content model, or rejected by name. Names are imported when they are first used, so
``import nodrop`` is cheap and the test plugin loads neither httpx nor pydantic.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from nodrop.version import __version__ as __version__

if TYPE_CHECKING:
    from nodrop.client.abort import AbortSignal as AbortSignal
    from nodrop.client.aio import AsyncClient as AsyncClient
    from nodrop.client.aio import AsyncStream as AsyncStream
    from nodrop.client.aio import AsyncWireStream as AsyncWireStream
    from nodrop.client.base import ChatOptions as ChatOptions
    from nodrop.client.base import Prompt as Prompt
    from nodrop.client.options import ClientSettings as ClientSettings
    from nodrop.client.options import RetryNotice as RetryNotice
    from nodrop.client.sync import Client as Client
    from nodrop.client.sync import Stream as Stream
    from nodrop.client.sync import WireStream as WireStream
    from nodrop.client.waits import no_retry_waits as no_retry_waits
    from nodrop.content import AssistantMessage as AssistantMessage
    from nodrop.content import Citation as Citation
    from nodrop.content import Context as Context
    from nodrop.content import Cost as Cost
    from nodrop.content import Diagnostic as Diagnostic
    from nodrop.content import ImageContent as ImageContent
    from nodrop.content import Message as Message
    from nodrop.content import OtherBlock as OtherBlock
    from nodrop.content import SystemMessage as SystemMessage
    from nodrop.content import TextContent as TextContent
    from nodrop.content import ThinkingContent as ThinkingContent
    from nodrop.content import Tool as Tool
    from nodrop.content import ToolCall as ToolCall
    from nodrop.content import ToolResultMessage as ToolResultMessage
    from nodrop.content import Unmapped as Unmapped
    from nodrop.content import Usage as Usage
    from nodrop.content import UserMessage as UserMessage
    from nodrop.content import tool_result as tool_result
    from nodrop.core.decoder import Decoder as Decoder
    from nodrop.core.flow import Timeouts as Timeouts
    from nodrop.core.usage import usage_of as usage_of
    from nodrop.document_query.aio import AsyncDocumentQuery as AsyncDocumentQuery
    from nodrop.document_query.result import ToolResult as ToolResult
    from nodrop.document_query.sync import DocumentQuery as DocumentQuery
    from nodrop.errors import AbortedError as AbortedError
    from nodrop.errors import APIError as APIError
    from nodrop.errors import AuthenticationError as AuthenticationError
    from nodrop.errors import CapacityError as CapacityError
    from nodrop.errors import ConfigurationError as ConfigurationError
    from nodrop.errors import ConnectionFailed as ConnectionFailed
    from nodrop.errors import ContentRejectedError as ContentRejectedError
    from nodrop.errors import ContextOverflowError as ContextOverflowError
    from nodrop.errors import ErrorDetail as ErrorDetail
    from nodrop.errors import InvalidRequestError as InvalidRequestError
    from nodrop.errors import NodropError as NodropError
    from nodrop.errors import NotFoundError as NotFoundError
    from nodrop.errors import OutputParseError as OutputParseError
    from nodrop.errors import RateLimitError as RateLimitError
    from nodrop.errors import RequestTimedOut as RequestTimedOut
    from nodrop.errors import ServerError as ServerError
    from nodrop.errors import ServerReportedError as ServerReportedError
    from nodrop.errors import StatusError as StatusError
    from nodrop.errors import StreamError as StreamError
    from nodrop.errors import StreamProtocolError as StreamProtocolError
    from nodrop.errors import StreamTruncatedError as StreamTruncatedError
    from nodrop.errors import UnsupportedContentError as UnsupportedContentError
    from nodrop.events import Done as Done
    from nodrop.events import Event as Event
    from nodrop.events import Failed as Failed
    from nodrop.events import Start as Start
    from nodrop.events import TextDelta as TextDelta
    from nodrop.events import TextEnd as TextEnd
    from nodrop.events import TextStart as TextStart
    from nodrop.events import ThinkingDelta as ThinkingDelta
    from nodrop.events import ThinkingEnd as ThinkingEnd
    from nodrop.events import ThinkingStart as ThinkingStart
    from nodrop.events import ToolCallDelta as ToolCallDelta
    from nodrop.events import ToolCallEnd as ToolCallEnd
    from nodrop.events import ToolCallStart as ToolCallStart
    from nodrop.events import event_to_json as event_to_json
    from nodrop.options import RequestOptions as RequestOptions
    from nodrop.rate_card import Model as Model
    from nodrop.rate_card import RateCard as RateCard
    from nodrop.rate_card import Rates as Rates

_HOME: Final = {
    "nodrop.client.abort": ("AbortSignal",),
    "nodrop.client.aio": ("AsyncClient", "AsyncStream", "AsyncWireStream"),
    "nodrop.client.base": ("ChatOptions", "Prompt"),
    "nodrop.client.options": ("ClientSettings", "RetryNotice"),
    "nodrop.client.sync": ("Client", "Stream", "WireStream"),
    "nodrop.client.waits": ("no_retry_waits",),
    "nodrop.content": (
        "AssistantMessage", "Citation", "Context", "Cost", "Diagnostic", "ImageContent", "Message", "OtherBlock",
        "SystemMessage", "TextContent", "ThinkingContent", "Tool", "ToolCall", "ToolResultMessage", "Unmapped",
        "Usage", "UserMessage", "tool_result",
    ),
    "nodrop.core.decoder": ("Decoder",),
    "nodrop.core.flow": ("Timeouts",),
    "nodrop.core.usage": ("usage_of",),
    "nodrop.document_query.aio": ("AsyncDocumentQuery",),
    "nodrop.document_query.result": ("ToolResult",),
    "nodrop.document_query.sync": ("DocumentQuery",),
    "nodrop.errors": (
        "APIError", "AbortedError", "AuthenticationError", "CapacityError", "ConfigurationError", "ConnectionFailed",
        "ContentRejectedError", "ContextOverflowError", "ErrorDetail", "InvalidRequestError", "NodropError",
        "NotFoundError", "OutputParseError", "RateLimitError", "RequestTimedOut", "ServerError",
        "ServerReportedError", "StatusError", "StreamError", "StreamProtocolError", "StreamTruncatedError",
        "UnsupportedContentError",
    ),
    "nodrop.events": (
        "Done", "Event", "Failed", "Start", "TextDelta", "TextEnd", "TextStart", "ThinkingDelta", "ThinkingEnd",
        "ThinkingStart", "ToolCallDelta", "ToolCallEnd", "ToolCallStart", "event_to_json",
    ),
    "nodrop.rate_card": ("Model", "RateCard", "Rates"),
    "nodrop.options": ("RequestOptions",),
}  # fmt: skip
_MODULE_OF: Final = {name: module for module, names in _HOME.items() for name in names}
__all__ = [*_MODULE_OF]  # noqa: PLE0604 - the same table  # pyright: ignore[reportUnsupportedDunderAll]


if not TYPE_CHECKING:  # a checker that saw this would take every misspelt name for one of ours

    def __getattr__(name: str) -> Any:
        module = _MODULE_OF.get(name)
        if module is None:
            raise AttributeError(f"module 'nodrop' has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(module), name)
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
