"""Reading the hand-written side: the tables of decisions, the ledger, and the arms of the match statements.

The files are parsed, never imported: a table counts only as far as it is written out, entry by entry. So nothing can
hide behind a computed key, a default or a `**`, and any checkout can be read, whatever is installed.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from codegen.errors import CannotRunError

DECISIONS: Final = Path("src/nodrop/core/decisions.py")
LEDGER: Final = Path("src/nodrop/core/fields.py")
CORE: Final = Path("src/nodrop/core")
_ACTIONS: Final = ("mapped", "carried", "decided", "ignored", "rejected")


@dataclass(frozen=True, slots=True)
class Row:
    """One entry of a table: `action` and the strings that follow it, and where it stands (last line included)."""

    key: str
    action: str
    words: tuple[str, ...]
    values: tuple[str, ...]
    line: int
    end: int

    @property
    def reason(self) -> str:
        """The last string: what becomes of it, or why it is refused."""
        return self.words[-1] if self.words else ""


@dataclass(slots=True)
class Table:
    """A table that maps names to decisions. A new row belongs after the line `last`."""

    name: str
    file: Path
    line: int
    last: int
    rows: dict[str, Row] = field(default_factory=dict[str, Row])


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm of a match statement over tags."""

    tags: tuple[str, ...]
    line: int
    end: int  # the last line of the arm's body
    body: int  # its first
    raises: bool
    reads: tuple[tuple[str, str], ...]  # (attribute of the subject, name of the method that is called with it)


@dataclass(frozen=True, slots=True)
class Match:
    """A match statement over the `type` of something."""

    file: Path
    line: int
    subject: str
    arms: tuple[Arm, ...]
    keeper: str  # the call that keeps the unknown fields of the subject, with `{}` for them; empty when there is none

    def keeps(self, method: str) -> bool:
        """Whether what is handed to a method is kept on the message."""
        return bool(self.keeper) and self.keeper.partition("(")[0].rpartition(".")[2] == method

    def tags(self) -> set[str]:
        """All tags that have an arm."""
        return {tag for arm in self.arms for tag in arm.tags}


def source(root: Path, path: Path) -> tuple[ast.Module, str]:
    """The syntax tree and the text of a hand-written file. Raises CannotRunError when it cannot be read."""
    try:
        text = (root / path).read_text(encoding="utf-8")
        return ast.parse(text), text
    except OSError as error:
        raise CannotRunError(f"{path}: {error.strerror}: the gate compares the document with this file") from None
    except SyntaxError as error:
        raise CannotRunError(f"{path}:{error.lineno}: not Python: {error.msg}") from None


def tables(root: Path, path: Path) -> dict[str, Table]:
    """Every module-level dict literal of calls, by name. An empty one counts: it is a table that decides nothing."""
    module, _ = source(root, path)
    strings = _strings(module)
    found: dict[str, Table] = {}
    for statement in module.body:
        name, value = _assigned(statement)
        calls = isinstance(value, ast.Dict) and any(isinstance(item, ast.Call) for item in value.values)
        if name is not None and isinstance(value, ast.Dict) and (calls or not value.values):
            table = Table(name, path, statement.lineno, statement.lineno)
            for key, item in zip(value.keys, value.values, strict=True):
                row = _row(path, name, key, item, strings)
                if row.key in table.rows:
                    raise CannotRunError(f"{path}:{row.line}: {row.key!r} is twice in {name}: delete one of the two")
                table.rows[row.key] = row
                table.last = row.end
            found[name] = table
    return found


def _assigned(statement: ast.stmt) -> tuple[str | None, ast.expr | None]:
    match statement:
        case ast.AnnAssign(target=ast.Name(id=name), value=value):
            return name, value
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name, value
        case _:
            return None, None


def _strings(module: ast.Module) -> dict[str, str]:
    """The module's string constants by name, so that rows may share a reason."""
    found: dict[str, str] = {}
    for statement in module.body:
        name, value = _assigned(statement)
        if name is not None and isinstance(value, ast.Constant) and isinstance(value.value, str):
            found[name] = value.value
    return found


def _row(path: Path, table: str, key: ast.expr | None, item: ast.expr, strings: dict[str, str]) -> Row:
    where = f"{path}:{item.lineno}: {table}"
    if key is None:
        raise CannotRunError(f"{where}: a `**` hides entries: write every entry out, one line each")
    name = _string(key, strings)
    if name is None or not isinstance(item, ast.Call) or not isinstance(item.func, ast.Name) or item.keywords:
        raise CannotRunError(f'{where}: not readable: write `"name": rejected("reason"),` with plain strings')
    words: list[str] = [item.func.id] if item.func.id in _ACTIONS else []
    values: tuple[str, ...] = ()
    for argument in item.args:
        if isinstance(argument, ast.Tuple):
            values = tuple(word for element in argument.elts if (word := _string(element, strings)) is not None)
        elif (word := _string(argument, strings)) is not None:
            words.append(word)
        elif not isinstance(argument, ast.Constant):  # None and numbers are further facts, of no interest here
            raise CannotRunError(f"{where}: {name!r}: not readable: write its reason as a plain string")
    if not words or words[0] not in _ACTIONS:
        raise CannotRunError(f"{where}: {name!r} has no action: one of {', '.join(_ACTIONS)}")
    # Finish("mapped", reason, stop_reason): the reason is the second word of a decision, the last of a field.
    rest = words[1:2] if item.func.id not in _ACTIONS and not values else words[1:]
    return Row(name, words[0], tuple(rest), values, key.lineno, item.end_lineno or item.lineno)


def _string(node: ast.expr, strings: dict[str, str]) -> str | None:
    match node:
        case ast.Constant(value=str(value)):
            return value
        case ast.Name(id=name):
            return strings.get(name)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            first, second = _string(left, strings), _string(right, strings)
            return None if first is None or second is None else first + second
        case _:
            return None


def matches(root: Path) -> list[Match]:
    """Every match statement over some `x.type` in the core."""
    found: list[Match] = []
    for path in sorted((root / CORE).glob("*.py")):
        relative = CORE / path.name
        if not re.search(r"^\s*match .*\.type\b", path.read_text(encoding="utf-8"), re.MULTILINE):
            continue  # parsing is what takes time
        module, text = source(root, relative)
        for node in ast.walk(module):
            if isinstance(node, ast.Match) and isinstance(node.subject, ast.Attribute) and node.subject.attr == "type":
                subject = ast.unparse(node.subject.value)
                arms = tuple(_arm(case, subject) for case in node.cases)
                found.append(Match(relative, node.lineno, subject, arms, _keeper(module, text, subject)))
    return found


def _keeper(module: ast.Module, text: str, subject: str) -> str:
    extras = f"{subject}.model_extra"
    for call in (node for node in ast.walk(module) if isinstance(node, ast.Call) and node.args):
        if ast.unparse(call.args[0]) == extras:
            return (ast.get_source_segment(text, call) or "").replace(extras, "{}", 1)
    return ""


def _arm(case: ast.match_case, subject: str) -> Arm:
    patterns = case.pattern.patterns if isinstance(case.pattern, ast.MatchOr) else [case.pattern]
    tags = tuple(
        pattern.value.value
        for pattern in patterns
        if isinstance(pattern, ast.MatchValue)
        and isinstance(pattern.value, ast.Constant)
        and isinstance(pattern.value.value, str)
    )
    last = case.body[-1]
    raises = any(isinstance(statement, ast.Raise) for statement in case.body)
    reads = tuple(sorted(set(_reads(case.body, subject))))
    return Arm(tags, case.pattern.lineno, last.end_lineno or last.lineno, case.body[0].lineno, raises, reads)


def _reads(body: list[ast.stmt], subject: str) -> Iterator[tuple[str, str]]:
    """The attributes of the match's subject that an arm reads, each with the method that it is handed to."""
    for call in (node for statement in body for node in ast.walk(statement) if isinstance(node, ast.Call)):
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)
        for node in (inner for argument in call.args for inner in ast.walk(argument)):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == subject:
                yield node.attr, method
