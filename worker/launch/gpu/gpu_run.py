"""Runs of launches on a GPU: the compile job that each needs, and the launcher that runs it.

User Python never runs where the GPU and the clock are: a launcher gets a cubin and data.
"""

from collections.abc import Callable, Container, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from math import prod

from compiler.compilation import Compilation, amended
from compiler.job import CompileJob
from compiler.problem import failure_problem
from jobs.core_kinds import COMPILATION
from jobs.deadline import Deadline, StepLimit
from jobs.submission import JobClient, JobOrder
from launch.checks.roofline import Ceilings, Work, roofline_of
from launch.request.bound_arguments import BoundArguments
from launch.request.element import ITEM_BYTES
from launch.request.hint_check import check_hints, compiled_hints, names_as_given
from launch.request.launch_job import LaunchJob
from store.jobs.types import Priority
from worker.gpu.launcher.launcher_order import LauncherOrder
from worker.gpu.supervisor.launcher_protocol import LaunchEnding, LauncherFacts
from worker.gpu.supervisor.launchers import Launchers
from worker.gpu.tools.installed_tools import MEMCHECK
from worker.launch.gpu.compiled_kernels import CompiledKernel, CompiledKernels
from worker.launch.gpu.gpu_outcome import order_of, result_of
from worker.launch.gpu.iteration_findings import STATE_KEPT
from worker.launch.gpu.tool_reruns import UnexplainedFaults, rerun_under_tools
from worker.launch.run import PreparedRun, RunResult, not_run
from worker.pool.shared_bytes import Body


@dataclass(frozen=True, slots=True)
class GpuContext:
    """One GPU, and the way to have something compiled for it."""

    launchers: Launchers
    ordinal: int
    client: JobClient
    kernels: CompiledKernels
    faults: UnexplainedFaults | None = None
    """The unexplained faults of this context's launch."""
    yield_slot: Callable[[], AbstractContextManager[None]] = nullcontext
    """Gives the slot of that launch to another while it waits for other jobs."""

    @property
    def facts(self) -> LauncherFacts | None:
        """Facts about the GPU."""
        return next(d.facts for d in self.launchers.devices if d.ordinal == self.ordinal)

    @property
    def ceilings(self) -> Ceilings | None:
        """The GPU's measured peak performance, as far as it is known."""
        return next(d.ceilings for d in self.launchers.devices if d.ordinal == self.ordinal)

    async def kernel_of(
        self, job: CompileJob, launch: LaunchJob, deadline: Deadline
    ) -> CompiledKernel:
        """Return the kernel of `job`, from the cache or by an ordinary compile job.

        A launch that ends before wants it no more. Raises DeadlinePassed.
        """
        if (kept := await self.kernels.find(job.key)) is not None:
            return kept
        deadline.check()
        order = JobOrder(
            COMPILATION,
            job,
            launch.caller,
            Priority(launch.priority),
            queued_ms=deadline.left_ms,
            timeout_ms=int(job.timeout_s * 1000),
        )
        with self.yield_slot():
            record = await self.client.done_within(deadline, order)
        return await self.kernels.of_record(record)


@dataclass(frozen=True, slots=True)
class GpuLaunch:
    """A launch, as each of its runs on a GPU needs to know it."""

    gpu: GpuContext
    job: LaunchJob
    deadline: Deadline

    async def kernel_of(self, job: CompileJob) -> CompiledKernel:
        """Return the kernel of `job`. Raises DeadlinePassed."""
        return await self.gpu.kernel_of(job, self.job, self.deadline)

    async def run(
        self, kernel: CompiledKernel, run: PreparedRun, *, plain: bool = False
    ) -> RunResult:
        """Run `kernel` when it is this launch's turn, and then the tools that are asked for.

        A `plain` run, such as a reference's, is neither timed nor checked. Raises RequestRejected
        when the arguments break what the kernel was compiled for, DeadlinePassed, DeviceCordoned.
        """
        compilation, gpu, launch = kernel.compilation, self.gpu, self.job
        if compilation.state != "succeeded":
            problem = compilation.problem or failure_problem("worker_lost", "it was not compiled")
            return not_run(problem)
        compilation = _named_as_given(compilation, run.bound.arguments)
        of_ir = not plain and launch.compile_job.ir is not None
        check_hints(compiled_hints(compilation.parameters), run.bound, of_ir=of_ir)
        if kernel.cubin is None:
            detail = "The kernel's binary left the cache before it could be launched; launch again."
            return not_run(failure_problem("worker_lost", detail))
        order = order_of(kernel.cubin, compilation, launch, run, plain=plain)
        result = await self._run_order(order)
        if plain:  # what a reference could keep between runs is worth nothing: it runs once
            result.findings = [finding for finding in result.findings if finding.kind != STATE_KEPT]
        result.ir = kernel.ir
        check_roofline(result, launch, run.bound, gpu.ceilings)
        if result.problem is None and not plain:
            deadline = self.deadline
            await rerun_under_tools(gpu.launchers, gpu.ordinal, order, launch, result, deadline)
            if gpu.faults is not None and MEMCHECK not in launch.checks:
                await gpu.faults.remember(order, result.findings)
        return result

    async def _run_order(self, order: LauncherOrder) -> RunResult:
        launch, deadline, steps = self.job, self.deadline, list[StepLimit]()

        def limit_s() -> float:
            steps.append(deadline.step(launch.timeout_s))
            return steps[-1].limit_s

        try:
            outcome = await self.gpu.launchers.run(
                self.gpu.ordinal,
                order,
                caller=launch.caller,
                isolation=launch.isolation,
                deadline_s=limit_s,
                turn_s=deadline.left_s,
                is_batch=Priority(launch.priority) is Priority.BATCH,
            )
        except TimeoutError:
            raise deadline.passed from None
        if outcome.ending is LaunchEnding.DEADLINE:
            steps[-1].timed_out()
        return result_of(outcome, launch, order.abi.cluster[0], launch.compile_job.texts)


def _named_as_given(compilation: Compilation, arguments: Container[str]) -> Compilation:
    """Return a compilation whose parameters have the names by which a launch passes them."""
    names = [item.name for item in compilation.parameters]
    renamed = dict(zip(names, names_as_given(names, arguments), strict=True))
    if compilation.abi is None or all(old == new for old, new in renamed.items()):
        return compilation
    slots = []
    for slot in compilation.abi.parameters:
        first, dot, rest = slot.name.partition(".")
        slots.append(replace(slot, name=renamed.get(first, first) + dot + rest))
    return amended(
        compilation,
        parameters=[amended(item, name=renamed[item.name]) for item in compilation.parameters],
        abi=replace(compilation.abi, parameters=tuple(slots)),
    )


def check_roofline(
    result: RunResult, launch: LaunchJob, bound: BoundArguments, ceilings: Ceilings | None
) -> None:
    """Add to a run's timing its share of the device's peak, and a finding if it is impossible."""
    if result.timing is None or ceilings is None:
        return
    asked = launch.timing
    work = Work(
        written_bytes=_written_bytes(bound, result.unwritten),
        stated_bytes=asked.bytes_ if asked is not None else None,
        stated_flops=asked.flops if asked is not None else None,
        dtypes=frozenset(allocation.dtype for allocation in bound.allocations),
    )
    seen = roofline_of(ceilings, work, result.timing.median_us, result.timing.min_us)
    result.timing = amended(
        result.timing,
        overhead_us=round(ceilings.launch_us, 3),
        floor_us=seen.floor_us,
        plausible=seen.finding is None,
        bytes_share=seen.bytes_share,
        flops_share=seen.flops_share,
    )
    if seen.finding is not None:
        result.findings.append(seen.finding)


def _written_bytes(bound: BoundArguments, unwritten: Mapping[str, Body]) -> int:
    """Return the least number of bytes that a run wrote: those of initially poisoned outputs.

    `unwritten` holds a bit per unwritten element, for outputs that have some. An allocation with
    several outputs counts as the largest of them.
    """
    written: dict[int, int] = {}
    for name, output in bound.outputs.items():
        if bound.allocations[output.allocation].init is not None:
            continue
        flags = unwritten.get(name, b"")
        if not isinstance(flags, bytes):
            continue  # too many to count
        missing = int.from_bytes(flags, "little").bit_count()
        size_bytes = max(0, prod(output.shape) - missing) * ITEM_BYTES[output.dtype]
        written[output.allocation] = max(written.get(output.allocation, 0), size_bytes)
    return sum(written.values())
