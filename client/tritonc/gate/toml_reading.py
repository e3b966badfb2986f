"""Reads values from TOML tables with their lines, and collects all errors to report them together.

The callers know the meaning of values; this module knows their locations and types.
"""

import difflib
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_SHOWN_CHARS = 80
MAX_LISTED = 30
MAX_PROBLEMS = 200
"""The first ones are reported; a hostile file could have any number."""
_NAMES: dict[type, str] = {
    str: "a text",
    dict: "a table",
    list: "a list",
    bool: "true or false",
    int: "an integer",
    float: "a number",
}
_MAX_LEVELS = 32
"""Of a key: a parser takes quadratic time for its levels."""
_HEADER = re.compile(r"\s*\[{1,2}(?P<name>[^\[\]]+)\]{1,2}\s*(?:#.*)?")
_NOT_IN_A_KEY = frozenset("#[]{},")
_TRIPLE = re.compile(r'"""|\'\'\'')

_DEEP_KEY = re.compile(
    r"""(?<![\w.-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+)"""
    f"{{{_MAX_LEVELS}}}"
)

KeyPath = tuple[str, ...]


@dataclass(frozen=True, slots=True, order=True)
class FileProblem:
    """One error: `place` is the key as TOML would write it, such as `kernels.add.grid`."""

    place: str
    message: str

    def __str__(self) -> str:
        """Return `place: message`; an error of the whole file has no place."""
        return f"{self.place}: {self.message}" if self.place else self.message


@dataclass(frozen=True, slots=True)
class TomlTable:
    """A table and its path in the file; all tables of a file share one list of `problems`."""

    members: Mapping[str, Any]
    place: str
    problems: list[FileProblem] = field(default_factory=list)

    def at(self, key: str) -> str:
        """Return the path of a member."""
        key = key if len(key) <= MAX_SHOWN_CHARS else f"{key[:MAX_SHOWN_CHARS]}..."
        written = key if _is_bare(key) else json.dumps(key)
        return f"{self.place}.{written}" if self.place else written

    def add_problem(self, key: str, message: str) -> None:
        """Note an error of a member, or of the table itself for ""."""
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(FileProblem(self.at(key) if key else self.place, message))

    def only(self, known: Iterable[str]) -> None:
        """Note errors for unknown members, with the most similar known one."""
        names = sorted(known)
        for key in sorted(self.members.keys() - set(names))[:MAX_PROBLEMS]:
            self.add_problem(key, f"unknown key{alike(key, names)}")

    def text(self, key: str) -> str | None:
        """Return a text, None if it is missing or of another type."""
        text: str | None = self._of(key, str)
        return text

    def flag(self, key: str) -> bool | None:
        """Return true or false, None if it is missing or of another type."""
        flag: bool | None = self._of(key, bool)
        return flag

    def mapping(self, key: str) -> dict[str, Any]:
        """Return a table unchanged, an empty one if it is missing or of another type."""
        return self._of(key, dict) or {}

    def table(self, key: str) -> "TomlTable":
        """Return a table for reading, an empty one if it is missing."""
        return TomlTable(self.mapping(key), self.at(key), self.problems)

    def tables(self) -> dict[str, "TomlTable"]:
        """Return every member as a table; note errors for other types."""
        return {key: self.table(key) for key in self.members}

    def array(self, key: str) -> list[Any]:
        """Return a list unchanged, an empty one if it is missing or of another type."""
        return self._of(key, list) or []

    def texts(self, key: str) -> tuple[str, ...] | None:
        """Return a list of distinct texts, None if it is missing."""
        items = self._of(key, list)
        if items is None:
            return None
        for item in items:
            if not isinstance(item, str) or not item:
                self.add_problem(key, f"{shown(item)} is not a text; this must be a list of texts")
                return None
        if not items:
            self.add_problem(key, "the list is empty, so nothing would be judged")
        return tuple(dict.fromkeys(items))

    def _of(self, key: str, kind: type) -> Any:
        value = self.members.get(key)
        if value is None or isinstance(value, kind):
            return value
        self.add_problem(key, f"{shown(value)} is not {_NAMES[kind]}")
        return None


def shown(value: Any) -> str:
    """Return a value for a message, shortened if it is long."""
    text = repr(value)
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}..."


def alike(word: str, known: Iterable[str]) -> str:
    """Return a hint with the known name that a word resembles, or with the known names."""
    names = sorted(known)
    like = difflib.get_close_matches(word[:MAX_SHOWN_CHARS], names, 1)
    more = ", ..." if len(names) > MAX_LISTED else ""
    listed = ", ".join(names[:MAX_LISTED]) + more
    return f"; did you mean `{like[0]}`?" if like else f"; known are {listed}"


def _is_bare(key: str) -> bool:
    return bool(key) and key.isascii() and key.replace("-", "").replace("_", "").isalnum()


# Line numbers of keys in a TOML file, which Python's parser does not report.
#
# Only the beginnings of lines are read. A key whose line is uncertain has none.


def toml_of(text: str) -> dict[str, Any]:
    """Return the content of TOML.

    Raises ValueError for anything else, and for what is nested deeper than any parser should go.
    """
    if _DEEP_KEY.search(text):
        raise ValueError(f"a key has more than {_MAX_LEVELS} levels")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("its lists or tables are nested too deeply") from None


def key_lines(text: str) -> dict[KeyPath, int]:
    """Return the 1-based line of each table's header and of each key, by its full path.

    Expects valid TOML. Returns nothing for files with multi-line strings, which may look like any
    other line.
    """
    if _TRIPLE.search(text):
        return {}
    lines: dict[KeyPath, int] = {}
    table: KeyPath = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.fullmatch(line):
            table = key_path(header["name"])
            lines.setdefault(table, number)
        else:
            name, equals, _ = line.partition("=")
            if equals and not _NOT_IN_A_KEY & set(name):
                lines.setdefault(table + key_path(name), number)
    return lines


def line_of(path: KeyPath, lines: dict[KeyPath, int]) -> int | None:
    """Return the line of a path, or of the innermost table or key around it."""
    return next((lines[outer] for outer in _outwards(path) if outer in lines), None)


def _outwards(path: KeyPath) -> Iterator[KeyPath]:
    for length in range(len(path), 0, -1):
        yield path[:length]


def key_path(written: str) -> KeyPath:
    """Return the keys of a dotted name, as TOML parses it; () if it is invalid."""
    try:
        members = toml_of(f"{written} = 0")
    except ValueError:
        return ()
    path: list[str] = []
    while isinstance(members, dict):
        if len(members) != 1:
            return ()
        [(key, members)] = members.items()
        path.append(key)
    return tuple(path)
