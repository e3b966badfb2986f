"""The variants of a launch base: each an ordinary launch, a few at a time, without a search."""

import asyncio
import hashlib
import itertools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Final, Self

from compiler.compilation import Compilation, amended
from compiler.job import CompileJob
from compiler.parameter_binding import BindingFailed
from compiler.rejection import FieldError, RequestRejected
from compiler.request.resolution import resolve
from jobs.deadline import DeadlinePassed
from launch.request.launch_job import LaunchJob, launch_job
from launch.request.launch_record import Launch
from launch.request.launch_request import LaunchRequest
from launch.request.launch_resolution import resolve_launch
from launch.request.request_part import below, read
from store.jobs.types import Priority
from store.stored import read_stored
from sweeps.built_row import budget_row, launched_row, refused_row, with_compilation
from sweeps.row import SweepRow
from sweeps.sweep_job import LaunchDevice
from sweeps.variant import Variant
from sweeps.worker.instruction_mixes import with_mix
from sweeps.worker.row_proofs import RowProofs
from sweeps.worker.sweep_run import BUDGET_OVER, SweepRun
from worker.compile.progress import CompilationFailed

READ_AT_ONCE: Final = 16
LAUNCHED_AT_ONCE: Final = 32


async def launch_variants(run: SweepRun) -> None:
    """Write a row for each variant. Raises AttemptRevoked, StoreUnavailable, CallerBytesFull."""
    todo, proofs = iter(run.todo), RowProofs(run)
    async with UnderWay(LAUNCHED_AT_ONCE) as under_way:
        while some := list(itertools.islice(todo, READ_AT_ONCE)):
            queued, refused = await asyncio.to_thread(_queued, run, some)
            await run.write(refused)
            for variant, launch in queued:
                await under_way.begin(partial(_launch, run, proofs, variant, launch))


async def _launch(run: SweepRun, proofs: RowProofs, variant: Variant, launch: LaunchJob) -> None:
    if run.is_over_budget:
        await _end_by_budget(run, variant)
        return
    try:
        async with asyncio.timeout(run.budget_left_s):
            row = await _built(run, variant, launch)
            record = await run.launched(launch, [variant.index])
    except TimeoutError:
        await run.withdraw_from(launch.id, BUDGET_OVER)
        await _end_by_budget(run, variant)
        return
    row = launched_row(row, read_stored(Launch, record))
    await run.write([await proofs.proved(row, launch)])


async def _end_by_budget(run: SweepRun, variant: Variant) -> None:
    run.budget_ended = True
    await run.write([budget_row(variant, run.job.budget_s or 0)])


async def _built(run: SweepRun, variant: Variant, launch: LaunchJob) -> SweepRow:
    """Return the row with its kernel's resources, where the variant names a target.

    A launch on the CPU device creates no machine code. The launch reports
    better what cannot be compiled.
    """
    row = SweepRow(variant.index, dict(variant.values), "running")
    kernel = variant.body.get("compilation") or {}
    if launch.has_cases or kernel.get("target") is None:
        return row
    try:
        compilation = await run.stores.kernels.of(launch)
    except (RequestRejected, BindingFailed, CompilationFailed, DeadlinePassed):
        return row
    compiled = await run.compiled(compilation.job, [row.index])
    made = read_stored(Compilation, compiled.record)
    return await with_mix(run, replace(with_compilation(row, made), cache=compiled.cache), made)


def _queued(
    run: SweepRun, indices: Sequence[int]
) -> tuple[list[tuple[Variant, LaunchJob]], list[SweepRow]]:
    queued, refused = [], []
    for index in indices:
        variant = run.job.plan.variant(index)
        try:
            queued.append((variant, launch_of(run, variant)))
        except RequestRejected as rejected:
            refused.append(refused_row(variant, rejected))
    return queued, refused


def launch_of(run: SweepRun, variant: Variant) -> LaunchJob:
    """Return the launch of a variant; its id is the same at every attempt.

    Raises RequestRejected.
    """
    request = read(LaunchRequest, dict(variant.body) | {"priority": Priority.BATCH.value}, "")
    cases = resolve_launch(request).cases
    launch_device = _launch_device_of(run, request)
    name = f"{run.job.id}:{variant.index}".encode()
    job = launch_job(
        request,
        cases,
        launch_id=hashlib.sha256(name).hexdigest()[:32],
        caller=run.job.caller,
        device=launch_device.device,
        lane=launch_device.lane,
        compile_job=_compile_job(run, request),
        references=run.job.references,
    )
    return amended(job, tries_tuning=False)


def _launch_device_of(run: SweepRun, request: LaunchRequest) -> LaunchDevice:
    kernel = request.compilation
    target, triton = (kernel.target, kernel.triton or "") if kernel else ("", "")
    launch_device = run.job.launch_device_of(target, triton)
    if launch_device is None:
        message = "no device was found for the variants of this target and Triton"
        raise RequestRejected(FieldError("/device", message))
    return launch_device


def _compile_job(run: SweepRun, request: LaunchRequest) -> CompileJob:
    kernel = request.compilation
    if kernel is None:
        assert run.job.launched is not None
        return run.job.launched
    with below("/compilation"):
        toolchain = run.toolchain_of(kernel.triton)
        return resolve(kernel.for_target(toolchain.default_target), toolchain, run.job.namespace)


class UnderWay:
    """At most N pieces of work at a time; leaving it waits for all.

    Raises an ExceptionGroup with the error of the first that failed; the others are cancelled then.
    """

    def __init__(self, most: int) -> None:
        self._room = asyncio.Semaphore(most)
        self._group = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        """Begin nothing yet."""
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Wait for all that was begun."""
        await self._group.__aexit__(kind, error, traceback)

    async def begin(self, do: Callable[[], Awaitable[None]]) -> None:
        """Begin a piece of work as soon as there is room for it."""
        await self._room.acquire()
        self._group.create_task(self._done(do))

    async def _done(self, do: Callable[[], Awaitable[None]]) -> None:
        try:
            await do()
        finally:
            self._room.release()
