"""The settings files: which there are, what they may say, and which value wins.

Read by the document query, the command line and ``nodrop doctor``; never by ``Client()``.

    user file       NODROP_CONFIG, else nodrop/config.toml in the platform's folder for configuration
    project file    the nearest nodrop.toml, or pyproject.toml with [tool.nodrop], from the working directory up to the
                    first folder with a .git; both in one folder is an error

    switch          [rag] streaming  >  [knowledge] streaming  >  MISTRAL_RAG_STREAMING  >  on; each project over user
    api_key         MISTRAL_API_KEY  >  user file
    base_url        MISTRAL_BASE_URL  >  user file  >  Mistral's own
    the rest        project file  >  user file  >  default

A cloned repository brings its project file along. So the key and ``base_url`` are refused there: together they would
send the key to any host that the repository names.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar, cast

from nodrop.client.options import DEFAULT_BASE_URL
from nodrop.errors import ConfigurationError
from nodrop.toml_file import KeyPath, TomlFile, dotted

if TYPE_CHECKING:
    from nodrop.client.options import ClientSettings
    from nodrop.rate_card import RateCard

Value_co = TypeVar("Value_co", covariant=True)
Value = TypeVar("Value")
Scope = Literal["project", "user"]
Origin = Literal["project file", "user file", "environment", "default"]

DEFAULT_MODEL: Final = "mistral-medium-latest"
STREAMING_VARIABLE: Final = "MISTRAL_RAG_STREAMING"
CONFIG_VARIABLE: Final = "NODROP_CONFIG"
_OFF: Final = frozenset({"0", "false", "off", "no"})
_SECTION: Final = ("tool", "nodrop")
_USER_ONLY: Final = frozenset({("api_key",), ("base_url",)})
_REASON: Final = "a project file may not set it, for a cloned repository could send the API key to any host"


@dataclass(frozen=True, slots=True)
class Setting(Generic[Value_co]):
    """A value, and where it came from: ``place`` is the file, line and key, or the variable; a default has none."""

    value: Value_co
    origin: Origin = "default"
    place: str = ""

    @property
    def source(self) -> str:
        """Both, in words."""
        return f"{self.origin} {self.place}".strip()


@dataclass(frozen=True, slots=True)
class Settings:
    """The effective settings. The key is in no ``repr``. ``warnings`` name keys that nobody knows."""

    streaming: Setting[bool]
    model: Setting[str]
    library_ids: Setting[tuple[str, ...]]
    rates_file: Setting[Path | None]
    base_url: Setting[str]
    api_key: Setting[str | None] = field(repr=False)
    user_file: Path
    project_file: Path | None
    warnings: tuple[str, ...] = ()

    def rate_card(self) -> RateCard:
        """The rates of ``rates_file`` over those in the package.

        Raises :class:`nodrop.ConfigurationError` for a bad rates file.
        """
        from nodrop.rate_card import RateCard

        card, path = RateCard.default(), self.rates_file.value
        return card if path is None else card.merged(RateCard.load(path))

    def client_settings(self) -> ClientSettings:
        """The keywords for a :class:`nodrop.Client`; what the environment says, it reads there itself.

        Raises :class:`nodrop.ConfigurationError` for a bad rates file.
        """
        rates = {} if self.rates_file.value is None else {"rates": self.rate_card()}
        ours = {"api_key": self.api_key, "base_url": self.base_url}
        given = {name: setting.value for name, setting in ours.items() if setting.origin == "user file"}
        found: Any = {**given, **rates}
        return found  # type: ignore[no-any-return]


def load_settings(*, directory: Path | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """The settings for a working ``directory`` (the current one) and an environment (this process's).

    Raises :class:`nodrop.ConfigurationError` naming file, line and key for a file that is malformed, a value of the
    wrong type, and a key that a project file may not set.
    """
    environ = os.environ if environ is None else environ
    user_path = user_file(environ)
    named = bool(environ.get(CONFIG_VARIABLE))
    user = _Source.read("user", user_path, ()) if named or user_path.exists() else None
    project = _project_source((Path.cwd() if directory is None else directory).absolute(), user_path)
    files = [source for source in (project, user) if source is not None]

    def first(kind: Callable[[_Source, KeyPath], Value | None], *keys: KeyPath) -> Setting[Value] | None:
        for key in keys:
            for source in files:
                value = kind(source, key)
                if value is not None:
                    return Setting(value, source.origin, source.file.place(source.prefix + key))
        return None

    streaming = first(_Source.boolean, ("rag", "streaming"), ("knowledge", "streaming"))
    return Settings(
        streaming=streaming or _streaming_by_environment(environ),
        model=first(_Source.string, ("model",)) or Setting(DEFAULT_MODEL),
        library_ids=first(_Source.strings, ("library_ids",)) or Setting(()),
        rates_file=first(_Source.path, ("rates_file",)) or Setting(None),
        base_url=_variable(environ, "MISTRAL_BASE_URL")
        or first(_Source.string, ("base_url",))
        or Setting(DEFAULT_BASE_URL),
        api_key=_variable(environ, "MISTRAL_API_KEY") or first(_Source.string, ("api_key",)) or Setting(None),
        user_file=user_path,
        project_file=None if project is None else project.file.path,
        warnings=tuple(warning for source in files for warning in source.warnings()),
    )


def user_file(environ: Mapping[str, str]) -> Path:
    """Where the user file is, whether it exists or not."""
    named = environ.get(CONFIG_VARIABLE)
    if named:
        return Path(named).absolute()
    home = Path(environ.get("HOME") or Path.home())
    if sys.platform == "darwin":
        folder = home / "Library" / "Application Support"
    elif sys.platform == "win32":
        folder = Path(environ.get("APPDATA") or home / "AppData" / "Roaming")
    else:
        folder = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    return folder / "nodrop" / "config.toml"


def _variable(environ: Mapping[str, str], name: str) -> Setting[str] | None:
    value = environ.get(name)
    return Setting(value, "environment", name) if value else None


def _streaming_by_environment(environ: Mapping[str, str]) -> Setting[bool]:
    value = environ.get(STREAMING_VARIABLE)
    if value is None:
        return Setting(True)
    return Setting(value.strip().lower() not in _OFF, "environment", STREAMING_VARIABLE)


def _project_source(directory: Path, user_path: Path) -> _Source | None:
    for folder in (directory, *directory.parents):
        own, shared = folder / "nodrop.toml", folder / "pyproject.toml"
        section = TomlFile.read(shared) if shared.is_file() else None
        has_section = (
            section is not None and isinstance(section.data.get("tool"), dict) and "nodrop" in section.data["tool"]
        )
        if own.is_file() and has_section:
            raise ConfigurationError(f"{folder} has both nodrop.toml and [tool.nodrop] in pyproject.toml: keep one")
        if own.is_file() and own != user_path:
            return _Source.read("project", own, ())
        if section is not None and has_section:
            return _Source.of("project", section, _SECTION)
        if (folder / ".git").exists():
            return None
    return None


@dataclass(frozen=True)
class _Source:
    """One settings file: its scope, and where in it our table begins."""

    scope: Scope
    file: TomlFile
    prefix: KeyPath
    table: dict[str, Any] = field(repr=False)  # it may hold the key

    @classmethod
    def read(cls, scope: Scope, path: Path, prefix: KeyPath) -> _Source:
        return cls.of(scope, TomlFile.read(path), prefix)

    @classmethod
    def of(cls, scope: Scope, file: TomlFile, prefix: KeyPath) -> _Source:
        table: object = file.data
        for part in prefix:
            table = cast("dict[str, object]", table)[part]
        if not isinstance(table, dict):
            raise ConfigurationError(f"{file.place(prefix)} must be a table")
        source = cls(scope, file, prefix, cast("dict[str, Any]", table))
        source._check()
        return source

    @property
    def origin(self) -> Origin:
        return "project file" if self.scope == "project" else "user file"

    def boolean(self, key: KeyPath) -> bool | None:
        return cast("bool | None", self._get(key))

    def string(self, key: KeyPath) -> str | None:
        return cast("str | None", self._get(key))

    def strings(self, key: KeyPath) -> tuple[str, ...] | None:
        found = cast("list[str] | None", self._get(key))
        return None if found is None else tuple(found)

    def path(self, key: KeyPath) -> Path | None:
        found = self.string(key)
        return None if found is None else self.file.path.parent / Path(found).expanduser()

    def warnings(self) -> list[str]:
        """A line for each key that nobody knows, with the nearest known one."""
        allowed = [key for key in _KEYS if self.scope == "user" or key not in _USER_ONLY]
        return [self._unknown(key, allowed) for key in self._keys() if key not in _KEYS]

    def _unknown(self, key: KeyPath, allowed: list[KeyPath]) -> str:
        table, name = key[:-1], key[-1]
        beside = [known for known in allowed if len(known) >= len(key) and known[: len(table)] == table]
        names = list(dict.fromkeys(known[len(table)] for known in beside))
        near = difflib.get_close_matches(name, names, 1)
        hint = f"did you mean {dotted((*table, near[0]))}?" if near else f"there are {', '.join(names)}"
        return f"{self.file.place(self.prefix + key)} is no setting of nodrop; {hint}"

    def _keys(self) -> list[KeyPath]:
        """Every key of the file, those of our tables one by one."""
        found: list[KeyPath] = []
        for name, value in self.table.items():
            inside = name in _TABLES and isinstance(value, dict)
            found += [(name, inner) for inner in cast("dict[str, object]", value)] if inside else [(name,)]
        return found

    def _check(self) -> None:
        for name in _TABLES & self.table.keys():
            if not isinstance(self.table[name], dict):
                raise ConfigurationError(f"{self.file.place((*self.prefix, name))} must be a table")
        for key in self._keys():
            if self.scope == "project" and key in _USER_ONLY:
                raise ConfigurationError(f"{self.file.place(self.prefix + key)} is refused: {_REASON}")
            if key in _KEYS and not _KEYS[key].fits(self._get(key)):
                raise ConfigurationError(f"{self.file.place(self.prefix + key)} must be {_KEYS[key].words}")

    def _get(self, key: KeyPath) -> object:
        value: object = self.table
        for part in key:
            value = cast("dict[str, object]", value).get(part) if isinstance(value, dict) else None
        return value


@dataclass(frozen=True, slots=True)
class _Kind:
    words: str
    fits: Callable[[object], bool]


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(_is_text(item) for item in cast("list[object]", value))


_TEXT: Final = _Kind("a string that is not blank", _is_text)
_TEXTS: Final = _Kind("an array of strings that are not blank", _are_texts)
_SWITCH: Final = _Kind("true or false", lambda value: isinstance(value, bool))
_KEYS: Final[Mapping[KeyPath, _Kind]] = {
    ("api_key",): _TEXT,
    ("base_url",): _TEXT,
    ("model",): _TEXT,
    ("library_ids",): _TEXTS,
    ("rates_file",): _TEXT,
    ("rag", "streaming"): _SWITCH,
    ("knowledge", "streaming"): _SWITCH,
}
_TABLES: Final = frozenset(key[0] for key in _KEYS if len(key) > 1)
