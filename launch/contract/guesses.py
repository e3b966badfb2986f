"""Statements of a contract that begin with `only`: true of the cases that it was inferred from.

Cases of one size do not show which equalities are chance: a proof with such a statement is not for
all sizes. If you know that it always holds, delete the word.
"""

import re
from collections.abc import Iterator

MARK = "only "
_MARK = re.compile(r"[ \t]*only(?=[ \t]+[A-Za-z_])", re.ASCII)


def guesses_of(text: str) -> list[str]:
    """Return the statements that are marked, without the word."""
    return [
        statement
        for line in text.splitlines()
        if (mark := _MARK.match(line)) and (statement := _statement(line[mark.end() :]))
    ]


def unmarked(text: str) -> str:
    """Return the contract with blanks in place of the word: columns stay as they are."""
    return "".join(_blanked(line) for line in text.splitlines(keepends=True))


def equalities_of(text: str) -> Iterator[str]:
    """Yield the statements `n = m`, marked or not."""
    for line in unmarked(text).splitlines():
        statement = _statement(line)
        if re.match(r"[\w.]+\s*=(?!=)", statement):
            yield statement


def _statement(line: str) -> str:
    return line.partition("#")[0].strip()


def _blanked(line: str) -> str:
    mark = _MARK.match(line)
    return line if mark is None else " " * mark.end() + line[mark.end() :]
