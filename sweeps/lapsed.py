"""Records for jobs that no worker finished, those of sweeps among them."""

from compiler.problem import failure_problem
from launch.request.dead_letter import OVERDUE, dead_letter_record
from sweeps.sweep_record import SweepEnd

SWEEPS = "sweeps"
_LOST = (
    "Three workers in a row were lost, or gave up, with this sweep. The rows that are over stay; "
    "post it again for the rest: what was compiled is a hit."
)
_LATE = "No worker took this sweep in time. Post it again when workers are there."


def lapsed_record(kind: str, job_id: str, payload: bytes, reason: str) -> bytes:
    """Return the record (JSON) of a job that lapsed for `reason`: `exhausted` or `overdue`."""
    if kind != SWEEPS:
        return dead_letter_record(kind, job_id, payload, reason)
    problem = failure_problem("worker_lost", _LATE if reason == OVERDUE else _LOST)
    return SweepEnd(state="failed", problem=problem).model_dump_json().encode()
