"""Records for jobs that no worker finished: why they ended, whatever their kind.

Whoever reaps writes it, be it a worker or a service. A payload that another version wrote, and that
cannot be read here, ends too: with a record that holds what is known without it.
"""

from typing import Final

from pydantic import BaseModel, ValidationError

from compiler.compilation import (
    Compilation,
    ToolchainUsed,
    amended,
    compilation_url,
    new_compilation,
)
from compiler.derivation import Derivation, DeriveJob
from compiler.inspection import Inspection
from compiler.job import CompileJob
from compiler.problem import Problem, failure_problem
from launch.request.launch_job import LaunchJob, new_launch
from launch.request.launch_record import Launch, launch_url

EXHAUSTED: Final = "exhausted"
OVERDUE: Final = "overdue"
_WHY: Final = {
    EXHAUSTED: "Three workers in a row were lost, or gave up, with this job. Post it again.",
    OVERDUE: "No worker took this job in time. Post it again when workers are there.",
}
_UNREADABLE: Final = (
    "No worker here can read this job: another version of tritond wrote it, or it was damaged. "
    "Post it again."
)


def dead_letter_record(kind: str, job_id: str, payload: bytes, reason: str) -> bytes:
    """Return the record (JSON) of a job that lapsed for `reason`: `exhausted` or `overdue`.

    `kind` is what its lane is for: compile, inspect, derive or launch; another one ends as a
    compilation does.
    """
    try:
        record = _readable(kind, payload, reason)
    except ValidationError:
        record = _unreadable(kind, job_id)
    return record.model_dump_json().encode()


def _readable(kind: str, payload: bytes, reason: str) -> BaseModel:
    lost = failure_problem("worker_lost", _WHY[reason])
    match kind:
        case "launch":
            job = LaunchJob.model_validate_json(payload)
            late = failure_problem(
                "deadline_exceeded", "No worker took this launch within its deadline_s."
            )
            problem = late if reason == OVERDUE else lost
            return new_launch(job, "failed", problem=problem)
        case "inspect":
            return Inspection(state="failed", problem=lost)
        case "derive":
            what = DeriveJob.model_validate_json(payload).what
            problem = failure_problem("derivation_failed", _WHY[reason])
            return Derivation(state="failed", what=what, problem=problem)
    compile_job = CompileJob.model_validate_json(payload)
    return amended(new_compilation(compile_job, None, "failed"), problem=lost)


def _unreadable(kind: str, job_id: str) -> BaseModel:
    problem = failure_problem("worker_lost", _UNREADABLE)
    match kind:
        case "launch":
            return Launch(id=job_id, url=launch_url(job_id), state="failed", problem=problem)
        case "derive":
            problem = failure_problem("derivation_failed", _UNREADABLE)
            return Derivation(state="failed", what="", problem=problem)
    return _unreadable_compilation(job_id, problem)


def _unreadable_compilation(job_id: str, problem: Problem) -> Compilation:
    return Compilation(
        key=job_id,
        url=compilation_url(job_id),
        state="failed",
        kernel=None,
        target="",
        stop_after="",
        options={},
        toolchain=ToolchainUsed(id="", triton="", ptxas="", sandbox=""),
        artifacts={},
        parameters=[],
        abi=None,
        metadata=None,
        resources=None,
        timings_ms=None,
        diagnostics=[],
        stdout="",
        problem=problem,
    )
