"""The waiting time that a request asks for, and errors about it."""

import pytest

from service.http.problems import ProblemRaised
from service.http.query import Wait, requested_wait
from tests.unit.service.asgi import request


@pytest.mark.parametrize(
    ("query", "seconds"),
    [
        ("", 0),
        ("wait=0", 0),
        ("wait=5", 5),
        ("wait=0.5", 0.5),
        ("wait=1e1", 10),
        ("include=ptx", 0),
    ],
)
def test_wait_is_seconds(query: str, seconds: float):
    assert requested_wait(request(query=query), 60) == Wait(seconds)


@pytest.mark.parametrize("query", ["wait=61", "wait=1e300", "wait=inf"])
def test_wait_is_clamped(query: str):
    assert requested_wait(request(query=query), 60) == Wait(60)


@pytest.mark.parametrize(
    "query",
    [
        "wait=",
        "wait=-1",
        "wait=-inf",
        "wait=nan",
        "wait=5s",
        "wait=true",
        "wait=0x10",
        "wait=1_0",
        "wait",
    ],
)
def test_a_wait_that_is_no_number_of_seconds_is_refused(query: str):
    with pytest.raises(ProblemRaised) as raised:
        requested_wait(request(query=query), 60)

    assert raised.value.slug == "invalid_request"
    assert raised.value.members == {"parameter": "wait"}


def test_the_refusal_says_what_to_write():
    with pytest.raises(ProblemRaised) as raised:
        requested_wait(request(query="wait=soon"), 60)

    assert str(raised.value) == (
        "wait='soon' is not a number of seconds; write for example wait=30"
    )


@pytest.mark.parametrize(
    ("prefer", "seconds"),
    [
        ("wait=10", 10),
        ("WAIT = 10", 10),
        ("respond-async, wait=10", 10),
        ("respond-async; wait=10", 10),
        ("wait=10, respond-async", 10),
        ("wait=1000", 60),
        ("wait=" + "9" * 400, 60),
    ],
)
def test_a_preference_is_applied_and_acknowledged(prefer: str, seconds: float):
    wait = requested_wait(request({"Prefer": prefer}), 60)

    assert wait == Wait(seconds, is_preference=True)
    assert wait.headers == {"Preference-Applied": f"wait={seconds}"}


@pytest.mark.parametrize(
    "prefer", ["", "respond-async", "await=10", 'return=minimal, foo="a, wait=5; b"', ", ,"]
)
def test_other_preferences_are_passed_over(prefer: str):
    wait = requested_wait(request({"Prefer": prefer}), 60)

    assert wait == Wait(0)
    assert wait.headers == {}


@pytest.mark.parametrize(
    "prefer",
    ["wait", "wait=", "wait=soon", "wait=-1", "wait=1e3", "wait 10", "wait:10", "=10", 'wait="10',
     "wait=10 s", "respond-async, wait=x", "(wait=10)", "wait=\u0663"],
)  # fmt: skip
def test_a_preference_that_is_malformed_is_refused(prefer: str):
    with pytest.raises(ProblemRaised) as raised:
        requested_wait(request({"Prefer": prefer.encode().decode("latin-1")}), 60)

    assert raised.value.slug == "invalid_request"
    assert raised.value.members == {"parameter": "Prefer"}


def test_the_query_goes_before_the_preference():
    wait = requested_wait(request({"Prefer": "wait=10"}, query="wait=2"), 60)

    assert wait == Wait(2)
    assert wait.headers == {}
