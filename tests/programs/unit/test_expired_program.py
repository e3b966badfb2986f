"""Programs that no worker finished."""

import orjson

from programs.program_kind import PROGRAM
from programs.program_record import Program
from tests.programs.unit.queued_programs import queued

JOB = queued(program_id="abc")


def read(payload: bytes, reason: str) -> Program:
    return Program.model_validate_json(PROGRAM.expired("abc", payload, reason).record)


def test_an_unclaimed_program_has_failed_by_its_deadline():
    program = read(JOB.model_dump_json().encode(), "overdue")

    assert program.state == "failed"
    assert program.problem is not None
    assert program.problem.slug == "deadline_exceeded"
    assert program.problem.retryable


def test_a_program_whose_workers_were_lost_says_so():
    program = read(JOB.model_dump_json().encode(), "exhausted")

    assert program.problem is not None
    assert program.problem.slug == "worker_lost"
    assert program.reward is not None
    assert not program.reward.compiled


def test_a_payload_of_another_version_ends_too():
    program = read(orjson.dumps({"spam": 1}), "exhausted")

    assert (program.id, program.url) == ("abc", "/v1/programs/abc")
    assert program.problem is not None
    assert "another version of tritond" in program.problem.detail
