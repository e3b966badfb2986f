"""The query string: parameters that a route does not know are refused, as unknown fields are."""

from functools import lru_cache

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.datastructures import QueryParams

from compiler.rejection import did_you_mean
from service.problems import ProblemRaised


async def refuse_unknown(request: Request) -> None:
    """Raise ProblemRaised (422) for a parameter that the route of `request` does not document."""
    query = request.scope["query_string"]
    if query:
        check_query(query, known_parameters(request.scope["route"]))


def known_parameters(route: APIRoute) -> frozenset[str]:
    """Return the query parameters of `route`: those of its function, and those it reads itself."""
    read = {field.alias for field in route.dependant.query_params}
    written = (route.openapi_extra or {}).get("parameters", [])
    return frozenset(read | {item["name"] for item in written if item["in"] == "query"})


@lru_cache(maxsize=256)
def check_query(query: bytes, known: frozenset[str]) -> None:
    """Raise ProblemRaised (422) for a parameter that is not `known`.

    What is right is remembered, because a client sends the same all the time.
    """
    for name in QueryParams(query):
        if name not in known:
            detail = f"{name[:100]!r} is no parameter here.{did_you_mean(name, known)}"
            raise ProblemRaised("invalid_request", detail, parameter=name[:100])
