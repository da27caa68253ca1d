"""What pi leaves to its backend: the raw transcript → a context that nodrop can send. pi's own rules, beside nodrop's.

nodrop's request side (``nodrop.request``) already folds and replays system messages, gives each call its result or an
error result, maps foreign ids, leaves earlier thinking out, replaces images for text-only models, and makes tool
schemas strict. Two rules are pi's alone:

- A turn that failed or was aborted is left out whole (nodrop itself would send its text), and so are the results of
  its calls.
- Blank text blocks of an answer are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from nodrop.content import AssistantMessage, Context, Message, TextContent


def pi_context(messages: Sequence[Message]) -> Context:
    """The context of a transcript as pi sends it."""
    return Context(messages=[_cleaned(message) for message in messages])


def _cleaned(message: Message) -> Message:
    if not isinstance(message, AssistantMessage):
        return message
    if message.stop_reason in ("error", "aborted"):
        # Its calls stay in sight, so that their results find them: the request side sends neither.
        return message.model_copy(update={"content": message.tool_calls})
    kept = [block for block in message.content if not (isinstance(block, TextContent) and not block.text.strip())]
    return message if len(kept) == len(message.content) else message.model_copy(update={"content": kept})
