"""The settings files: scopes, precedence, refusals, and errors that name file, line and key."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import nodrop
from nodrop.settings import DEFAULT_MODEL, Settings, load_settings, user_file
from nodrop.toml_file import TomlFile


class Home:
    """A user file, a project with a .git, and a folder inside it."""

    def __init__(self, root: Path) -> None:
        self.user = root / "config" / "nodrop" / "config.toml"
        self.project = root / "project"
        self.inside = self.project / "src" / "deep"
        self.user.parent.mkdir(parents=True)
        self.inside.mkdir(parents=True)
        (self.project / ".git").mkdir()
        self.environ = {"XDG_CONFIG_HOME": str(root / "config"), "HOME": str(root)}

    def load(self, **environ: str) -> Settings:
        return load_settings(directory=self.inside, environ={**self.environ, **environ, "NODROP_CONFIG": self.named})

    @property
    def named(self) -> str:
        # Named only when it is there: the default place differs by platform, and a named file must exist.
        return str(self.user) if self.user.exists() else ""

    def write_user(self, text: str) -> None:
        self.user.write_text(text, encoding="utf-8")

    def write_project(self, text: str, name: str = "nodrop.toml") -> None:
        (self.project / name).write_text(text, encoding="utf-8")

    def error(self, **environ: str) -> str:
        with pytest.raises(nodrop.ConfigurationError) as caught:
            self.load(**environ)
        return str(caught.value)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


# ---- precedence ----

STATES = (None, True, False)


def written(rag: bool | None, knowledge: bool | None) -> str:
    tables = {"rag": rag, "knowledge": knowledge}
    return "".join(f"[{name}]\nstreaming = {str(on).lower()}\n" for name, on in tables.items() if on is not None)


def oracle(*sources: bool | None) -> bool:
    """The first that says anything, in the order of the contract; else on."""
    for source in sources:
        if source is not None:
            return source
    return True


@pytest.mark.parametrize("in_pyproject", [False, True], ids=["nodrop.toml", "pyproject.toml"])
def test_every_combination_of_the_five_sources(in_pyproject: bool, home: Home) -> None:
    combinations = list(itertools.product(STATES, repeat=5))
    assert len(combinations) == 243
    for rag_project, rag_user, knowledge_project, knowledge_user, variable in combinations:
        home.write_user(written(rag_user, knowledge_user))
        text = written(rag_project, knowledge_project)
        if in_pyproject:
            home.write_project(text.replace("[", "[tool.nodrop."), "pyproject.toml")
        else:
            home.write_project(text)
        environ = {} if variable is None else {"MISTRAL_RAG_STREAMING": "1" if variable else "0"}
        found = home.load(**environ).streaming
        expected = oracle(rag_project, rag_user, knowledge_project, knowledge_user, variable)
        assert found.value is expected, (rag_project, rag_user, knowledge_project, knowledge_user, variable)
        origins = ["project file", "user file", "project file", "user file", "environment"]
        said = [rag_project, rag_user, knowledge_project, knowledge_user, variable]
        assert found.origin == next((o for o, s in zip(origins, said, strict=True) if s is not None), "default")


@pytest.mark.parametrize("value", ["0", "false", "off", "no", " OFF ", "False", "\tNo\n"])
def test_words_of_the_variable_that_mean_off(value: str, home: Home) -> None:
    assert home.load(MISTRAL_RAG_STREAMING=value).streaming.value is False


@pytest.mark.parametrize("value", ["1", "true", "on", "yes", "", " ", "nope", "00", "of f"])
def test_any_other_word_means_on(value: str, home: Home) -> None:
    assert home.load(MISTRAL_RAG_STREAMING=value).streaming.value is True


def test_the_other_settings(home: Home) -> None:
    home.write_user(
        'api_key = "k-user"\nbase_url = "https://user.example"\nmodel = "m-user"\n'
        'library_ids = ["u"]\nrates_file = "rates.toml"\n'
    )
    found = home.load()
    assert (found.api_key.value, found.base_url.value) == ("k-user", "https://user.example")
    assert (found.model.value, found.library_ids.value) == ("m-user", ("u",))
    assert found.rates_file.value == home.user.parent / "rates.toml"
    home.write_project('model = "m-project"\nlibrary_ids = []\n')
    found = home.load(MISTRAL_API_KEY="k-env", MISTRAL_BASE_URL="https://env.example")
    assert (found.api_key.value, found.base_url.value) == ("k-env", "https://env.example")
    assert (found.model.value, found.library_ids.value) == ("m-project", ())
    assert found.model.place == f"{home.project / 'nodrop.toml'}, line 1: model"


def test_without_any_file(home: Home) -> None:
    found = home.load()
    assert (found.model.value, found.model.source) == (DEFAULT_MODEL, "default")
    assert (found.library_ids.value, found.rates_file.value, found.api_key.value) == ((), None, None)
    assert found.streaming.value is True
    assert found.project_file is None
    assert found.client_settings() == {}


def test_the_key_is_in_no_repr(home: Home) -> None:
    home.write_user('api_key = "k-secret"\n')
    assert "k-secret" not in repr(home.load())
    assert home.load().client_settings() == {"api_key": "k-secret"}


def test_a_rates_file_becomes_the_rate_card_of_the_client(home: Home) -> None:
    home.write_user('rates_file = "missing.toml"\n')
    with pytest.raises(nodrop.ConfigurationError, match=r"missing\.toml"):
        home.load().client_settings()


# ---- which file ----


def test_the_nearest_project_file_counts_and_none_beyond_the_first_git(home: Home) -> None:
    (home.project.parent / "nodrop.toml").write_text('model = "outside"\n')
    assert home.load().model.value == DEFAULT_MODEL
    home.write_project('model = "root"\n')
    assert home.load().model.value == "root"
    (home.inside / "pyproject.toml").write_text("[tool.other]\nx = 1\n")
    assert home.load().model.value == "root"
    (home.inside.parent / "pyproject.toml").write_text('[tool.nodrop]\nmodel = "nearer"\n')
    assert home.load().model.value == "nearer"


def test_git_may_be_a_file_as_in_a_worktree(home: Home) -> None:
    (home.project.parent / "nodrop.toml").write_text('model = "outside"\n')
    (home.project / ".git").rmdir()
    assert home.load().model.value == "outside"
    (home.project / ".git").write_text("gitdir: elsewhere\n")
    assert home.load().model.value == DEFAULT_MODEL


def test_both_in_one_folder_is_an_error(home: Home) -> None:
    home.write_project('model = "a"\n')
    home.write_project('[tool.nodrop]\nmodel = "b"\n', "pyproject.toml")
    assert "has both nodrop.toml and [tool.nodrop]" in home.error()
    home.write_project("[tool.other]\n", "pyproject.toml")
    assert home.load().model.value == "a"


def test_a_named_user_file_must_exist(home: Home, tmp_path: Path) -> None:
    with pytest.raises(nodrop.ConfigurationError, match=r"no\.toml: cannot be read"):
        load_settings(directory=home.inside, environ={"NODROP_CONFIG": str(tmp_path / "no.toml")})


@pytest.mark.parametrize(
    ("platform", "environ", "expected"),
    [
        ("linux", {"HOME": "/h"}, "/h/.config/nodrop/config.toml"),
        ("linux", {"HOME": "/h", "XDG_CONFIG_HOME": "/x"}, "/x/nodrop/config.toml"),
        ("darwin", {"HOME": "/h"}, "/h/Library/Application Support/nodrop/config.toml"),
        ("win32", {"HOME": "/h", "APPDATA": "/roaming"}, "/roaming/nodrop/config.toml"),
        ("linux", {"HOME": "/h", "NODROP_CONFIG": "/n.toml"}, "/n.toml"),
    ],
)
def test_the_place_of_the_user_file(
    platform: str, environ: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nodrop.settings.sys.platform", platform)
    assert user_file(environ) == Path(expected)


def test_a_client_reads_no_file(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.write_user("this is = = no TOML")
    monkeypatch.setenv("NODROP_CONFIG", str(home.user))
    with nodrop.Client(api_key="k"):
        pass


# ---- refusals, errors, warnings ----


@pytest.mark.parametrize("key", ["api_key", "base_url"])
@pytest.mark.parametrize("in_pyproject", [False, True], ids=["nodrop.toml", "pyproject.toml"])
def test_a_project_file_may_not_set_the_key_or_the_server(key: str, in_pyproject: bool, home: Home) -> None:
    line = f'{key} = "https://evil.example/SECRET"\n'
    if in_pyproject:
        home.write_project(f"[project]\nname = 'x'\n\n[tool.nodrop]\n# a comment\n{line}", "pyproject.toml")
        expected = f"{home.project / 'pyproject.toml'}, line 6: tool.nodrop.{key} is refused"
    else:
        home.write_project(f"\n{line}")
        expected = f"{home.project / 'nodrop.toml'}, line 2: {key} is refused"
    said = home.error()
    assert said.startswith(expected)
    assert "a cloned repository could send the API key to any host" in said
    assert "SECRET" not in said


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[rag]\nstreaming = "SECRET"\n', "line 2: rag.streaming must be true or false"),
        ("\n# why\n\n[rag]\n\n# off\nstreaming = 0\n", "line 7: rag.streaming must be true or false"),
        ("rag.streaming = 1\n", "line 1: rag.streaming must be true or false"),
        ("model = 'a'\nrag = { streaming = [\n  1,\n] }\n", "line 2: rag.streaming must be true or false"),
        ("rag = true\n", "line 1: rag must be a table"),
        ('model = "a"\nknowledge = "SECRET"\n', "line 2: knowledge must be a table"),
        ("model = 3\n", "line 1: model must be a string that is not blank"),
        ('model = " "\n', "line 1: model must be a string that is not blank"),
        ('library_ids = "SECRET"\n', "line 1: library_ids must be an array of strings that are not blank"),
        ('model = """\na\nb"""\nlibrary_ids = [\n  "a",\n  3,\n]\n', "line 4: library_ids must be an array"),
        ("rates_file = false\n", "line 1: rates_file must be a string"),
        ("model = 'a\n", "line 1: no valid TOML"),
        ("model = 'a'\nmodel = 'b'\n", "line 2: no valid TOML"),
        ("model = 'a'\n[rag\n", "line 2: no valid TOML"),
        ('model = """\nendless\n', "line 2: no valid TOML"),
    ],
)
@pytest.mark.parametrize("scope", ["user", "project"])
def test_what_is_malformed_is_named_by_file_line_and_key(scope: str, text: str, expected: str, home: Home) -> None:
    if scope == "user":
        home.write_user(text)
        path = home.user
    else:
        home.write_project(text)
        path = home.project / "nodrop.toml"
    said = home.error()
    assert said.startswith(f"{path}, {expected}")
    assert "SECRET" not in said


def test_a_wrong_user_value_is_found_though_the_project_would_win(home: Home) -> None:
    home.write_user("[rag]\nstreaming = 1\n")
    home.write_project("[rag]\nstreaming = true\n")
    assert "rag.streaming must be true or false" in home.error()


def test_a_section_that_is_no_table(home: Home) -> None:
    home.write_project("[tool]\nnodrop = 3\n", "pyproject.toml")
    assert home.error().endswith("line 2: tool.nodrop must be a table")


def test_a_file_that_is_not_utf8(home: Home) -> None:
    home.user.write_bytes(b'model = "a"\n# caf\xe9\n')
    assert home.error() == f"{home.user}, line 2: the file is not UTF-8"


def test_windows_line_ends_count_right(home: Home) -> None:
    home.user.write_bytes(b'# one\r\nmodel = "a"\r\n\r\nrates_file = 3\r\n')
    assert "line 4: rates_file" in home.error()


def test_unknown_keys_are_warned_of_with_the_nearest_known_one(home: Home) -> None:
    home.write_user('modell = "SECRET"\nzzz = 1\n[rag]\nstreamin = true\n')
    home.write_project('[knowlege]\nstreaming = true\n"odd key SECRET" = 1\n')
    found = home.load()
    assert found.warnings == (
        f"{home.project / 'nodrop.toml'}, line 1: knowlege is no setting of nodrop; did you mean knowledge?",
        f"{home.user}, line 1: modell is no setting of nodrop; did you mean model?",
        f"{home.user}, line 2: zzz is no setting of nodrop; "
        "there are api_key, base_url, model, library_ids, rates_file, rag, knowledge",
        f"{home.user}, line 4: rag.streamin is no setting of nodrop; did you mean rag.streaming?",
    )
    assert "SECRET" not in repr(found.warnings)
    assert found.streaming.origin == "default"


def test_a_project_is_never_pointed_to_what_it_may_not_set(home: Home) -> None:
    home.write_project('base_ur = "https://evil.example"\napi_keyy = "k"\n')
    assert all(
        "did you mean base_url" not in each and "did you mean api_key" not in each for each in home.load().warnings
    )
    assert len(home.load().warnings) == 2


# ---- lines ----


def test_the_line_of_every_key_of_a_file_with_all_kinds_of_statements(tmp_path: Path) -> None:
    text = (
        "a = 1\n"  # 1
        "# b = 0\n"  # 2
        "\n"  # 3
        "b.c = '''\n"  # 4
        "[d]\n"  # 5, inside the string
        "x = 3'''\n"  # 6
        "b.e = [1,\n"  # 7
        " 2]\n"  # 8
        "[d] # table\n"  # 9
        "'odd key' = 1\n"  # 10
        "f = {g = 1, h = {i = 2}}\n"  # 11
        "[[j]]\n"  # 12
        "k = 1\n"  # 13
    )
    path = tmp_path / "all.toml"
    path.write_text(text)
    file = TomlFile.read(path)
    lines = {
        ("a",): 1, ("b", "c"): 4, ("b", "e"): 7, ("d",): 9, ("d", "odd key"): 10, ("d", "f", "g"): 11,
        ("d", "f", "h", "i"): 11, ("j",): 12,
    }  # fmt: skip
    assert {key: file.line(key) for key in lines} == lines
    with pytest.raises(LookupError):
        file.line(("nope",))
