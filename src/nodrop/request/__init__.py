"""The request side: from a context and options to the body that is sent.

``build`` the whole · ``transcript`` what becomes of each message · ``pairing`` which result belongs to which call ·
``tool_ids`` ids that Mistral takes · ``system`` the prompt and the tools in force · ``tools`` their wire form ·
``unsendable`` the refusal of a block. The options are in ``nodrop.options``.
"""

from nodrop.request.build import BuiltRequest, as_context, build_request

__all__ = ["BuiltRequest", "as_context", "build_request"]
