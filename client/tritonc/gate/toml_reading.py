"""Reads values from TOML tables and collects all errors, so that they are reported together.

The callers know the meaning of values; this module knows their locations and types.
"""

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_SHOWN_CHARS = 80
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
            like = difflib.get_close_matches(key, names, 1)
            hint = f"; did you mean `{like[0]}`?" if like else f"; known are {', '.join(names)}"
            self.add_problem(key, f"unknown key{hint}")

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
        given = self._of(key, list)
        if given is None:
            return None
        for item in given:
            if not isinstance(item, str) or not item:
                self.add_problem(key, f"{shown(item)} is not a text; this must be a list of texts")
                return None
        if not given:
            self.add_problem(key, "the list is empty, so nothing would be judged")
        return tuple(dict.fromkeys(given))

    def _of(self, key: str, kind: type) -> Any:
        given = self.members.get(key)
        if given is None or isinstance(given, kind):
            return given
        self.add_problem(key, f"{shown(given)} is not {_NAMES[kind]}")
        return None


def shown(given: Any) -> str:
    """Return a value for a message, shortened if it is long."""
    text = repr(given)
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}..."


def _is_bare(key: str) -> bool:
    return bool(key) and key.isascii() and key.replace("-", "").replace("_", "").isalnum()
