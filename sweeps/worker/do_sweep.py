"""A sweep from its claim to its end. What becomes of a variant is its row, not the sweep's end."""

import asyncio
import logging
from typing import Any

from compiler.problem import failure_problem
from jobs.deadline import Deadline
from store.errors import CallerBytesFull, StoreUnavailable
from store.launches import LIFE_S
from sweeps.sweep_job import SweepJob
from sweeps.sweep_record import SweepEnd
from sweeps.worker.compile_variants import compile_variants
from sweeps.worker.launch_variants import launch_variants
from sweeps.worker.measuring import search_variants
from sweeps.worker.sweep_run import AttemptRevoked, SweepRun, SweepStores
from worker.consumer import Attempt

NO_TIMES = "The CPU device has no times, so there is no winner: the rows have verdicts alone."

logger = logging.getLogger(__name__)


async def do_sweep(attempt: Attempt[SweepJob], stores: SweepStores) -> None:
    """Drive a sweep and finish it. Raises StoreUnavailable."""
    job = attempt.job
    done = await stores.sweeps.written(job.id)
    budget = None
    if job.budget_s is not None:
        budget = Deadline(job.budget_s, attempt.queue_ms / 1000, what="sweep")
    toolchains = await _toolchains(job, stores)
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


async def _toolchains(job: SweepJob, stores: SweepStores) -> dict[str, Any]:
    return {name: await stores.toolchain(identity) for name, identity in job.toolchains.items()}


async def _withdraw(run: SweepRun) -> None:
    """Withdraw running jobs if the sweep was cancelled; the store may be away."""
    try:
        await asyncio.shield(run.withdraw())
    except StoreUnavailable as error:
        logger.warning("jobs of sweep %s not withdrawn: %s", run.job.id, error)
