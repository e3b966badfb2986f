"""Runs of launches on a GPU: the compile job that each needs, and the launcher that runs it.

User Python never runs where the GPU and the clock are: a launcher gets a cubin and data.
"""

import time
from dataclasses import dataclass

from compiler.compilation import Compilation
from compiler.job import CompileJob
from compiler.problem import failure_problem
from launch.request.hint_check import check_hints, compiled_hints
from launch.request.launch_job import LaunchJob
from launch.request.launch_request import LaunchRequest
from store.blobs import Blobs
from store.compilations import Compilations
from store.jobs.producer import JobProducer
from store.jobs.types import Priority, SubmitOutcome, Waiting, compile_lane
from store.jobs.waiting import ResultWaiter
from worker.gpu.launcher import launcher_order as launcher
from worker.gpu.supervisor.launcher_protocol import LaunchEnding, LauncherFacts
from worker.gpu.supervisor.launchers import Launchers
from worker.gpu.tools.installed_tools import MEMCHECK
from worker.launch.gpu.gpu_outcome import order_of, result_of
from worker.launch.gpu.tool_reruns import UnexplainedFaults, rerun_under_tools
from worker.launch.run import Deadline, PreparedRun, RunResult, not_run

_FINAL_STAGE = "cubin"


@dataclass(frozen=True, slots=True)
class GpuContext:
    """One GPU, and the way to have something compiled for it."""

    launchers: Launchers
    ordinal: int
    jobs: JobProducer
    finished: ResultWaiter
    compilations: Compilations
    blobs: Blobs
    faults: UnexplainedFaults | None = None
    """Of the one launch that this context is for."""

    @property
    def facts(self) -> LauncherFacts | None:
        """What is known of the GPU."""
        return next(d.facts for d in self.launchers.devices if d.ordinal == self.ordinal)

    async def compilation_of(
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
            timeout_ms=int(job.timeout_s * 1000),
            waiting=Waiting(launch.id, int(left_s * 1000)),
        )
        record = submitted.record
        if submitted.outcome is not SubmitOutcome.HIT:
            result = await self.finished.wait(job.key, left_s)
            if result is None:
                raise deadline.passed
            record = result.record
        return Compilation.model_validate_json(record or b"")


async def run_on_gpu(
    gpu: GpuContext,
    launch: LaunchJob,
    request: LaunchRequest,
    job: CompileJob,
    run: PreparedRun,
    deadline: Deadline,
    *,
    plain: bool = False,
) -> tuple[RunResult, Compilation | None, float]:
    """Compile `job` if that is needed, and run it; also return how long compiling took, in ms.

    A `plain` run, such as a reference's, is neither timed nor checked. Raises RequestRejected when
    the arguments break what the kernel was compiled for, DeadlinePassed, and DeviceDrained.
    """
    started = time.monotonic()
    compilation = await gpu.compilation_of(job, launch, request, deadline)
    compile_ms = (time.monotonic() - started) * 1000
    if compilation.state != "succeeded":
        problem = compilation.problem or failure_problem("worker_lost", "it was not compiled")
        return not_run(problem), compilation, compile_ms
    check_hints(compiled_hints(compilation.parameters), run.bound)
    cubin = await gpu.blobs.get(compilation.artifacts[_FINAL_STAGE].digest)
    if cubin is None:
        detail = "The kernel's binary left the cache before it could be launched; launch again."
        return not_run(failure_problem("worker_lost", detail)), compilation, compile_ms
    order = order_of(cubin, compilation, request, run, plain=plain)
    result = await _run_order(gpu, launch, request, order, deadline)
    if result.problem is None and not plain:
        await rerun_under_tools(gpu.launchers, gpu.ordinal, order, request, result, deadline)
        if gpu.faults is not None and MEMCHECK not in request.checks:
            await gpu.faults.remember(order, result.findings)
    return result, compilation, compile_ms


async def _run_order(
    gpu: GpuContext,
    launch: LaunchJob,
    request: LaunchRequest,
    order: launcher.LauncherOrder,
    deadline: Deadline,
) -> RunResult:
    limit_s = deadline.limit_s(request.timeout_s)
    outcome = await gpu.launchers.run(
        gpu.ordinal,
        order,
        caller=launch.caller,
        isolation=request.isolation,
        deadline_s=limit_s,
    )
    if outcome.ending is LaunchEnding.DEADLINE and limit_s < request.timeout_s:
        raise deadline.passed
    return result_of(outcome, request, cluster=order.abi.cluster[0])
