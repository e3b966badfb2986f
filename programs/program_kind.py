"""Programs as a kind of job."""

from typing import Final

from compiler.problem import failure_problem
from jobs.kind import JobKind, Unhandled
from programs.program_job import ProgramJob, new_program, program_problem
from programs.program_record import Program, Reward, program_url
from programs.program_request import ProgramRequest


def _program(unhandled: Unhandled[ProgramJob]) -> Program:
    own = (
        None
        if unhandled.problem is None
        else program_problem(unhandled.problem.slug, unhandled.problem.detail)
    )
    if unhandled.job is not None:
        return new_program(
            unhandled.job, unhandled.state, queue_position=unhandled.queue_position, problem=own
        )
    reward = Reward(compiled=False, correct=False)
    return Program(
        id=unhandled.id,
        url=program_url(unhandled.id),
        state=unhandled.state,
        reward=reward,
        problem=own,
    )


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
    exhausted_detail=("Three workers in a row died or gave up on this program. Post it again."),
)
