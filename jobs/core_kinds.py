"""The kinds of jobs of the core: compilations, inspections, derivations and launches."""

from typing import Any, Final

from compiler.compilation import (
    Compilation,
    ToolchainUsed,
    amended,
    compilation_url,
    new_compilation,
)
from compiler.derivation import Derivation, DeriveJob
from compiler.inspection import Inspection, InspectJob, InspectRequest
from compiler.job import CompileJob
from compiler.problem import Problem, failure_problem
from compiler.request.compile_request import CompileRequest
from jobs.kind import JobKind
from launch.request.launch_job import LaunchJob, new_launch
from launch.request.launch_record import Launch, launch_url
from launch.request.launch_request import LaunchRequest
from store.jobs.types import compile_lane, derive_lane, inspect_lane


def _compilation(
    job_id: str,
    job: CompileJob | None,
    state: Any,
    *,
    problem: Problem | None = None,
    queue_position: int | None = None,
) -> Compilation:
    del queue_position  # the service answers it beside the record
    if job is not None:
        return amended(new_compilation(job, None, state), problem=problem)
    return Compilation(
        key=job_id,
        url=compilation_url(job_id),
        state=state,
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


def _inspection(
    job_id: str,
    job: InspectJob | None,
    state: Any,
    *,
    problem: Problem | None = None,
    queue_position: int | None = None,
) -> Inspection:
    del job_id, job, state, queue_position  # an inspection has no URL to ask again at
    return Inspection(state="failed", problem=problem)


def _derivation(
    job_id: str,
    job: DeriveJob | None,
    state: Any,
    *,
    problem: Problem | None = None,
    queue_position: int | None = None,
) -> Derivation:
    del job_id, state, queue_position  # as for inspections
    return Derivation(state="failed", what="" if job is None else job.what, problem=problem)


def _launch(
    job_id: str,
    job: LaunchJob | None,
    state: Any,
    *,
    problem: Problem | None = None,
    queue_position: int | None = None,
) -> Launch:
    if job is None:
        return Launch(id=job_id, url=launch_url(job_id), state=state, problem=problem)
    return new_launch(job, state, queue_position=queue_position, problem=problem)


COMPILATION: Final = JobKind(
    name="compile",
    noun="compilation",
    request=CompileRequest,
    job=CompileJob,
    record=_compilation,
    id_of=lambda job: job.key,
    lane_of=lambda job: compile_lane(job.toolchain_id),
    keeps_payload=True,
    cancelled="All callers of this compilation withdrew.",
)
INSPECTION: Final = JobKind(
    name="inspect",
    noun="inspection",
    request=InspectRequest,
    job=InspectJob,
    record=_inspection,
    id_of=lambda job: job.key,
    lane_of=lambda job: inspect_lane(job.toolchain_id),
)
DERIVATION: Final = JobKind(
    name="derive",
    noun="derivation",
    job=DeriveJob,
    record=_derivation,
    id_of=lambda job: job.key,
    lane_of=lambda job: derive_lane(job.compilation.toolchain.id),
    failure_slug="derivation_failed",
    cancelled_slug="derivation_failed",
    cancelled="All callers withdrew.",
)
LAUNCH: Final = JobKind(
    name="launch",
    noun="launch",
    request=LaunchRequest,
    job=LaunchJob,
    record=_launch,
    id_of=lambda job: job.id,
    lane_of=lambda job: job.lane,
    is_owned=True,
    cancelled="Its caller cancelled the launch.",
    overdue=failure_problem(
        "deadline_exceeded", "No worker took this launch within its deadline_s."
    ),
)
CORE_KINDS: Final = (COMPILATION, INSPECTION, DERIVATION, LAUNCH)
