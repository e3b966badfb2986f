"""The kinds of jobs of the core: compilations, inspections, derivations and launches."""

from typing import Final

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
from compiler.problem import failure_problem
from compiler.request.compile_request import CompileRequest
from jobs.kind import JobKind, Unhandled
from launch.request.launch_job import LaunchJob, ShownLaunchJob
from launch.request.launch_record import Launch, launch_url
from launch.request.launch_request import LaunchRequest
from store.jobs.types import compile_lane, derive_lane, inspect_lane


def _compilation(unhandled: Unhandled[CompileJob]) -> Compilation:
    if unhandled.job is not None:
        return amended(
            new_compilation(unhandled.job, None, unhandled.state), problem=unhandled.problem
        )
    return Compilation(
        key=unhandled.id,
        url=compilation_url(unhandled.id),
        state=unhandled.state,
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
        problem=unhandled.problem,
    )


def _inspection(unhandled: Unhandled[InspectJob]) -> Inspection:
    # neither this nor a derivation has a URL to ask again at
    return Inspection(state="failed", problem=unhandled.problem)


def _derivation(unhandled: Unhandled[DeriveJob]) -> Derivation:
    what = "" if unhandled.job is None else unhandled.job.what
    return Derivation(state="failed", what=what, problem=unhandled.problem)


def _launch(unhandled: Unhandled[LaunchJob]) -> Launch:
    launch = Launch(
        id=unhandled.id,
        url=launch_url(unhandled.id),
        state=unhandled.state,
        problem=unhandled.problem,
    )
    if unhandled.job is None:
        return launch
    return amended(launch, device=unhandled.job.device, queue_position=unhandled.queue_position)


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
    shown=ShownLaunchJob,
    is_owned=True,
    cancelled="Its caller cancelled the launch.",
    overdue=failure_problem(
        "deadline_exceeded", "No worker took this launch within its deadline_s."
    ),
)
CORE_KINDS: Final = (COMPILATION, INSPECTION, DERIVATION, LAUNCH)
