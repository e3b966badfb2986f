"""Bounds on the JSON in a body, counted in its bytes before any of it is parsed.

An empty object takes three bytes on the wire and seventy in memory, so the length of a body says
little of what parsing it costs.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from service.http.problems import ProblemRaised


@dataclass(frozen=True)
class JsonSize:
    """Limits on the values and names of a body, and on the containers among the values."""

    values: int
    containers: int

    @cached_property
    def more_values(self) -> re.Pattern[bytes]:
        """Match a body with more values and names."""
        return re.compile(rb"(?s)(?:%s[,:\[{]){%d}+" % (_BETWEEN, self.values + 1))

    @cached_property
    def more_containers(self) -> re.Pattern[bytes]:
        """Match a body with more containers."""
        left_out = rb"%s(?:[,:]%s)*+" % (_BETWEEN, _BETWEEN)
        return re.compile(rb"(?s)(?:%s[\[{]){%d}+" % (left_out, self.containers + 1))


OF_BODY: Final = JsonSize(values=300_000, containers=100_000)
"""The values that the cases of a launch may list are within it, and so are 1,000 requests."""
OF_TOOL: Final = JsonSize(values=50_000, containers=10_000)
"""The limit for a message to `POST /mcp`: its library and the API behind it both parse it."""
MAX_DIGITS: Final = 200
"""The limit for a number in a large body: Python parses integers in quadratic time."""
_SMALL_BYTES: Final = 256 << 10

_STRING = rb'"[^"\\]*+(?:(?:\\.)++[^"\\]*+)*+"'
# there is one string at most between two of the bytes that are counted
_BETWEEN = rb'[^",:\[{]*+(?:' + _STRING + rb'[^",:\[{]*+)?+'
_EIGHT_DIGITS = re.compile(rb"[0-9]{8}")
_LONG_NUMBER = re.compile(
    rb'(?s)(?:[^"0-9]++|%s|[0-9]{1,%d}+(?![0-9]))*+[0-9]' % (_STRING, MAX_DIGITS)
)


def check_json_size(body: bytes, most: JsonSize = OF_BODY) -> None:
    """Refuse a body with more in it than `most`, at any depth, and numbers of too many digits.

    Counted are the bytes before values and names: `,`, `:`, `[` and `{`, outside of strings. What
    is not JSON may pass: its parser stops where the count stops. Takes linear time. Raises
    ProblemRaised: 413 for too many, 400 for a number.
    """
    if len(body) <= most.containers:
        return
    containers = body.count(b"[") + body.count(b"{")
    values = containers + body.count(b",") + body.count(b":")
    # nearly always there are too few of these bytes in all of the body, strings included
    if values > most.values and most.more_values.match(body):
        raise _too_many(most.values, "JSON values and names")
    if containers > most.containers and most.more_containers.match(body):
        raise _too_many(most.containers, "JSON lists and objects")
    # steps of an eighth of its length hit a run of so many digits eight times
    is_likely = len(body) > _SMALL_BYTES and _EIGHT_DIGITS.search(body[:: MAX_DIGITS // 8])
    if is_likely and _LONG_NUMBER.match(body):
        detail = f"A number in the body has more than {MAX_DIGITS} digits; no field takes as many"
        raise ProblemRaised("invalid_json", detail)


def _too_many(limit: int, what: str) -> ProblemRaised:
    detail = f"The body holds more than {limit} {what}; send fewer, in several requests"
    return ProblemRaised("too_large", detail, limit=limit)
