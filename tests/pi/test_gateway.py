"""The gateway over real HTTP: routes, the token, validation, and what becomes of a request."""

from __future__ import annotations

import json
import logging
import time
from typing import Any

import pytest

from nodrop import ConfigurationError, Model, RateCard
from nodrop.pi import GatewaySettings, create_app
from nodrop.pi.models import models_json
from nodrop.testing import MistralServer, Reply, Stall, finish, start, text, usage
from tests.pi.gateway import MODEL, TOKEN, Gateway, ask, assistant, call, read_events, result, running_gateway, user

JSON = dict[str, Any]


def answer(*items: Any) -> Reply:
    return Reply.stream(start(), *items, finish("stop", usage=usage(1000, 50, cached_tokens=400), model=MODEL))


# ---- routes and the token ----


def test_health_needs_no_token(gateway: Gateway) -> None:
    assert gateway.http.get(f"{gateway.url}/health").json()["status"] == "ok"


@pytest.mark.parametrize("base", ["", "/pi", "/a/b"])
def test_the_base_path_is_free(gateway: Gateway, base: str) -> None:
    gateway.mistral.enqueue(answer(text("ok")))
    response = gateway.http.post(f"{gateway.url}{base}/messages", json=ask(), headers=gateway.headers)
    assert read_events(response.text)[-1]["type"] == "done"
    models = gateway.http.get(f"{gateway.url}{base}/models.json").json()
    assert models["providers"]["nodrop"]["baseUrl"] == gateway.url + base


@pytest.mark.parametrize(
    "header", [{}, {"authorization": ""}, {"authorization": "Bearer x"}, {"authorization": f"Bearer {TOKEN}x"},
               {"authorization": TOKEN}, {"authorization": f"Basic {TOKEN}"}],
)  # fmt: skip
def test_without_the_token_nothing_is_asked(gateway: Gateway, header: JSON) -> None:
    response = gateway.post(ask(), headers=header)
    assert response.status_code == 401
    assert response.json()["error"]["code"] == "unauthorized"
    assert TOKEN not in response.text
    assert not gateway.mistral.requests


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/messages", 405), ("POST", "/other", 404)])
def test_other_routes_are_errors_in_pis_form(gateway: Gateway, method: str, path: str, status: int) -> None:
    response = gateway.http.request(method, gateway.url + path, headers=gateway.headers)
    assert response.status_code == status
    assert response.json()["error"]["message"]


@pytest.mark.parametrize("token", ["", "short", "with a space in the middle", "ünprintable-and-long-enough"])
def test_a_weak_token_is_refused(token: str) -> None:
    with pytest.raises(ConfigurationError, match="NODROP_TOKEN"):
        GatewaySettings(token=token)


def test_the_bare_app_refuses_to_start_without_a_token() -> None:
    with pytest.raises(ConfigurationError, match="NODROP_TOKEN"):
        GatewaySettings.from_environment({"MISTRAL_API_KEY": "k"})


@pytest.mark.parametrize("name", ["NODROP_PI_HEARTBEAT", "NODROP_PI_MAX_REQUEST_BYTES"])
@pytest.mark.parametrize("value", ["often", "0", "-1", "nan", "inf"])
def test_wrong_settings_name_the_variable(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        GatewaySettings.from_environment({"NODROP_TOKEN": TOKEN, name: value})
    assert name in str(raised.value)


# ---- validation ----


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"context": {"messages": []}}, "model"),
        ({**ask(), "stream": True}, "stream"),
        ({**ask(), "context": {"messages": [], "systemPrompt": "x"}}, "context.systemPrompt"),
        (ask(thinkingBudgets={}), "options.thinkingBudgets"),
        (ask(reasoning="enormous"), "options.reasoning"),
        (ask(maxTokens=0), "options.maxTokens"),
        (ask(maxTokens="9"), "options.maxTokens"),
        (ask(temperature="hot"), "options.temperature"),
        (ask(cacheRetention="forever"), "options.cacheRetention"),
        (ask(sessionId="with a\nnewline"), "options.sessionId"),
        (ask(toolChoice="perhaps"), "options.toolChoice"),
        (ask({"role": "user"}), "content"),
        (ask({"role": "bashExecution", "content": "secret"}), "context.messages.0"),
        ([], "the body"),
        ("secret", "the body"),
        (None, "the body"),
    ],
)
def test_what_pi_does_not_send_is_refused_by_place(gateway: Gateway, body: Any, place: str) -> None:
    response = gateway.http.post(f"{gateway.url}/messages", content=json.dumps(body), headers=gateway.headers)
    assert response.status_code == 400
    assert place in response.json()["error"]["message"].replace("\u2060", "")
    assert "secret" not in response.text
    assert not gateway.mistral.requests


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 50_000])
def test_a_body_that_is_no_json_is_refused(gateway: Gateway, body: bytes) -> None:
    response = gateway.http.post(f"{gateway.url}/messages", content=body, headers=gateway.headers)
    assert response.status_code == 400


def test_a_block_that_cannot_be_sent_is_an_error_event_by_name(gateway: Gateway) -> None:
    audio = {"role": "user", "content": [{"type": "audio", "data": "secret"}], "timestamp": 1}
    (event,) = gateway.events(ask(audio))
    assert event["type"] == "error"
    assert "audio" in event["errorMessage"]
    assert "secret" not in json.dumps(event)
    assert event["usage"]["cost"]["total"] == 0
    assert not gateway.mistral.requests


def test_an_unknown_model_is_refused(gateway: Gateway) -> None:
    response = gateway.post(ask(model="mistral-imaginary"))
    assert response.status_code == 404
    assert response.json()["error"]["code"] == "unknown_model"


@pytest.mark.parametrize("declared", [True, False], ids=["content-length", "chunked"])
def test_a_request_that_is_too_large_is_413(mistral_server: MistralServer, declared: bool) -> None:
    body = json.dumps(ask(user("x" * 5_000_000))).encode()
    with running_gateway(mistral_server, max_request_bytes=100_000) as gateway:
        content: Any = body if declared else iter([body[:1000], body[1000:]])
        response = gateway.http.post(f"{gateway.url}/messages", content=content, headers=gateway.headers)
        assert response.status_code == 413
        assert not mistral_server.requests
        mistral_server.enqueue(answer(text("still here")))
        assert gateway.events(ask())[-1]["type"] == "done"


# ---- what is sent ----


def test_the_rate_cards_cost_is_on_done(gateway: Gateway) -> None:
    gateway.mistral.enqueue(answer(text("ok")))
    done = gateway.events(ask())[-1]
    assert done["usage"] == {
        "input": 600, "output": 50, "cacheRead": 400, "cacheWrite": 0, "totalTokens": 1050,
        "cost": {"input": pytest.approx(0.0009), "output": pytest.approx(0.000375),
                 "cacheRead": pytest.approx(0.00006), "cacheWrite": 0.0, "total": pytest.approx(0.001335)},
    }  # fmt: skip


def test_one_attempt_is_made(gateway: Gateway) -> None:
    gateway.mistral.enqueue(Reply.error(503, "Service unavailable."))
    (event,) = gateway.events(ask())
    assert event["type"] == "error"
    assert "(503)" in event["errorMessage"]
    assert len(gateway.mistral.requests) == 1


@pytest.mark.parametrize(
    ("options", "effort"), [({}, "none"), ({"reasoning": "off"}, "none"), ({"reasoning": "high"}, "high")]
)
def test_thinking_levels(gateway: Gateway, options: JSON, effort: str) -> None:
    gateway.events(ask(**options))
    assert gateway.sent["reasoning_effort"] == effort


def test_a_model_that_cannot_be_told_off_is_told_nothing(gateway: Gateway) -> None:
    gateway.events(ask(model="zai-glm-5-3"))
    assert "reasoning_effort" not in gateway.sent
    gateway.events(ask(model="zai-glm-5-3", reasoning="low"))
    assert gateway.sent["reasoning_effort"] == "low"


@pytest.mark.parametrize(("model", "level"), [(MODEL, "medium"), ("codestral-latest", "high")])
def test_a_level_that_the_model_lacks_is_refused(gateway: Gateway, model: str, level: str) -> None:
    response = gateway.post(ask(model=model, reasoning=level))
    assert response.status_code == 400
    assert "thinking level" in response.json()["error"]["message"]


def test_max_tokens(gateway: Gateway) -> None:
    def sent(body: JSON) -> int:
        gateway.events(body)
        found: int = gateway.sent["max_tokens"]
        return found

    assert sent(ask(model="codestral-latest")) == 8192
    assert sent(ask(model="codestral-latest", maxTokens=100)) == 100
    assert sent(ask(model="codestral-latest", maxTokens=9000)) == 9000
    assert sent(ask(user("x" * 3500))) == 262144 - 1000 - 4096
    assert sent(ask(user("x" * 3_500_000))) == 1


def test_images_count_towards_the_room(gateway: Gateway) -> None:
    image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    gateway.events(ask({"role": "user", "content": [image], "timestamp": 1}))
    assert gateway.sent["max_tokens"] == 262144 - 1372 - 4096  # 4800 characters


def test_the_session_steers_the_cache(gateway: Gateway) -> None:
    gateway.events(ask(sessionId="session-1", cacheRetention="long"))
    assert gateway.sent["prompt_cache_key"] == "session-1"
    assert gateway.mistral.requests[-1].headers["x-affinity"] == "session-1"
    for options in ({}, {"sessionId": "session-1", "cacheRetention": "none"}):
        gateway.events(ask(**options))
        assert "prompt_cache_key" not in gateway.sent
        assert "x-affinity" not in gateway.mistral.requests[-1].headers


def test_the_other_options_pass(gateway: Gateway) -> None:
    tool = {"name": "read", "description": "d", "parameters": {"type": "object", "properties": {}}}
    system = {"role": "system", "content": "s", "toolsAdded": [tool], "timestamp": 1}
    choice = {"type": "function", "function": {"name": "read"}}
    gateway.events(ask(system, user("Hi"), temperature=0, toolChoice=choice))
    assert gateway.sent["temperature"] == 0
    assert gateway.sent["tool_choice"] == choice
    gateway.events(ask(system, user("Hi"), toolChoice="any"))
    assert gateway.sent["tool_choice"] == "any"


# ---- the transcript ----


def test_failed_turns_are_left_out_whole(gateway: Gateway) -> None:
    failed = assistant({"type": "text", "text": "half"}, call("aaaaaaaaa"), stop="error", errorMessage="x")
    aborted = assistant({"type": "text", "text": "cut"}, stop="aborted")
    gateway.events(ask(user("one"), failed, result("aaaaaaaaa", "orphan"), aborted, user("two")))
    assert [message["role"] for message in gateway.sent["messages"]] == ["user", "user"]
    told = json.dumps(gateway.sent)
    assert not [word for word in ("half", "cut", "orphan") if word in told]


def test_blank_texts_are_left_out(gateway: Gateway) -> None:
    blank = assistant({"type": "text", "text": "\n"}, call("aaaaaaaaa"), stop="toolUse")
    gateway.events(ask(user("one"), blank, result("aaaaaaaaa", "ok"), user("two")))
    (turn,) = [message for message in gateway.sent["messages"] if message["role"] == "assistant"]
    assert "content" not in turn or not turn["content"]


def test_system_messages_fold_and_replay_even_last(gateway: Gateway) -> None:
    def tool(name: str) -> JSON:
        return {"name": name, "description": name, "parameters": {"type": "object", "properties": {}}}

    first = {
        "role": "system", "content": "", "sections": {"preamble": "P", "rules": "R1", "gone": "G"},
        "toolsAdded": [tool("read"), tool("bash")], "timestamp": 1,
    }  # fmt: skip
    change = {
        "role": "system", "content": "More.", "sections": {"rules": "R2", "gone": None},
        "toolsAdded": [tool("mcp__x")], "toolsRemoved": [{"name": "bash"}], "timestamp": 2,
    }  # fmt: skip
    turn = assistant(call("aaaaaaaaa"), stop="toolUse")
    gateway.events(ask(first, user("go"), turn, result("aaaaaaaaa", "done"), change))
    sent = gateway.sent
    assert [message["role"] for message in sent["messages"]] == ["system", "user", "assistant", "tool"]
    assert sent["messages"][0]["content"] == "More.\n\nP\n\nR2"
    assert [each["function"]["name"] for each in sent["tools"]] == ["read", "mcp__x"]


def test_half_characters_are_replaced(gateway: Gateway) -> None:
    body = json.dumps(ask(user("half \ud83d."))).encode()
    assert b"\\ud83d" in body
    response = gateway.http.post(f"{gateway.url}/messages", content=body, headers=gateway.headers)
    assert read_events(response.text)[-1]["type"] == "done"
    assert gateway.sent["messages"][-1]["content"][0]["text"] == "half \ufffd."


def test_what_is_ours_or_pis_own_is_not_sent(gateway: Gateway) -> None:
    turn = assistant(
        {"type": "text", "text": "Hello", "textSignature": "sig-text"},
        {"type": "thinking", "thinking": "deep", "thinkingSignature": "sig-thought"},
        diagnostics=[{"type": "note", "timestamp": 1}], responseId="resp-1",
    )  # fmt: skip
    gateway.events(ask(user("one"), turn, user("two")))
    told = json.dumps(gateway.sent)
    for word in ("sig-text", "deep", "sig-thought", "resp-1", "durationMs", "thinkingLevel", "note"):
        assert word not in told


# ---- models.json ----


def test_models_json_has_every_id_and_alias_of_the_rate_card() -> None:
    card = RateCard.default()
    models = models_json(card, "http://x")["providers"]["nodrop"]["models"]
    assert [model["id"] for model in models] == [name for model in card for name in model.names]
    medium = next(model for model in models if model["id"] == MODEL)
    assert medium["contextWindow"] == medium["maxTokens"] == 262144
    assert medium["input"] == ["text", "image"]
    assert medium["thinkingLevelMap"] == {
        "off": "none", "minimal": None, "low": None, "medium": None, "high": "high", "xhigh": None, "max": None,
    }  # fmt: skip
    assert medium["cost"] == {"input": 1.5, "output": 7.5, "cacheRead": 0.15, "cacheWrite": 0.0}
    assert not [model for model in models if "promptCache" in model]


def test_a_model_without_a_rate_costs_zero_and_the_start_says_so(
    mistral_server: MistralServer, caplog: pytest.LogCaptureFixture
) -> None:
    known = RateCard.default().find(MODEL)
    assert known is not None
    mine = Model(id="ft:mine", input=("text",), source="me", date=known.date)
    with caplog.at_level(logging.WARNING, "nodrop.pi"):
        with running_gateway(mistral_server, rates=RateCard.default().with_model(mine)) as gateway:
            mistral_server.enqueue(Reply.stream(text("ok"), finish("stop", usage=usage(5, 5), model="ft:mine")))
            done = gateway.events(ask(model="ft:mine"))[-1]
    assert done["usage"]["input"] == 5
    assert done["usage"]["cost"]["total"] == 0
    assert "max_tokens" not in gateway.sent
    assert "ft:mine" in caplog.text


# ---- a client that goes away ----


@pytest.mark.parametrize("where", ["before the head", "in the body"])
def test_a_client_that_leaves_ends_the_request_upstream(
    gateway: Gateway, where: str, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    reply = answer(text("one"), text("two"))
    place: Any = "before_headers" if where == "before the head" else sum(len(part) for part in reply.parts[:2])
    mistral = gateway.mistral
    mistral.enqueue(reply.with_faults(Stall(at=place)))
    with caplog.at_level(logging.INFO, "nodrop.pi"):
        with gateway.http.stream("POST", f"{gateway.url}/messages", json=ask(), headers=gateway.headers) as response:
            if where == "in the body":
                lines = response.iter_lines()
                while "one" not in next(lines):
                    pass
            mistral.wait_for_requests(1)
            left = time.monotonic()
        mistral.wait_until(lambda: mistral.replies[0].client_closed_at is not None, what="the end upstream")
    closed = mistral.replies[0].client_closed_at
    assert closed is not None
    with capsys.disabled():
        print(f"\n  {where}: upstream closed {(closed - left) * 1000:.1f} ms after the client left")
    assert closed - left < 1.0


def test_the_app_needs_no_network_to_be_made() -> None:
    assert create_app(GatewaySettings(token=TOKEN, api_key="k", base_url="http://127.0.0.1:1")).routes
