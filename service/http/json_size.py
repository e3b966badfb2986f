"""Bounds on the JSON in a body, counted in its bytes before any of it is parsed.

An empty object takes three bytes on the wire and seventy in memory, so the cost of
parsing a body does not follow from its length.
"""

import re
from dataclasses import dataclass
from typing import Final

from service.http.problems import ProblemRaised


@dataclass(frozen=True)
class JsonSize:
    """Limits on the values and names of a body, and on the containers among the values."""

    values: int
    containers: int


OF_BODY: Final = JsonSize(values=300_000, containers=100_000)
"""The values that the cases of a launch may list are within it, and so are 1,000 requests."""
OF_TOOL: Final = JsonSize(values=50_000, containers=10_000)
"""The limit for a message to `POST /mcp`: its library and the API behind it both parse it."""
MAX_DIGITS: Final = 200
"""The limit for a number in a large body: Python parses integers in quadratic time."""
_SMALL_BYTES: Final = 256 << 10
_EIGHT_DIGITS = re.compile(rb"[0-9]{8}")
_LONG_NUMBER = re.compile(rb"[0-9]{%d}" % (MAX_DIGITS + 1))


def check_json_size(body: bytes, most: JsonSize = OF_BODY) -> None:
    """Refuse a body with more in it than `most`, at any depth, and numbers of too many digits.

    Counted are the bytes before values and names: `,`, `:`, `[` and `{`, outside of strings. What
    is not JSON may pass: its parser stops where the count stops. Takes linear time. Raises
    ProblemRaised: 413 for too many, 400 for a number.
    """
    if len(body) <= most.containers:
        return
    # steps of an eighth of its length hit a run of that many digits eight times
    has_digits = len(body) > _SMALL_BYTES and _EIGHT_DIGITS.search(body[:: MAX_DIGITS // 8])
    # nearly always there are too few of these bytes in all of the body, strings included
    if _is_within(body, most) and not has_digits:
        return
    outside = _without_strings(body, most)
    if outside is None or _count(outside, b",:[{") > most.values:
        raise _too_many(most.values, "JSON values and names")
    if _count(outside, b"[{") > most.containers:
        raise _too_many(most.containers, "JSON lists and objects")
    if has_digits and _LONG_NUMBER.search(outside):
        detail = f"A number in the body has more than {MAX_DIGITS} digits; no field takes that many"
        raise ProblemRaised("invalid_json", detail)


def _is_within(text: bytes, most: JsonSize) -> bool:
    values = _count(text, b",:[{")
    is_small = values <= min(most.values, most.containers)
    return is_small or (values <= most.values and _count(text, b"[{") <= most.containers)


def _count(text: bytes, counted: bytes) -> int:
    """Return how many of the bytes `counted` there are, in one pass: they may be all there is."""
    return len(text) - len(text.translate(None, counted))


def _without_strings(body: bytes, most: JsonSize) -> bytes | None:
    """Return a body with a quote for each string; None if it has too many strings to cut it."""
    plain = body.replace(rb"\\", b"").replace(rb"\"", b"")
    # each string is a value or a name
    if plain.count(b'"') > 2 * (most.values + 1):
        return None
    return b'"'.join(plain.split(b'"')[::2])


def _too_many(limit: int, what: str) -> ProblemRaised:
    detail = f"The body holds more than {limit} {what}; split it into several requests"
    return ProblemRaised("too_large", detail, limit=limit)
