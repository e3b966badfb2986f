"""Query parameters: a route refuses unknown ones, suggests known ones, and takes one value each."""

import pytest
from fastapi.routing import APIRoute

from service.http.problems import ProblemRaised
from service.http.query import check_query, repeatable_parameters
from service.routes import compilations, diffs, usage
from sweeps.service import sweep_routes

KNOWN, LISTS = frozenset({"wait", "include"}), frozenset({"include"})


@pytest.mark.parametrize("query", [b"", b"wait=5", b"wait=5&include=ptx&include=ttir"])
def test_what_is_known_passes(query: bytes):
    check_query(query, KNOWN, LISTS)


@pytest.mark.parametrize(
    ("query", "name"),
    [(b"wiat=5", "wiat"), (b"wait=5&Wait=6", "Wait"), (b"%00=", "\0"), (b"=", "")],
)
def test_what_is_not_known_is_named(query: bytes, name: str):
    with pytest.raises(ProblemRaised) as raised:
        check_query(query, KNOWN, LISTS)

    assert raised.value.slug == "invalid_request"
    assert raised.value.members == {"parameter": name}


def test_a_misspelt_one_is_guessed():
    with pytest.raises(ProblemRaised, match="wait"):
        check_query(b"wiat=5", KNOWN, LISTS)


def test_a_repeated_one_is_refused():
    with pytest.raises(ProblemRaised, match="wait is given twice; send it once") as raised:
        check_query(b"wait=5&include=ptx&wait=5", KNOWN, LISTS)

    assert raised.value.members == {"parameter": "wait"}


def test_parameters_that_are_lists_may_be_repeated():
    routers = (compilations.router, diffs.router, usage.router, sweep_routes.router)
    routes = [route for router in routers for route in router.routes]
    lists = {repeatable_parameters(route) for route in routes if isinstance(route, APIRoute)}

    assert frozenset[str]().union(*lists) == {"include", "stages", "state", "verdict"}
