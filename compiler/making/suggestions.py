"""Names that somebody may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_ALIKE = 0.74
_SHORTEST_BEGINNING = 4


def closest(name: str, known: Iterable[str], alike: float = _ALIKE) -> str | None:
    """Return the known name most like `name`, ignoring case, or `None` if none is like it.

    Like it is what a slip of the fingers makes of a name (`arnge`, `BLOK`, `laod`), or its first
    letters (`offs`); words that merely share some letters (`relu`, `ravel`) are not.
    """
    names = {candidate.lower(): candidate for candidate in known if candidate[:1] != "_"}
    found = difflib.get_close_matches(name.lower(), names, n=1, cutoff=alike)
    if not found and len(name) >= _SHORTEST_BEGINNING:
        found = [known_name for known_name in names if known_name.startswith(name.lower())]
    return names[min(found, key=len)] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `". Did you mean 'x'?"` for the closest known name, or an empty string."""
    found = closest(name, known)
    return f". Did you mean {found!r}?" if found else ""
