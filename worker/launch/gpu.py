"""Runs of launches on a GPU: the compile job that each needs, and the launcher that runs it.

User Python never runs where the GPU and the clock are: a launcher gets a cubin and data.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from compiler.compilation import Compilation
from compiler.job import CompileJob
from compiler.launch.job import LaunchJob
from compiler.launch.launch import Finding, Timing
from compiler.launch.promise import check_promises, promised
from compiler.launch.request import LaunchRequest, TimingRequest
from compiler.problem import failure_problem
from compiler.types import is_pointer
from store.blobs import Blobs
from store.compilations import Compilations
from store.jobs.callers import Jobs
from store.jobs.waiting import Finished
from store.jobs.words import Outcome, Priority
from store.lanes import compile_lane
from worker.cuda import job as launcher
from worker.cuda.launchers import Launchers
from worker.cuda.outcome import LaunchEnding, LauncherFacts, LaunchOutcome
from worker.launch.deadline import Deadline
from worker.launch.run import Ran, Run

_FAULTS = frozenset({"illegal_access", "out_of_bounds", "misaligned_access", "assertion_failed"})
_FINAL_STAGE = "cubin"


@dataclass(frozen=True, slots=True)
class GpuDesk:
    """One GPU, and the way to have something compiled for it."""

    launchers: Launchers
    ordinal: int
    jobs: Jobs
    finished: Finished
    compilations: Compilations
    blobs: Blobs

    @property
    def facts(self) -> LauncherFacts | None:
        """What is known of the GPU."""
        return next(d.facts for d in self.launchers.devices if d.ordinal == self.ordinal)

    async def compiled(
        self, job: CompileJob, launch: LaunchJob, request: LaunchRequest, deadline: Deadline
    ) -> Compilation:
        """Return the finished compilation of `job`, from the cache or by an ordinary compile job.

        Raises DeadlinePassed.
        """
        if record := await self.compilations.read(job.key):
            return Compilation.model_validate_json(record)
        left_s = deadline.limit_s(request.deadline_s)
        submitted = await self.jobs.submit(
            job.key,
            lane=compile_lane(job.toolchain_id),
            priority=Priority(request.priority),
            payload=job.model_dump_json().encode(),
            caller=launch.caller,
            deadline_ms=int(left_s * 1000),
        )
        record = submitted.record
        if submitted.outcome is not Outcome.HIT:
            result = await self.finished.wait(job.key, left_s)
            if result is None:
                raise deadline.passed
            record = result.record
        return Compilation.model_validate_json(record or b"")


async def run_on_gpu(
    desk: GpuDesk,
    launch: LaunchJob,
    request: LaunchRequest,
    job: CompileJob,
    run: Run,
    deadline: Deadline,
) -> tuple[Ran, Compilation | None, float]:
    """Compile `job` if that is needed, and run it; also return how long compiling took, in ms.

    Raises RequestRejected when the arguments break what the kernel was compiled for, and
    DeadlinePassed.
    """
    started = time.monotonic()
    compilation = await desk.compiled(job, launch, request, deadline)
    compile_ms = (time.monotonic() - started) * 1000
    if compilation.state != "succeeded":
        problem = compilation.problem or failure_problem("worker_lost", "it was not compiled")
        return Ran(problem=problem), compilation, compile_ms
    check_promises(promised(compilation.parameters), run.bound)
    cubin = await desk.blobs.get(compilation.artifacts[_FINAL_STAGE].digest)
    if cubin is None:
        detail = "The kernel's binary left the cache before it could be launched; launch again."
        return Ran(problem=failure_problem("worker_lost", detail)), compilation, compile_ms
    order = _order(cubin, compilation, request, run)
    limit_s = deadline.limit_s(request.timeout_s)
    outcome = await desk.launchers.run(
        desk.ordinal,
        order,
        caller=launch.caller,
        isolation=request.isolation,
        deadline_s=limit_s,
    )
    if outcome.ending is LaunchEnding.DEADLINE and limit_s < request.timeout_s:
        raise deadline.passed
    return _ran(outcome, request), compilation, compile_ms


def _order(
    cubin: bytes, compilation: Compilation, request: LaunchRequest, run: Run
) -> launcher.LaunchJob:
    x, y, z = run.grid
    dumped = run.bound.model_dump(mode="json")
    timing = request.timing or TimingRequest()
    return launcher.LaunchJob(
        cubin=cubin,
        abi=compilation.abi or {},
        grid=(x, y, z),
        allocations=dumped["allocations"],
        arguments=_run_time(dumped["arguments"], compilation),
        uploads=run.uploads,
        timing=launcher.TimingOrder(
            warmup_repeats=timing.warmup_repeats,
            min_repeats=timing.min_repeats,
            max_ms=timing.max_ms,
            flush_l2=timing.flush_l2,
            samples=timing.samples,
        ),
        determinism="determinism" in request.checks,
    )


def _run_time(arguments: Mapping[str, Any], compilation: Compilation) -> dict[str, Any]:
    """Return the arguments that the compiled kernel still takes, scalars in its own types."""
    taken = {item.name: item.type for item in compilation.parameters if item.role == "runtime"}
    return {
        name: _typed(argument, taken[name]) for name, argument in arguments.items() if name in taken
    }


def _typed(argument: dict[str, Any], kind: Any) -> dict[str, Any]:
    is_scalar = argument["kind"] == "scalar" and isinstance(kind, str) and not is_pointer(kind)
    return argument | {"dtype": kind} if is_scalar else argument


def _ran(outcome: LaunchOutcome, request: LaunchRequest) -> Ran:
    ran = Ran(
        outputs=outcome.outputs,
        timed_outputs=outcome.timed_outputs,
        stdout=outcome.stdout.decode(errors="replace"),
    )
    match outcome.ending:
        case LaunchEnding.OK:
            _take_result(ran, outcome.result or {}, request)
        case LaunchEnding.FAULT:
            _take_fault(ran, outcome.fault or {})
        case LaunchEnding.DEADLINE:
            ran.timed_out = True
            message = f"The kernel did not end within timeout_s = {request.timeout_s:g} s."
            ran.findings.append(Finding(kind="timeout", message=message))
        case LaunchEnding.FAILURE:
            said = (outcome.failure or {}).get("message", "the launcher could not do it")
            ran.problem = failure_problem("invalid_argument", said)
        case _:
            ran.crashed = True
            message = f"The launcher ended unexpectedly ({outcome.detail})."
            ran.findings.append(Finding(kind="crashed", message=message))
    return ran


def _take_result(ran: Ran, result: dict[str, Any], request: LaunchRequest) -> None:
    ran.findings = [Finding.model_validate(item) for item in result.get("findings") or []]
    modified = result.get("modified_inputs") or []
    ran.inputs_modified = bool(modified)
    for name in modified:
        message = f"{name} is no output, but was changed. Mark it as an output if that is meant."
        finding = Finding(
            kind="input_modified", access="write", argument=str(name), message=message
        )
        ran.findings.append(finding)
    ran.deterministic = result.get("deterministic")
    if timing := result.get("timing"):
        ran.timing = _timing(timing, request)


def _timing(measured: dict[str, Any], request: LaunchRequest) -> Timing:
    asked = request.timing or TimingRequest()
    seconds = measured["median_us"] * 1e-6
    rates = {"bytes_per_s": asked.bytes_, "flops_per_s": asked.flops}
    per_s = {name: amount / seconds for name, amount in rates.items() if amount and seconds}
    fields = {name: value for name, value in measured.items() if name in Timing.model_fields}
    return Timing.model_validate(fields | per_s)


def _take_fault(ran: Ran, fault: dict[str, Any]) -> None:
    kind = str(fault.get("kind"))
    ran.fits = kind != "does_not_fit"
    ran.out_of_memory = kind == "out_of_memory"
    ran.crashed = ran.fits and not ran.out_of_memory and kind not in _FAULTS
    ran.findings.append(Finding(kind=kind, message=str(fault.get("message"))))
