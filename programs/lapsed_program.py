"""Records for programs whose job no worker finished, whoever finds that out."""

from pydantic import ValidationError

from launch.request.dead_letter import OVERDUE
from programs.program_job import ProgramJob, new_program, program_problem
from programs.program_record import Program, Reward, program_url

PROGRAMS = "programs"
"""The kind of the lanes of programs."""
_LOST = "Three workers in a row were lost, or gave up, with this program. Post it again."
_LATE = "No worker took this program within its deadline_s."
_UNREADABLE = (
    "No worker here can read this job: another version of tritond wrote it, or it was damaged. "
    "Post it again."
)


def lapsed_program(job_id: str, payload: bytes, reason: str) -> bytes:
    """Return the record (JSON) of a program that lapsed for `reason`: `exhausted` or `overdue`."""
    try:
        job = ProgramJob.model_validate_json(payload)
    except ValidationError:
        return _unreadable(job_id).model_dump_json().encode()
    problem = (
        program_problem("deadline_exceeded", _LATE)
        if reason == OVERDUE
        else program_problem("worker_lost", _LOST)
    )
    return new_program(job, "failed", problem=problem).model_dump_json().encode()


def _unreadable(job_id: str) -> Program:
    return Program(
        id=job_id,
        url=program_url(job_id),
        state="failed",
        reward=Reward(compiled=False, correct=False),
        problem=program_problem("worker_lost", _UNREADABLE),
    )
