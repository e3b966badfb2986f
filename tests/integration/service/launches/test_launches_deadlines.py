"""Launches that run out of time."""

from __future__ import annotations

from tests.integration.service import bodies as compilations
from tests.integration.service.launches import bodies
from tests.integration.service.launches.conftest import Launch
from tests.integration.service.launches.test_launches_absurd import looping


def test_cases_after_the_deadline_are_not_run(launch: Launch) -> None:
    launch(looping(0))
    endless = {"arguments": {"n": 16}}

    answer = launch(looping(0, deadline_s=2, timeout_s=60) | {"cases": [{}, *[endless] * 4]})

    verdicts = [case["verdict"] for case in answer["cases"]]
    slugs = {case["problem"]["slug"] for case in answer["cases"] if case["problem"]}
    assert verdicts[0] == "not_checked"
    assert verdicts[-2:] == [None, None]
    assert slugs == {"deadline_exceeded"}
    assert (answer["state"], answer["verdict"]) == ("completed", "not_checked")


def test_a_compilation_that_the_deadline_ends_is_not_its_own_timeout(launch: Launch) -> None:
    answer = launch(bodies.loading(compilations.ENDLESS, timeout_s=60, deadline_s=2))

    assert (answer["state"], answer["verdict"]) == ("failed", None)
    assert answer["problem"]["slug"] == "deadline_exceeded"
    assert "deadline_s = 2 s" in answer["problem"]["detail"]


def test_a_run_that_the_deadline_ends_is_not_its_own_timeout(launch: Launch) -> None:
    launch(looping(-1))

    answer = launch(looping(5, timeout_s=60, deadline_s=2))

    assert (answer["state"], answer["verdict"]) == ("failed", None)
    assert answer["problem"]["slug"] == "deadline_exceeded"
