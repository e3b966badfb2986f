"""Launches that run out of time."""

from __future__ import annotations

from tests.integration.service.launches import bodies
from tests.integration.service.launches.conftest import Launch
from tests.integration.service.launches.test_launches_absurd import ENDLESS


def test_cases_after_the_deadline_are_not_run(launch: Launch) -> None:
    one = bodies.output(1, dtype="i32", init={"kind": "ones"})
    quick = bodies.written(ENDLESS, {"out_ptr": one, "n": 0}, deadline_s=4, timeout_s=60)
    endless = {"arguments": {"n": 16}}

    answer = launch(quick | {"cases": [{}, *[endless] * 4]})

    verdicts = [case["verdict"] for case in answer["cases"]]
    slugs = {case["problem"]["slug"] for case in answer["cases"] if case["problem"]}
    assert verdicts[0] == "not_checked"
    assert verdicts[-2:] == [None, None]
    assert slugs == {"deadline_exceeded"}
    assert (answer["state"], answer["verdict"]) == ("completed", "not_checked")


def test_a_compilation_that_the_deadline_ends_is_no_timeout_of_its_own(launch: Launch) -> None:
    answer = launch(bodies.loading("while True:\n    pass", timeout_s=60, deadline_s=3))

    assert (answer["state"], answer["verdict"]) == ("failed", None)
    assert answer["problem"]["slug"] == "deadline_exceeded"
    assert "deadline_s = 3 s" in answer["problem"]["detail"]


def test_a_run_that_the_deadline_ends_is_no_timeout_of_its_own(launch: Launch) -> None:
    one = bodies.output(1, dtype="i32", init={"kind": "ones"})
    endless = {"out_ptr": one, "n": 5}

    answer = launch(bodies.written(ENDLESS, endless, timeout_s=60, deadline_s=5))

    assert (answer["state"], answer["verdict"]) == ("failed", None)
    assert answer["problem"]["slug"] == "deadline_exceeded"
