"""``mistral_document_query``: one tool, one result, streamed underneath.

``declaration`` what a model may ask · ``query`` one query's life, without IO · ``assembly`` and ``canonical`` wire
models into an answer · ``render`` an answer into text and JSON · ``result`` what comes out · ``sync`` and ``aio`` two
thin shells.

It is one consumer of the client's wire level; it owns no HTTP, no decoder and no prices.
"""

from nodrop.document_query.aio import AsyncDocumentQuery
from nodrop.document_query.declaration import TOOL_NAME
from nodrop.document_query.render import QueryCitation, StructuredContent
from nodrop.document_query.result import ToolResult
from nodrop.document_query.sync import DocumentQuery

__all__ = ["TOOL_NAME", "AsyncDocumentQuery", "DocumentQuery", "QueryCitation", "StructuredContent", "ToolResult"]
