"""What a client is told: where the server is, the key, and the bounds."""

from __future__ import annotations

import difflib
import inspect
import os
import platform
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypedDict, TypeVar
from urllib.parse import urlsplit

from nodrop.core.assembler import UnknownFields
from nodrop.core.flow import Timeouts
from nodrop.core.retry import RetryPolicy
from nodrop.core.sse import MAX_EVENT_BYTES
from nodrop.errors import ConfigurationError, NodropError
from nodrop.rate_card import RateCard
from nodrop.version import __version__

_Kind = TypeVar("_Kind")
DEFAULT_BASE_URL: Final = "https://api.mistral.ai"
PATH: Final = "/v1/chat/completions"
_KEY_VARIABLE: Final = "MISTRAL_API_KEY"
_URL_VARIABLE: Final = "MISTRAL_BASE_URL"
_OWN_HEADERS: Final = frozenset({"authorization", "content-type", "accept", "content-length", "host"})


@dataclass(frozen=True, slots=True)
class RetryNotice:
    """Given to ``on_retry`` before each wait: the attempt (from 1) that failed, its error, and the seconds to wait."""

    attempt: int
    error: NodropError
    wait: float


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """The options of a client. The key is in no ``repr`` and does not pickle."""

    base_url: str
    api_key: str = field(repr=False)
    key_variable: str = ""
    """The environment variable that the key came from; empty when it was given."""
    timeouts: Timeouts = field(default_factory=Timeouts)
    retries: RetryPolicy = field(default_factory=RetryPolicy)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    rates: RateCard = field(default_factory=RateCard.default, repr=False)
    unknown_fields: UnknownFields = "keep"
    max_event_bytes: int = MAX_EVENT_BYTES
    on_retry: Callable[[RetryNotice], None] | None = None

    @property
    def url(self) -> str:
        """The address of the chat-completions endpoint."""
        return self.base_url + PATH

    def request_headers(self, family: str, *, stream: bool) -> dict[str, str]:
        """The headers of a request. ``family`` names the HTTP library and its version."""
        python = platform.python_version()
        own = {
            "authorization": f"Bearer {self.api_key}",
            "content-type": "application/json",
            "accept": "text/event-stream" if stream else "application/json",
        }
        if stream:
            own["accept-encoding"] = "identity"  # a compressing proxy would hold events back
        return {"user-agent": f"nodrop/{__version__} python/{python} {family}", **self.headers, **own}

    def __reduce__(self) -> Any:
        raise TypeError("client options hold the API key and do not pickle; build them in the process that needs them")


class ClientSettings(TypedDict, total=False):
    """The keywords of a client. ``None`` means: as it is."""

    api_key: str | None
    """The key; else ``MISTRAL_API_KEY``."""
    base_url: str | None
    """The server, with or without ``/v1``; else ``MISTRAL_BASE_URL``, else Mistral's own."""
    timeouts: Timeouts | None
    """Bounds in seconds; by default 10 to connect, 300 of silence, no total."""
    max_retries: int | None
    """Further attempts after a failure before the first content; 2 by default."""
    max_retry_delay: float | None
    """A server that asks to wait longer than this many seconds (60 by default) ends the request at once."""
    headers: Mapping[str, str] | None
    """Further headers of each request."""
    rates: RateCard | None
    """The rate card for cost estimates and for which models take images."""
    unknown_fields: UnknownFields | None
    """``keep`` (the default): a field that nobody knows is kept on ``message.unmapped``; ``reject``: it is an error."""
    max_event_bytes: int | None
    """The largest event of a stream; 16 MiB by default."""
    on_retry: Callable[[RetryNotice], None] | None
    """Called before each wait. What it raises ends the request and comes out of the call."""


def client_options(settings: ClientSettings) -> ClientOptions:
    """The options from arguments, else from the environment, else by default. Raises :class:`ConfigurationError`."""
    options = ClientOptions(
        base_url=_base_url(settings.get("base_url"), os.environ.get(_URL_VARIABLE)),
        api_key=_api_key(settings.get("api_key"), os.environ.get(_KEY_VARIABLE)),
        key_variable=_KEY_VARIABLE,
    )
    return changed(options, settings)


def changed(options: ClientOptions, settings: ClientSettings) -> ClientOptions:
    """``options`` with what is given; headers are added to those that are there. Raises :class:`ConfigurationError`."""
    unknown = sorted(settings.keys() - ClientSettings.__annotations__.keys())
    if unknown:
        near = difflib.get_close_matches(unknown[0], ClientSettings.__annotations__, 1)
        raise ConfigurationError(f"no client option {unknown[0]!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    new: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
    retries = options.retries
    if "max_retries" in new:
        retries = replace(retries, max_retries=_whole("max_retries", new.pop("max_retries"), least=0))
    if "max_retry_delay" in new:
        retries = replace(retries, max_delay=_seconds("max_retry_delay", new.pop("max_retry_delay")))
    checks: dict[str, Callable[[Any], Any]] = {
        "api_key": lambda key: _api_key(key, None),
        "base_url": lambda url: _base_url(url, None),
        "timeouts": _timeouts,
        "headers": lambda headers: {**options.headers, **_headers(headers)},
        "unknown_fields": _unknown_fields,
        "max_event_bytes": lambda size: _whole("max_event_bytes", size, least=1024),
        "rates": _of_kind(RateCard, "rates is a RateCard, for example RateCard.load(path)"),
        "on_retry": _callback,
    }
    checked = {name: checks[name](value) for name, value in new.items()}
    if "api_key" in checked:
        checked["key_variable"] = ""
    return replace(options, retries=retries, **checked)


def _of_kind(kind: type[_Kind], words: str) -> Callable[[object], _Kind]:
    """A check for an option that is an object of ours. ``words`` say what it must be."""

    def check(value: object) -> _Kind:
        if not isinstance(value, kind):
            raise ConfigurationError(f"{words}, not {type(value).__name__}")
        return value

    return check


def _callback(value: Callable[[RetryNotice], None]) -> Callable[[RetryNotice], None]:
    if not callable(value):
        raise ConfigurationError(f"on_retry is a function that takes a RetryNotice, not {type(value).__name__}")
    if inspect.iscoroutinefunction(value):
        raise ConfigurationError("on_retry is called and not awaited: a coroutine function would never run")
    return value


def _unknown_fields(value: str) -> str:
    if value not in ("keep", "reject"):
        raise ConfigurationError("unknown_fields is 'keep' or 'reject'")
    return value


def _api_key(argument: str | None, variable: str | None) -> str:
    key = argument if argument is not None else variable
    if key is None:
        raise ConfigurationError(f"no API key: pass api_key=, or set {_KEY_VARIABLE}")
    source = "api_key" if argument is not None else _KEY_VARIABLE
    if not isinstance(key, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"api_key is a string, not {type(key).__name__}")
    key = key.strip()
    if not key:
        raise ConfigurationError(f"the API key in {source} is blank")
    if not re.fullmatch(r"[!-~]+", key):
        raise ConfigurationError(f"the API key in {source} holds a character that no key has (a space, a quote, …)")
    return key


def _base_url(argument: str | None, variable: str | None) -> str:
    source = "base_url" if argument is not None else _URL_VARIABLE
    given = argument if argument is not None else (variable or DEFAULT_BASE_URL)
    if not isinstance(given, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"base_url is a string, not {type(given).__name__}")
    try:
        parts = urlsplit(given.strip())
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        usable = usable and not re.search(r"[\s\\<>\"^`{|}]", given.strip())
    except ValueError:
        usable = False
    if not usable:
        raise ConfigurationError(f"{source} must be an http or https address such as {DEFAULT_BASE_URL}")
    parts = urlsplit(given.strip())
    if parts.username or parts.password:
        raise ConfigurationError(f"{source} must hold no user name or password")
    if parts.query or parts.fragment:
        raise ConfigurationError(f"{source} must end before '?' and '#'")
    path = parts.path.rstrip("/").removesuffix(PATH).removesuffix("/v1")
    return f"{parts.scheme}://{parts.netloc}{path}"


def _headers(headers: Mapping[str, str]) -> dict[str, str]:
    if not isinstance(headers, Mapping) or not all(isinstance(word, str) for pair in headers.items() for word in pair):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError("headers is a mapping of names to values, all of them strings")
    lowered = {name.lower(): value for name, value in headers.items()}
    own = sorted(_OWN_HEADERS & lowered.keys())
    if own:
        raise ConfigurationError(f"nodrop sets the header {own[0]!r} itself; the key is the option api_key")
    for name, value in lowered.items():
        if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9a-z-]+", name) or not re.fullmatch(r"[\t -~\x80-\xff]*", value):
            raise ConfigurationError("a header's name or value holds a character that no header may have")
    return lowered


def _timeouts(value: object) -> Timeouts:
    timeouts = _of_kind(Timeouts, "timeouts is a Timeouts, for example Timeouts(silence=60)")(value)
    _seconds("timeouts.connect", timeouts.connect)
    _seconds("timeouts.silence", timeouts.silence)
    if timeouts.total is not None:
        _seconds("timeouts.total", timeouts.total)
    return timeouts


def _seconds(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"{name} is seconds, more than 0")
    return float(value)


def _whole(name: str, value: int, *, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"{name} is a whole number, at least {least}")
    return value
