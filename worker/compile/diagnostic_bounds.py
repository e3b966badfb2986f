"""Bounds on the diagnostics and assumptions of children that a record keeps.

Pure; used where a child's report is checked, and where those of several are put together.
"""

from collections.abc import Sequence
from dataclasses import replace

from compiler.diagnostic import MESSAGE_CHARS, Assumption, Diagnostic, clipped

MOST_DIAGNOSTICS = 50
HINT_CHARS = 1000
EXCERPT_CHARS = 2000
FILE_CHARS = 300
MAX_ASSUMPTION_FILE_CHARS = 4096
DIAGNOSTICS_CHARS = 64 << 10
"""The limit for all texts of all diagnostics of one record."""
MOST_LINE = 1 << 31


def kept_diagnostics(reported: Sequence[Diagnostic], children: int = 1) -> list[Diagnostic]:
    """Return the first of `reported`, and a note if there are more than a record keeps.

    `children` is how many of them report it: each may report as much.
    """
    kept: list[Diagnostic] = []
    left_chars = DIAGNOSTICS_CHARS * children
    for one in map(_clipped_diagnostic, reported[: MOST_DIAGNOSTICS * children]):
        left_chars -= sum(map(len, filter(None, (one.message, one.hint, one.file, one.excerpt))))
        if left_chars < 0:
            break
        kept.append(one)
    if len(kept) == len(reported):
        return kept
    message = f"{len(reported) - len(kept)} more messages were not kept."
    return [*kept, Diagnostic(severity="note", stage=reported[0].stage, message=message)]


def bounded_assumption(assumption: Assumption) -> Assumption:
    """Return `assumption` with its message clipped.

    Raises ValueError for a file or a line that no source has.
    """
    if len(assumption.file) > MAX_ASSUMPTION_FILE_CHARS or _place(assumption.line) is None:
        raise ValueError("an assumption is of a file and a line that a source has")
    return replace(assumption, message=clipped(assumption.message, MESSAGE_CHARS))


def _clipped_diagnostic(item: Diagnostic) -> Diagnostic:
    """Return `item` with every text clipped, and without numbers that no text has lines for."""
    return replace(
        item,
        message=clipped(item.message, MESSAGE_CHARS),
        hint=_clipped(item.hint, HINT_CHARS),
        file=_clipped(item.file, FILE_CHARS),
        excerpt=_clipped(item.excerpt, EXCERPT_CHARS),
        line=_place(item.line),
        column=_place(item.column),
        end_line=_place(item.end_line),
        end_column=_place(item.end_column),
    )


def _clipped(text: str | None, most_chars: int) -> str | None:
    return None if text is None else clipped(text, most_chars)


def _place(number: int | None) -> int | None:
    return number if number is not None and 0 <= number < MOST_LINE else None
