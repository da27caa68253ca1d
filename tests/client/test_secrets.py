"""The key and the payload are found nowhere: not in logs, output, errors and their chains, pickles, or files."""

from __future__ import annotations

import logging
import pickle
import traceback
from collections.abc import Iterator
from typing import Any

import pytest

import nodrop
from nodrop.errors import NodropError
from nodrop.testing import (
    Cut,
    MistralServer,
    Reply,
    Stall,
    content,
    error_body,
    finish,
    image_part,
    refused_url,
    start,
    text,
)
from tests.client.harness import Side

SECRET = "key-OF-THE-caller-7c1f"
PAYLOAD = "PAYLOADMARK"
IMAGE = f"data:image/png;base64,{PAYLOAD}+/=="
ECHO = f"no good: Bearer {SECRET}"
SHORT = nodrop.Timeouts(connect=0.3, silence=0.3)

REPLIES = {
    "good": Reply.stream(start(), text(PAYLOAD), finish()),
    "whole": Reply.whole(PAYLOAD),
    "refused key": Reply.error(401, {"detail": "Invalid API Key"}),
    "echoed key": Reply.error(401, ECHO, headers={"x-echo": SECRET, "set-cookie": f"a={SECRET}"}),
    "echoed key, details": Reply.error(422, {"detail": [{"loc": ["header", SECRET], "msg": ECHO, "type": "missing"}]}),
    "echoed key, overflow": Reply.error(400, f"Prompt contains 9 tokens, prompt is too long {SECRET}"),
    "echoed key in a frame": Reply.stream(error_body(ECHO, type="internal_error"), done=False),
    "echoed key in text": Reply.raw(f"denied {SECRET}", content_type="text/plain", status=403),
    "echoed prompt": Reply.error(422, {"detail": [{"loc": ["body", "messages"], "msg": "bad", "input": PAYLOAD}]}),
    "rejected content": Reply.stream(start(), content(image_part(IMAGE))),
    "wrong shape": Reply.stream(start(), {"choices": [{"index": 0, "delta": {"content": {PAYLOAD: PAYLOAD}}}]}),
    "broken JSON": Reply.stream(start(), '{"choices": [{"delta": {"content": "' + PAYLOAD),
    "cut": Reply.stream(start(), text(PAYLOAD)).with_faults(Cut(at="end")),
    "reset": Reply.stream(start(), text("a")).with_faults(Cut(at="before_headers", how="abrupt")),
    "stalled": Reply.stream(start(), text(PAYLOAD)).with_faults(Stall(at="end")),
    "redirect": Reply.redirect(f"http://u:{PAYLOAD}@127.0.0.1/"),
    "broken compression": Reply.raw(PAYLOAD, headers={"content-encoding": "gzip"}),
}


def chain(error: BaseException) -> Iterator[BaseException]:
    """The error and everything that hangs on it."""
    seen: set[int] = set()
    found: list[BaseException | None] = [error]
    while found:
        each = found.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        found += [each.__cause__, each.__context__]


def shown_of(error: NodropError) -> str:
    """All that is shown of an error, by anything that shows errors."""
    shown = traceback.format_exception(error)
    for each in chain(error):
        facts = {name: value for name, value in vars(each).items() if name not in ("partial", "body", "raw")}
        shown += [str(each), repr(each), repr(each.args), repr(facts)]
        assert not hasattr(each, "request"), "the transport's exception, and with it the headers, can be reached"
    return "".join(shown)


@pytest.mark.parametrize("name", REPLIES)
@pytest.mark.parametrize("streaming", [True, False], ids=["stream", "complete"])
async def test_nothing_shows_them(
    side: Side,
    name: str,
    streaming: bool,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    notices: list[nodrop.RetryNotice] = []
    error: NodropError | None = None
    with MistralServer(api_key=SECRET) as server, nodrop.no_retry_waits():
        server.enqueue(REPLIES[name], repeat=True)
        async with side.client(
            server, api_key=SECRET, timeouts=SHORT, max_retries=1, on_retry=notices.append
        ) as client:
            shown = [repr(client.raw)]
            try:
                if streaming:
                    async with client.stream(PAYLOAD) as stream:
                        shown.append(repr(stream.raw))
                        await stream.final_message()
                else:
                    await client.complete(PAYLOAD)
            except NodropError as raised:
                error = raised
    assert (error is None) == (name in ("good", "whole")), error
    for each in [error, *(notice.error for notice in notices)]:
        if each is not None:
            shown.append(shown_of(each))
            assert SECRET.encode() not in pickle.dumps(each)
            assert SECRET not in repr(vars(each))  # .body and .headers included
            copied = pickle.loads(pickle.dumps(each))
            assert (type(copied), str(copied), repr(vars(copied))) == (type(each), str(each), repr(vars(each)))
    for record in caplog.records:
        # httpcore logs the headers of a response at DEBUG: what a server puts there is on the wire, not ours.
        if not record.name.startswith("httpcore") or "echoed" not in name:
            shown += [record.getMessage(), str(record.args)]
    shown += capfd.readouterr()
    everything = "".join(shown)
    assert SECRET not in everything
    if name != "redirect":  # there the marker is in the server's own header
        assert PAYLOAD not in everything


async def test_a_failed_connection(side: Side, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with refused_url() as url, nodrop.no_retry_waits():
        async with side.client(url, api_key=SECRET) as client:
            with pytest.raises(nodrop.ConnectionFailed) as caught:
                await client.complete(PAYLOAD)
    assert SECRET not in shown_of(caught.value) + caplog.text
    assert PAYLOAD not in shown_of(caught.value) + caplog.text


async def test_a_proxy_with_a_password(side: Side) -> None:
    """Its address holds credentials of the caller's; the transport's text may hold the address."""
    with refused_url() as url:
        http = side.http(proxy=url.replace("http://", f"http://user:{SECRET}@"))
        async with side.client("http://mistral.invalid", http_client=http, max_retries=0) as client:
            outcome = await client.ask()
        await side.close(http)
    assert outcome.error is not None
    assert SECRET not in shown_of(outcome.error)


def test_the_options_hide_the_key() -> None:
    client = nodrop.Client(api_key=SECRET, headers={"x-api-key": PAYLOAD})
    shown: list[Any] = [client, client._options, client.stream("m", PAYLOAD)._driver._outgoing, client.wire]
    shown.append(client.stream("m", PAYLOAD)._driver.flow._plan)
    for each in shown:
        assert SECRET not in repr(each)
        assert PAYLOAD not in repr(each)
    client.close()
    for wrong in (f"{SECRET} x", f"{SECRET}\u00e9"):
        with pytest.raises(nodrop.ConfigurationError) as caught:
            nodrop.Client(api_key=wrong)
        assert SECRET not in str(caught.value)
