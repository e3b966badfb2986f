"""Programs as a kind of job."""

from typing import Any, Final

from compiler.problem import Problem, failure_problem
from jobs.kind import JobKind
from programs.program_job import ProgramJob, new_program, program_problem
from programs.program_record import Program, Reward, program_url
from programs.program_request import ProgramRequest


def _program(
    job_id: str,
    job: ProgramJob | None,
    state: Any,
    *,
    problem: Problem | None = None,
    queue_position: int | None = None,
) -> Program:
    own = None if problem is None else program_problem(problem.slug, problem.detail)
    if job is not None:
        return new_program(job, state, queue_position=queue_position, problem=own)
    reward = Reward(compiled=False, correct=False)
    return Program(id=job_id, url=program_url(job_id), state=state, reward=reward, problem=own)


PROGRAM: Final = JobKind(
    name="programs",
    noun="program",
    request=ProgramRequest,
    job=ProgramJob,
    record=_program,
    id_of=lambda job: job.id,
    lane_of=lambda job: job.lane,
    is_owned=True,
    cancelled="Its caller cancelled the program.",
    overdue=failure_problem(
        "deadline_exceeded", "No worker took this program within its deadline_s."
    ),
    exhausted_detail=(
        "Three workers in a row were lost, or gave up, on this program. Post it again."
    ),
)
