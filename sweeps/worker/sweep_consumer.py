"""The consumer of sweeps. It only waits and submits, and takes no slot of a compilation.

What becomes of a variant is its row, not the sweep's end. Of the variants of a compile base, hits
are answered at once, and all others are compiled, a few at a time.
"""

import asyncio
import itertools
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from compiler.compilation import Compilation
from compiler.job import CompileJob
from compiler.problem import failure_problem
from compiler.rejection import RequestRejected
from compiler.request.compile_request import CompileRequest
from compiler.request.resolution import resolve
from compiler.toolchain import Toolchain
from jobs.deadline import Deadline
from launch.request.request_part import read
from store import workers
from store.errors import CallerBytesFull, StoreUnavailable
from store.launches import LIFE_S, Launches
from store.stored import read_stored
from sweeps.built_row import budget_row, compiled_row, refused_row
from sweeps.row import SweepRow
from sweeps.stored_sweeps import Sweeps
from sweeps.sweep_job import SweepJob
from sweeps.sweep_kind import SWEEP
from sweeps.sweep_record import SweepEnd
from sweeps.variant import Variant
from sweeps.worker.instruction_mixes import is_wanted, with_mix
from sweeps.worker.launch_compilation import LaunchCompilations
from sweeps.worker.launch_variants import UnderWay, launch_variants
from sweeps.worker.measuring import search_variants
from sweeps.worker.row_proofs import RowProofs
from sweeps.worker.sweep_run import BUDGET_OVER, AttemptRevoked, Compiled, SweepRun, SweepStores
from worker.consumer import Attempt, Consumer, Handler
from worker.worker_context import WorkerContext

logger = logging.getLogger(__name__)

NO_TIMES = "The CPU device has no times, so there is no winner: the rows have verdicts alone."
SWEEPS_AT_ONCE = 64
"""Several times what one caller may have: they only wait."""


def sweep_consumer(context: WorkerContext) -> Consumer:
    """Return the consumer of sweeps of all toolchains.

    When this worker leaves, another one goes on with the jobs that a sweep waits for.
    """
    redis = context.queue.redis
    stores = SweepStores(
        Sweeps(redis),
        context.client,
        context.compilations,
        Launches(redis),
        partial(_described, workers.Toolchains(redis)),
        LaunchCompilations(context.compiling),
        context.derivations,
        context.compiling.blobs,
        context.prove_kernel,
    )
    return Consumer(
        context.queue,
        f"{context.name}-sweeps",
        [SWEEP.name],
        [Handler(SWEEP, partial(do_sweep, stores=stores))],
        SWEEPS_AT_ONCE,
        gives_back_at_once=True,
    )


async def _described(registered: workers.Toolchains, toolchain_id: str) -> Toolchain | None:
    description = await registered.describe(toolchain_id)
    return None if description is None else read_stored(Toolchain, description)


async def do_sweep(attempt: Attempt[SweepJob], stores: SweepStores) -> None:
    """Drive a sweep and finish it. Raises StoreUnavailable."""
    job = attempt.job
    done = await stores.sweeps.written(job.id)
    budget = None
    if job.budget_s is not None:
        budget = Deadline(job.budget_s, attempt.queue_ms / 1000, what="sweep")
    toolchains = {
        name: await stores.toolchain(identity) for name, identity in job.toolchains.items()
    }
    run = SweepRun(attempt.claim, job, stores, toolchains, done, budget)
    try:
        end = await _driven(run)
    except asyncio.CancelledError:
        await _withdraw(run)
        raise
    if end is not None:
        await attempt.finish(end, reusable=False, keep_s=LIFE_S)


async def _driven(run: SweepRun) -> SweepEnd | None:
    """Do what is left, and return how the sweep ended; None when this attempt does not count."""
    end = None
    try:
        end = await _rows(run)
    except* AttemptRevoked:
        logger.info("sweep %s goes on elsewhere, or was cancelled", run.job.id)
    except* CallerBytesFull as full:
        detail = f"{full.exceptions[0]} The rows that are not over were not begun."
        end = SweepEnd(state="failed", problem=failure_problem("too_many_requests", detail))
    except* StoreUnavailable as away:
        raise StoreUnavailable(str(away.exceptions[0])) from None
    return end


async def _rows(run: SweepRun) -> SweepEnd:
    """Write the rows that are not over yet, and return how the sweep ended."""
    job, note = run.job, None
    if job.plan.kind == "compilations":
        await compile_variants(run)
    elif job.search is None:
        await launch_variants(run)
    elif job.places and all(launch_device.device.interpreter for launch_device in job.places):
        await launch_variants(run)
        note = NO_TIMES
    else:
        return await search_variants(run, job.search)
    return SweepEnd(state="completed", budget_ended=run.budget_ended, note=note)


async def _withdraw(run: SweepRun) -> None:
    """Withdraw running jobs if the sweep was cancelled; the store may be away."""
    try:
        await asyncio.shield(run.withdraw())
    except StoreUnavailable as error:
        logger.warning("jobs of sweep %s not withdrawn: %s", run.job.id, error)


READ_AT_ONCE: Final = 64
COMPILED_AT_ONCE: Final = 64
"""Enough that no slot waits for the next one; the rest is not in the queue before it must be."""


@dataclass(slots=True)
class _Wanted:
    """One compilation, and the variants that are it."""

    job: CompileJob
    variants: list[Variant]

    @property
    def rows(self) -> list[int]:
        """The indices of their rows."""
        return [variant.index for variant in self.variants]


async def compile_variants(run: SweepRun) -> None:
    """Write a row for each variant. Raises AttemptRevoked, StoreUnavailable, CallerBytesFull."""
    todo, proofs = iter(run.todo), RowProofs(run)
    asks_more = is_wanted(run) or run.job.contract is not None
    async with UnderWay(COMPILED_AT_ONCE) as under_way:
        while some := list(itertools.islice(todo, READ_AT_ONCE)):
            if run.is_over_budget:
                await run.write(_over_budget(run, some))
                continue
            # in a thread: a thousand sources take a while to hash
            wanted, refused = await asyncio.to_thread(_resolved, run, some)
            hits = await asyncio.gather(*(run.hit(variant.job.key) for variant in wanted))
            if not asks_more:
                refused += await asyncio.to_thread(_hit_rows, wanted, hits)
            await run.write(refused)
            for variant, hit in zip(wanted, hits, strict=True):
                if hit is None or asks_more:
                    await under_way.begin(partial(_finish, run, proofs, variant, hit))


async def _finish(run: SweepRun, proofs: RowProofs, wanted: _Wanted, hit: bytes | None) -> None:
    if run.is_over_budget:
        await run.write(_over_budget(run, wanted.rows))
        return
    try:
        async with asyncio.timeout(run.budget_left_s):
            compiled = Compiled(hit, "hit") if hit else await run.compiled(wanted.job, wanted.rows)
        made = read_stored(Compilation, compiled.record)
        rows = [compiled_row(variant, made, compiled.cache) for variant in wanted.variants]
        rows = [await with_mix(run, row, made) for row in rows]
    except TimeoutError:
        await run.withdraw_from(wanted.job.key, BUDGET_OVER)
        await run.write(_over_budget(run, wanted.rows))
        return
    await run.write([await proofs.proved(row, wanted.job, made) for row in rows])


def _over_budget(run: SweepRun, rows: Iterable[int]) -> list[SweepRow]:
    budget_s = run.job.budget_s or 0
    run.budget_ended = True
    return [budget_row(run.job.plan.variant(index), budget_s) for index in rows]


def _resolved(run: SweepRun, indices: Sequence[int]) -> tuple[list[_Wanted], list[SweepRow]]:
    wanted: dict[str, _Wanted] = {}
    refused = []
    for index in indices:
        variant = run.job.plan.variant(index)
        try:
            job = compile_job_of(run, variant)
        except RequestRejected as rejected:
            refused.append(refused_row(variant, rejected))
            continue
        wanted.setdefault(job.key, _Wanted(job, [])).variants.append(variant)
    return list(wanted.values()), refused


def compile_job_of(run: SweepRun, variant: Variant) -> CompileJob:
    """Return the job of a variant of a compile base. Raises RequestRejected."""
    request = read(CompileRequest, variant.body, "")
    return resolve(request, run.toolchain_of(request.triton), run.job.namespace)


def _hit_rows(wanted: Sequence[_Wanted], hits: Sequence[bytes | None]) -> list[SweepRow]:
    rows = []
    for variants, record in zip(wanted, hits, strict=True):
        if record is not None:
            made = read_stored(Compilation, record)
            rows += [compiled_row(variant, made, "hit") for variant in variants.variants]
    return rows
