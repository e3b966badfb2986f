"""What a record keeps of the diagnostics that children told: so many, so long.

Pure; used where what a child said is taken over.
"""

from collections.abc import Sequence

from compiler.compilation import Diagnostic
from compiler.diagnostic import MESSAGE_CHARS, clipped

MOST_DIAGNOSTICS = 50
HINT_CHARS = 1000
EXCERPT_CHARS = 2000
FILE_CHARS = 300
DIAGNOSTICS_CHARS = 64 << 10
"""Of all texts of all diagnostics of one record."""
MOST_LINE = 1 << 31


def kept_diagnostics(said: Sequence[Diagnostic], children: int = 1) -> list[Diagnostic]:
    """Return the first of `said`, and a note if there were more than a record keeps.

    `children` is how many of them said it, each of which is let say as much.
    """
    kept: list[Diagnostic] = []
    left_chars = DIAGNOSTICS_CHARS * children
    for one in map(_kept, said[: MOST_DIAGNOSTICS * children]):
        left_chars -= sum(map(len, filter(None, (one.message, one.hint, one.file, one.excerpt))))
        if left_chars < 0:
            break
        kept.append(one)
    if len(kept) == len(said):
        return kept
    message = f"{len(said) - len(kept)} more messages were not kept."
    return [*kept, Diagnostic(severity="note", stage=said[0].stage, message=message)]


def _kept(said: Diagnostic) -> Diagnostic:
    """Return `said` with every text clipped, and without numbers that no text has lines for."""
    places = ("line", "column", "end_line", "end_column")
    return said.model_copy(
        update={
            "message": clipped(said.message, MESSAGE_CHARS),
            "hint": _clipped(said.hint, HINT_CHARS),
            "file": _clipped(said.file, FILE_CHARS),
            "excerpt": _clipped(said.excerpt, EXCERPT_CHARS),
            **{name: _place(getattr(said, name)) for name in places},
        }
    )


def _clipped(text: str | None, most_chars: int) -> str | None:
    return None if text is None else clipped(text, most_chars)


def _place(number: int | None) -> int | None:
    return number if number is not None and 0 <= number < MOST_LINE else None
