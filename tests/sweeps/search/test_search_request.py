"""Search requests: accepted members, and errors with their pointers."""

import pytest

from compiler.rejection import RequestRejected
from sweeps.search.search_request import read_search


def errors(raw, kind="launches"):
    with pytest.raises(RequestRejected) as rejected:
        read_search(raw, kind=kind, base={})
    return {error.pointer: error.message for error in rejected.value.errors}


def test_an_empty_search_is_by_halving():
    assert read_search({}, kind="launches", base={"cases": []}).kind == "halving"


def test_no_search_is_none():
    assert read_search(None, kind="compilations", base={}) is None


def test_compilations_have_no_times_to_search_by():
    assert errors({}, kind="compilations") == {
        "/search": "there is nothing to time: `base` is a compilation. Make it a launch (a "
        "compilation with arguments and a grid), or leave `search` out"
    }


@pytest.mark.parametrize(
    ("raw", "at"),
    [
        ("halving", "/search"),
        ({"kind": "genetic"}, "/search/kind"),
        ({"repeats": 0}, "/search/repeats"),
        ({"repeats": 10.5}, "/search/repeats"),
        ({"repeats": True}, "/search/repeats"),
        ({"repeats": 10**30}, "/search/repeats"),
        ({"max_ms": 0}, "/search/max_ms"),
        ({"max_ms": "10"}, "/search/max_ms"),
        ({"keep": 1}, "/search/keep"),
        ({"keep": 0}, "/search/keep"),
        ({"keep": float("nan")}, "/search/keep"),
        ({"finalists": 0}, "/search/finalists"),
        ({"finalists": 65}, "/search/finalists"),
        ({"passes": 1}, "/search/passes"),
        ({"spills": False}, "/search/spills"),
    ],
)
def test_nonsense_is_refused_at_its_pointer(raw, at):
    assert list(errors(raw)) == [at]


def test_a_slip_of_the_fingers_is_reported():
    assert "Did you mean `repeats`?" in errors({"repeat": 3})["/search/repeat"]
