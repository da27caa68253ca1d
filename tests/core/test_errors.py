"""Every exception of the tree pickles and copies with all that it carries, and shows none of it in its text."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import pytest

from nodrop import errors
from nodrop.content import AssistantMessage, TextContent, Unmapped, Usage
from nodrop.errors import ErrorDetail, NodropError, RequestTimedOut, StatusError
from nodrop.testing.wire import call_part as part
from nodrop.testing.wire import content, finish, image_part, text, tool_calls, usage
from tests.core.driving import run

CLASSES = [each for each in vars(errors).values() if inspect.isclass(each) and issubclass(each, NodropError)]
PARTIAL = AssistantMessage(
    content=[TextContent(text="SECRET")],
    usage=Usage(raw={"x": [None]}),
    unmapped={"x": Unmapped(values=["SECRET", None])},
)
FACTS: dict[str, Any] = {
    "partial": PARTIAL,
    "request_id": "r",
    "attempts": 3,
    "block_type": "image",
    "role": "user",
    "phase": "total",
    "seconds": 1.5,
    "requested": 9,
    "limit": 8,
    "status": 429,
    "body": b'{"input": "SECRET"}',
    "headers": {"retry-after": "2"},
    "retry_after": 2.0,
    "in_stream": True,
    "details": (ErrorDetail("a.b", "missing", "missing"),),
    "code": "1300",
    "is_retryable": False,
    "wire_type": "image_url",
    "path": "choices[0]",
    "reason": "because",
    "spec_version": "1",
    "raw": b"SECRET",
}


def keywords(kind: type[NodropError]) -> set[str]:
    """All keyword arguments that the class and its bases take."""
    found: set[str] = set()
    for base in kind.__mro__:
        if issubclass(base, NodropError) and "__init__" in vars(base):
            signature = inspect.signature(base.__init__)
            found |= {
                name for name, each in signature.parameters.items() if each.kind is inspect.Parameter.KEYWORD_ONLY
            }
    return found


def test_the_tree_is_all_here() -> None:
    assert len(CLASSES) >= 19
    assert set().union(*map(keywords, CLASSES)) <= set(FACTS)


@pytest.mark.parametrize("kind", CLASSES)
def test_pickle_and_copy_keep_every_attribute(kind: type[NodropError]) -> None:
    facts = {name: FACTS[name] for name in keywords(kind)}
    error = kind("what went wrong", **facts)
    error.added_later = [1]  # type: ignore[attr-defined]
    copies = [copy.copy(error), copy.deepcopy(error)]
    copies += [pickle.loads(pickle.dumps(error, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for copied in copies:
        assert type(copied) is kind
        assert (str(copied), copied.args, copied.message) == (
            "what went wrong",
            ("what went wrong",),
            "what went wrong",
        )
        assert vars(copied) == vars(error)
        for name, value in facts.items():
            assert getattr(copied, name) == value
    assert "SECRET" not in str(error) + repr(error) + repr(error.args)


@pytest.mark.parametrize("kind", CLASSES)
def test_every_class_can_be_made_with_no_argument(kind: type[NodropError]) -> None:
    assert isinstance(str(kind()), str)


def test_what_may_be_retried() -> None:
    retryable = {kind.__name__ for kind in CLASSES if getattr(kind(), "is_retryable", False)}
    assert retryable == {
        "ConnectionFailed",
        "RequestTimedOut",
        "RateLimitError",
        "CapacityError",
        "ServerError",
        "StreamTruncatedError",
        "ServerReportedError",
    }
    assert not RequestTimedOut(phase="total").is_retryable
    assert not errors.RateLimitError(is_retryable=False).is_retryable
    assert not pickle.loads(pickle.dumps(errors.RateLimitError(is_retryable=False))).is_retryable


def test_headers_are_a_copy() -> None:
    headers = {"a": "b"}
    error = StatusError(headers=headers)
    headers["c"] = "d"
    assert error.headers == {"a": "b"}


def test_a_partial_answer_of_every_kind_of_content_travels_with_its_error() -> None:
    token = {"token": "a", "token_id": 1, "logprob": -0.5, "bytes": [97]}
    first = text("a") | {"odd": {"x": [None]}}
    first["choices"][0]["logprobs"] = {"content": [token]}
    call = tool_calls(part("aaaaaaaa1", "f", '{"a":'))
    outcome = run(first, call, content(image_part("SECRET"), usage=usage(1, 2)), finish())
    assert outcome.error is not None
    copies: list[Any] = [pickle.loads(pickle.dumps(outcome.error)), copy.deepcopy(outcome.error)]
    for copied in copies:
        assert copied.partial == outcome.message
        assert copied.partial.logprobs[0].token == "a"
