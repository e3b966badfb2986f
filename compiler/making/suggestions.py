"""Names that somebody may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most like `name`, ignoring case, or `None` if none is like it."""
    names = {candidate.lower(): candidate for candidate in known}
    found = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.66)
    return names[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `". Did you mean 'x'?"` for the closest known name, or an empty string."""
    found = closest(name, known)
    return f". Did you mean {found!r}?" if found else ""
