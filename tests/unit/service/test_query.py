"""Query parameters: a route refuses unknown ones and suggests known ones."""

import pytest

from service.http.problems import ProblemRaised
from service.http.query import check_query

KNOWN = frozenset({"wait", "include"})


@pytest.mark.parametrize("query", [b"", b"wait=5", b"wait=5&include=ptx&include=ttir"])
def test_what_is_known_passes(query: bytes):
    check_query(query, KNOWN)


@pytest.mark.parametrize(
    ("query", "name"),
    [(b"wiat=5", "wiat"), (b"wait=5&Wait=6", "Wait"), (b"%00=", "\0"), (b"=", "")],
)
def test_what_is_not_known_is_named(query: bytes, name: str):
    with pytest.raises(ProblemRaised) as raised:
        check_query(query, KNOWN)

    assert raised.value.slug == "invalid_request"
    assert raised.value.members == {"parameter": name}


def test_a_misspelt_one_is_guessed():
    with pytest.raises(ProblemRaised, match="wait"):
        check_query(b"wiat=5", KNOWN)
