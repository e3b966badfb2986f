"""Sweeps as a kind of job."""

from typing import Final

from compiler.problem import failure_problem
from jobs.kind import JobKind, Unhandled
from sweeps.sweep_job import ShownSweepJob, SweepJob
from sweeps.sweep_record import SweepEnd
from sweeps.sweep_request import SweepRequest


def _end(unhandled: Unhandled[SweepJob]) -> SweepEnd:
    # its rows and its subject are stored separately
    return SweepEnd(state=unhandled.state, problem=unhandled.problem)


SWEEP: Final = JobKind(
    name="sweeps",
    noun="sweep",
    request=SweepRequest,
    job=SweepJob,
    record=_end,
    id_of=lambda job: job.id,
    shown=ShownSweepJob,
    is_owned=True,
    keeps_payload=True,
    cancelled="Its caller cancelled the sweep.",
    overdue=failure_problem(
        "worker_lost", "No worker took this sweep in time. Post it again once a worker runs."
    ),
    exhausted_detail=(
        "Three workers in a row died or gave up on this sweep. Finished rows stay. Post it again "
        "for the rest: variants that were compiled come from the cache."
    ),
)
