"""The states of a program between its caller and its recorder."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from launch.request.verdict import Verdict
from programs.program_job import new_program, program_problem
from programs.program_record import Reward
from programs.program_request import EXAMPLE
from tests.integration.service.test_api_events import events_of
from tests.programs.service.conftest import PROGRAMS, ScriptedRecorder

OF_NO_LANGUAGE = {"source": "def ModelNew(:\n  this is no Python"}


def test_a_program_is_queued_for_workers_that_record(
    alice: httpx.Client, recorder: ScriptedRecorder
) -> None:
    answer = alice.post(PROGRAMS, json=EXAMPLE)
    program = answer.json()

    assert answer.status_code == 202
    assert answer.headers["location"] == program["url"] == f"{PROGRAMS}/{program['id']}"
    assert answer.headers["retry-after"]
    assert (program["state"], program["queue_position"]) == ("queued", 1)
    assert (program["verdict"], program["reward"], program["problem"]) == (None, None, None)
    _, job = recorder.claim()
    assert job.reference is not None
    assert job.toolchain_id == recorder.toolchain_id
    assert alice.get(program["url"]).json()["state"] == "running"


def test_each_program_has_a_seed_of_its_own_unless_the_request_names_one(
    alice: httpx.Client, recorder: ScriptedRecorder
) -> None:
    others = [EXAMPLE | {"trials": trials} for trials in (1, 2)]
    drawn = {alice.post(PROGRAMS, json=body).json()["seed"] for body in others}
    named = alice.post(PROGRAMS, json=EXAMPLE | {"seed": 7}).json()

    assert len(drawn) == 2
    assert named["seed"] == 7


def test_equal_programs_share_a_run_until_it_is_over(
    alice: httpx.Client, bob: httpx.Client, recorder: ScriptedRecorder
) -> None:
    first, equal = (alice.post(PROGRAMS, json=EXAMPLE).json() for _ in range(2))
    of_bob = bob.post(PROGRAMS, json=EXAMPLE).json()
    seeds = [alice.post(PROGRAMS, json=EXAMPLE | {"seed": 7}).json() for _ in range(2)]

    assert (equal["id"], equal["seed"]) == (first["id"], first["seed"])
    assert len({first["id"], of_bob["id"], *(program["id"] for program in seeds)}) == 4
    for _ in range(4):
        recorder.do(verdict=Verdict.PASSED)
    assert alice.get(first["url"]).json()["verdict"] == "passed"
    assert alice.post(PROGRAMS, json=EXAMPLE).json()["id"] != first["id"]


def test_a_key_names_the_run_that_its_program_joined(
    alice: httpx.Client, recorder: ScriptedRecorder
) -> None:
    first = alice.post(PROGRAMS, json=EXAMPLE).json()
    key = {"Idempotency-Key": "joined"}
    assert alice.post(PROGRAMS, json=EXAMPLE, headers=key).json()["id"] == first["id"]

    recorder.do(verdict=Verdict.PASSED)

    again = alice.post(PROGRAMS, json=EXAMPLE, headers=key, params={"wait": 30}).json()
    assert (again["id"], again["verdict"]) == (first["id"], "passed")


def test_the_service_takes_a_source_that_is_no_python(alice: httpx.Client) -> None:
    assert alice.post(PROGRAMS, json=OF_NO_LANGUAGE).status_code == 202


def test_what_ended_a_program_is_answered_in_full(
    alice: httpx.Client, recorder: ScriptedRecorder
) -> None:
    posted = alice.post(PROGRAMS, json=EXAMPLE).json()
    problem = program_problem(
        "not_recordable", ".item()", reason="value_dependent", file="user.py", line=14
    )

    recorder.do(state="failed", problem=problem, reward=Reward(compiled=False, correct=False))

    answer = alice.get(posted["url"], params={"wait": 30})
    program = answer.json()
    assert answer.status_code == 200
    assert program["state"] == "failed"
    assert program["problem"]["slug"] == "not_recordable"
    assert program["problem"]["title"] == "The program cannot be recorded"
    assert (program["problem"]["reason"], program["problem"]["line"]) == ("value_dependent", 14)
    assert program["reward"] == {
        "compiled": False,
        "correct": False,
        "speedup": None,
        "coverage": None,
        "flags": [],
        "serious": [],
    }


def test_a_program_is_its_callers_alone(
    alice: httpx.Client, bob: httpx.Client, recorder: ScriptedRecorder
) -> None:
    url = alice.post(PROGRAMS, json=EXAMPLE).json()["url"]

    others = [
        bob.get(url),
        bob.delete(url),
        bob.get(f"{url}/tape"),
        bob.get(f"{url}/events"),
    ]

    assert [answer.status_code for answer in others] == [404] * 4
    assert {answer.json()["slug"] for answer in others} == {"not_found"}
    assert alice.get(url).json()["state"] == "queued"


def test_only_who_may_launch_may_post_a_program(asking: Callable[[str], httpx.Client]) -> None:
    answer = asking("compiler").post(PROGRAMS, json=EXAMPLE)

    assert (answer.status_code, answer.json()["slug"]) == (403, "forbidden")
    assert "launch" in answer.json()["detail"]


def test_a_cancelled_program_ends_at_once(alice: httpx.Client, recorder: ScriptedRecorder) -> None:
    url = alice.post(PROGRAMS, json=EXAMPLE).json()["url"]

    first, second = alice.delete(url), alice.delete(url)

    assert (first.status_code, second.status_code) == (202, 200)
    assert first.json() == second.json()
    assert first.json()["state"] == "cancelled"
    assert first.json()["problem"]["slug"] == "cancelled"


def test_an_unclaimed_program_fails_by_its_deadline(alice: httpx.Client) -> None:
    late = alice.post(PROGRAMS, json=EXAMPLE | {"deadline_s": 0.2}).json()

    program = alice.get(late["url"], params={"wait": 30}).json()

    assert (program["state"], program["problem"]["slug"]) == ("failed", "deadline_exceeded")
    assert program["problem"]["retryable"] is True


def test_a_post_that_is_sent_again_with_its_key_gets_the_same_program(
    alice: httpx.Client, bob: httpx.Client
) -> None:
    named = {"Idempotency-Key": "once"}
    first = alice.post(PROGRAMS, json=EXAMPLE, headers=named).json()
    again = alice.post(PROGRAMS, json=EXAMPLE, headers=named).json()
    other = alice.post(PROGRAMS, json=EXAMPLE | {"seed": 1}, headers=named)
    others = bob.post(PROGRAMS, json=EXAMPLE, headers=named).json()

    assert again["id"] == first["id"] != others["id"]
    assert other.status_code == 422
    assert other.json()["parameter"] == "Idempotency-Key"
    assert "another body" in other.json()["detail"]


def test_a_key_whose_program_was_refused_can_be_used_again(alice: httpx.Client) -> None:
    named = {"Idempotency-Key": "mended"}

    refused = alice.post(PROGRAMS, json=EXAMPLE | {"device": "gpu"}, headers=named)
    mended = alice.post(PROGRAMS, json=EXAMPLE, headers=named)

    assert (refused.status_code, mended.status_code) == (422, 202)


def test_a_caller_has_only_so_many_that_wait(alice: httpx.Client) -> None:
    bodies = [EXAMPLE | {"seed": seed} for seed in range(4)]
    answers = [alice.post(PROGRAMS, json=body) for body in bodies]

    assert [answer.status_code for answer in answers] == [202, 202, 202, 429]
    assert answers[-1].json()["slug"] == "too_many_requests"
    assert answers[-1].headers["retry-after"]


def test_events_tell_how_far_it_is(alice: httpx.Client, recorder: ScriptedRecorder) -> None:
    posted = alice.post(PROGRAMS, json=EXAMPLE).json()
    claim, job = recorder.claim()
    recorder.report(claim, "recorded", {"program": "candidate", "ops": 2, "launches": 1})
    recorder.finish(claim, new_program(job, "completed"))

    events = events_of(alice, posted["url"])

    assert [event.kind for event in events] == ["queued", "started", "recorded", "finished"]
    assert events[2].data == {"program": "candidate", "ops": 2, "launches": 1}


@pytest.mark.parametrize("path", ["", "/tape", "/events"])
def test_a_program_that_there_is_not_is_not_found(alice: httpx.Client, path: str) -> None:
    answer = alice.get(f"{PROGRAMS}/{'0' * 32}{path}")

    assert (answer.status_code, answer.json()["slug"]) == (404, "not_found")


def test_a_program_is_in_the_list_of_its_caller(
    alice: httpx.Client, bob: httpx.Client, recorder: ScriptedRecorder
) -> None:
    posted = alice.post(PROGRAMS, json=EXAMPLE).json()
    queued = alice.get(PROGRAMS, params={"limit": 1}).json()["items"][0]
    recorder.do(state="failed", problem=program_problem("not_recordable", ".item()"))

    assert (queued["id"], queued["state"]) == (posted["id"], "queued")
    alice.get(posted["url"], params={"wait": 30})
    assert alice.get(PROGRAMS).json()["items"][0] == queued | {
        "state": "failed",
        "slug": "not_recordable",
        "detail": ".item()",
    }
    assert posted["id"] not in [item["id"] for item in bob.get(PROGRAMS).json()["items"]]
