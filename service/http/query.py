"""The query string and `Prefer`: refuses wrong parameters, and reads how long to wait.

Clients repeat the same query strings, so parsed ones are cached.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, get_origin

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.datastructures import QueryParams

from compiler.rejection import did_you_mean
from service.http.problems import ProblemRaised

_PIECE = re.compile(r'(?:[^",;]|"[^"]*")+')
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"""[!#$%&'*+.^_`|~0-9A-Za-z-]+|"[^"]*\"""")
_SECONDS = re.compile(r"\d+(?:\.\d+)?", re.ASCII)


ANY_QUERY: dict[str, Any] = {
    "in": "query",
    "style": "form",
    "explode": True,
    "schema": {"type": "object", "additionalProperties": {"type": "string"}},
}
"""The parameter of a route that checks the names of its parameters itself."""


async def refuse_wrong_query(request: Request) -> None:
    """Raise ProblemRaised (422) for a parameter that the route of `request` does not document.

    Also for one that is repeated and has no list of values.
    """
    query, route = request.scope["query_string"], request.scope["route"]
    if query and not _takes_any(route):
        check_query(query, known_parameters(route), repeatable_parameters(route))


def _takes_any(route: APIRoute) -> bool:
    described = (route.openapi_extra or {}).get("parameters", [])
    return any(item.get("explode") for item in described)


def known_parameters(route: APIRoute) -> frozenset[str]:
    """Return the query parameters of `route`: those of its function, and those it reads itself."""
    read = {field.alias for field in route.dependant.query_params}
    described = (route.openapi_extra or {}).get("parameters", [])
    return frozenset(read | {item["name"] for item in described if item["in"] == "query"})


def repeatable_parameters(route: APIRoute) -> frozenset[str]:
    """Return the query parameters of `route` that are lists."""
    return frozenset(
        field.alias
        for field in route.dependant.query_params
        if get_origin(field.field_info.annotation) in {list, Sequence}
    )


@lru_cache(maxsize=256)
def check_query(query: bytes, known: frozenset[str], repeatable: frozenset[str]) -> None:
    """Raise ProblemRaised (422) for a parameter that is not `known`, or wrongly repeated.

    Valid queries are cached, because clients repeat them.
    """
    seen = set[str]()
    for name, _ in QueryParams(query).multi_items():
        if name not in known:
            detail = f"Unknown query parameter {name[:100]!r}.{did_you_mean(name, known)}"
            raise ProblemRaised("invalid_request", detail, parameter=name[:100])
        if name in seen and name not in repeatable:
            detail = f"{name} is given twice; send it once"
            raise ProblemRaised("invalid_request", detail, parameter=name)
        seen.add(name)


@dataclass(frozen=True, slots=True)
class Wait:
    """Seconds to wait; `is_preference` if `Prefer` asked, which must be acknowledged."""

    seconds: float
    is_preference: bool = False

    @property
    def headers(self) -> dict[str, str]:
        """The header that acknowledges a preference."""
        return {"Preference-Applied": f"wait={self.seconds:g}"} if self.is_preference else {}


def requested_wait(request: Request, max_wait_s: float, default_s: float = 0.0) -> Wait:
    """Return the wait of `request`, at most `max_wait_s`, or `default_s` if it names none.

    Raises ProblemRaised (422) when `wait` is not a number of seconds ≥ 0.
    """
    value = _wait_in_query(request.scope["query_string"])
    if value is not None:
        return Wait(min(_seconds(value), max_wait_s))
    preferred = _wait_in_prefer(request.headers.getlist("prefer"))
    if preferred is not None:
        return Wait(min(preferred, max_wait_s), is_preference=True)
    return Wait(min(default_s, max_wait_s))


@lru_cache(maxsize=64)
def _wait_in_query(query: bytes) -> str | None:
    """Return `wait` of a query string. Cached, because clients repeat it."""
    value: str | None = QueryParams(query).get("wait")
    return value


def prefers_redirect(request: Request) -> bool:
    """Return True if the client prefers to be redirected to large bytes."""
    preferences = _preferences(request.headers.getlist("prefer"))
    return any(name == "redirect" for name, _, _ in preferences)


def _wait_in_prefer(headers: Sequence[str]) -> float | None:
    """Return the first `wait` of the headers; other preferences may be ignored (RFC 7240).

    Raises ProblemRaised (422) if it is not a preference, or not a number of seconds.
    """
    for name, value, header in _preferences(headers):
        if name == "wait":
            if not _SECONDS.fullmatch(value):
                raise _malformed(header)
            return float(value)
    return None


def _preferences(headers: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield each preference: its name, its value, and the header it is in.

    Raises ProblemRaised (422) if it is not a preference.
    """
    for header in headers:
        if header.count('"') % 2:
            raise _malformed(header)
        for piece in filter(str.strip, _PIECE.findall(header)):
            name, is_given, value = (part.strip() for part in piece.partition("="))
            if not _TOKEN.fullmatch(name) or (is_given and not _VALUE.fullmatch(value)):
                raise _malformed(header)
            yield name.lower(), value.strip('"'), header


def _malformed(header: str) -> ProblemRaised:
    detail = f"Prefer {header[:200]!r} is not understood; write, for example, Prefer: wait=30"
    return ProblemRaised("invalid_request", detail, parameter="Prefer")


def _seconds(value: str) -> float:
    try:
        seconds = float(value) if "_" not in value else -1.0  # float() reads 1_0 as 10
    except ValueError:
        seconds = -1.0
    if not seconds >= 0:  # also refuses nan
        detail = f"wait={value!r} is not a number of seconds; write for example wait=30"
        raise ProblemRaised("invalid_request", detail, parameter="wait")
    return seconds
