"""Line numbers of keys in a TOML file, which Python's parser does not report.

Only the beginnings of lines are read. A key whose line is uncertain has none.
"""

import re
import tomllib
from collections.abc import Iterator
from typing import Any

MAX_LEVELS = 32
"""Of a key: a parser takes quadratic time for its levels."""
_HEADER = re.compile(r"\s*\[{1,2}(?P<name>[^\[\]]+)\]{1,2}\s*(?:#.*)?")
_NOT_IN_A_KEY = frozenset("#[]{},")
_TRIPLE = re.compile(r'"""|\'\'\'')

_DEEP_KEY = re.compile(
    r"""(?<![\w.-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+)"""
    f"{{{MAX_LEVELS}}}"
)

KeyPath = tuple[str, ...]


def toml_of(text: str) -> dict[str, Any]:
    """Return the content of TOML.

    Raises ValueError for anything else, and for what is nested deeper than any parser should go.
    """
    if _DEEP_KEY.search(text):
        raise ValueError(f"a key has more than {MAX_LEVELS} levels")
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
    found: dict[KeyPath, int] = {}
    table: KeyPath = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.fullmatch(line):
            table = key_path(header["name"])
            found.setdefault(table, number)
        else:
            name, equals, _ = line.partition("=")
            if equals and not _NOT_IN_A_KEY & set(name):
                found.setdefault(table + key_path(name), number)
    return found


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
