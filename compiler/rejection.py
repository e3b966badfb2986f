"""Errors of a request, field by field, with suggestions.

It knows JSON pointers but no HTTP status: the service maps it to one. Standard library only.
"""

import difflib
import json
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

MAX_ERRORS = 50
MAX_SHOWN_CHARS = 60
MAX_NAME_CHARS = 256
"""The maximum length of a member's name in a pointer."""
MAX_SHOWN_BITS = 128
MAX_LISTED = 20
_ALIKE = 0.74
ALIKE_AMONG_FEW = 0.6
"""A low bar, for names that the message lists anyway: a wrong guess does no harm."""
_SHORTEST_BEGINNING = 4
_MAX_SLIP = 64
_MAX_COMPARED = 100_000
"""Pairs of characters that one search for an alike name may compare: 10 ms of CPU."""
_MAX_COMPARED_FOR_A_REQUEST = 5_000
"""The same for names of a request, which may have many errors."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """One wrong field: `pointer` is an RFC 6901 JSON pointer into the body."""

    pointer: str
    message: str


class RequestRejected(Exception):
    """The caller can fix the request; `errors` has at most `MAX_ERRORS` of its errors."""

    slug = "invalid_request"

    def __init__(self, *errors: FieldError) -> None:
        self.errors = errors[:MAX_ERRORS]
        super().__init__("; ".join(f"{error.pointer}: {error.message}" for error in self.errors))


def collecting(errors: list[FieldError]) -> AbstractContextManager[None]:
    """Add the errors of a rejection in the block to `errors`, so that others can be found too."""
    return _Collecting(errors)


class _Collecting:
    """A class and no generator: every request passes several of them."""

    __slots__ = ("_errors",)

    def __init__(self, errors: list[FieldError]) -> None:
        self._errors = errors

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> bool:
        if not isinstance(error, RequestRejected):
            return False
        self._errors.extend(error.errors)
        return True


def pointer(*parts: str | int) -> str:
    """Join `parts` to an RFC 6901 JSON pointer; of a long name it has the first characters."""
    texts = [str(part)[:MAX_NAME_CHARS] for part in parts]
    return "".join(["/" + text.replace("~", "~0").replace("/", "~1") for text in texts])


def shown(value: Any) -> str:
    """Return `value` as a message quotes it: in JSON's spelling, `MAX_SHOWN_CHARS` at most."""
    if isinstance(value, int) and value.bit_length() > MAX_SHOWN_BITS:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, str):
        value = value[: MAX_SHOWN_CHARS + 1]
    # piece by piece: a value may hold a million items, of which the first are shown
    text = "".join(_first(json.JSONEncoder(ensure_ascii=False).iterencode(value)))
    return text if len(text) <= MAX_SHOWN_CHARS else text[: MAX_SHOWN_CHARS - 3] + "..."


def _first(pieces: Iterable[str]) -> Iterator[str]:
    """Yield the first pieces of a text, until there is enough of it to be shown."""
    length = 0
    for piece in pieces:
        yield piece[: MAX_SHOWN_CHARS + 1]
        length += len(piece)
        if length > MAX_SHOWN_CHARS:
            return


def listed(names: Iterable[str]) -> str:
    """Return names as a message lists them: the first ones, and how many more there are."""
    every = list(names)
    text = ", ".join(every[:MAX_LISTED]) or "none"
    return text if len(every) <= MAX_LISTED else f"{text} and {len(every) - MAX_LISTED} more"


def closest(
    name: str, known: Iterable[str], alike: float = _ALIKE, most_compared: int = _MAX_COMPARED
) -> str | None:
    """Return the known name most like `name`, ignoring case, or `None` if none is like it.

    Like it is what a slip of the fingers makes of a name (`arnge`, `BLOK`, `laod`), or its first
    letters (`offs`); words that merely share some letters (`relu`, `ravel`) are not. Names with an
    underscore in front are meant only by such names. Of many long names, the first are compared.
    """
    if len(name) > _MAX_SLIP:
        return None
    is_private = name[:1] == "_"
    names = {
        candidate.lower(): candidate for candidate in known if is_private or candidate[:1] != "_"
    }
    nearest = _most_alike(name.lower(), names, alike, most_compared)
    if nearest is None and len(name) >= _SHORTEST_BEGINNING:
        beginning = (known_name for known_name in names if known_name.startswith(name.lower()))
        nearest = min(beginning, key=len, default=None)
    return None if nearest is None else names[nearest]


def _most_alike(name: str, names: Iterable[str], alike: float, most_compared: int) -> str | None:
    """Return what `difflib.get_close_matches` finds first, within a number of comparisons."""
    matcher = difflib.SequenceMatcher(b=name)
    best: tuple[float, str] | None = None
    for candidate in names:
        matcher.set_seq1(candidate)
        if most_compared < 0:
            break
        if matcher.real_quick_ratio() < alike:
            continue
        most_compared -= len(name) + len(candidate)
        if matcher.quick_ratio() < alike:
            continue
        most_compared -= len(name) * len(candidate)
        if (ratio := matcher.ratio()) >= alike:
            best = max(best or (ratio, candidate), (ratio, candidate))
    return None if best is None else best[1]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return " Did you mean `x`?" for the closest of a request's few names, or an empty string."""
    meant = closest(name, known, ALIKE_AMONG_FEW, _MAX_COMPARED_FOR_A_REQUEST)
    return f" Did you mean `{meant}`?" if meant else ""


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return `". Did you mean 'x'?"` for the closest of a source's names, or an empty string."""
    meant = closest(name, known)
    return f". Did you mean {meant!r}?" if meant else ""
