"""Does one claimed compile job: looks in the cache again, compiles, and finishes the job.

The order is blobs, then the finish with the claim's token, then the record in the cache. So a
worker that lost its claim changes nothing. Reached stages are announced as events, in order.
Announcements never delay the job, and are dropped while the store is unavailable.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from compiler.compilation import Compilation
from compiler.job import CompileJob
from compiler.request.resolution import job_for
from jobs.work_metrics import WorkMetrics
from store.compilations import Compilations
from store.errors import StoreUnavailable
from store.events import Events
from store.jobs.consumer import JobConsumer
from store.jobs.types import KEPT_S, Claim
from worker.compile.build_record import build_record
from worker.compile.child_task import TimeLimit
from worker.compile.compile import CompileContext, compile_kernel
from worker.compile.progress import CompilationFailed, Progress
from worker.compile.result_cache import put_reusable, put_stages
from worker.consumer import Attempt
from worker.pool.child_outcome import SentStage
from worker.pool.child_process import OnStage

logger = logging.getLogger(__name__)


@asynccontextmanager
async def announcing(claim: Claim, events: Events) -> AsyncIterator[OnStage]:
    """Yield the function that takes each reached stage; announce all before the context ends."""
    stages: asyncio.Queue[SentStage | None] = asyncio.Queue()
    announcements = asyncio.create_task(_announce_all(claim, events, stages))

    def reached(stage: SentStage) -> None:
        logger.debug(
            "job %s: stage %s, %.1f ms, %d bytes",
            *(claim.id, stage.name, stage.ms, len(stage.body)),
        )
        stages.put_nowait(stage)

    try:
        yield reached
        stages.put_nowait(None)
        await announcements
    finally:
        announcements.cancel()


async def _announce_all(
    claim: Claim, events: Events, stages: asyncio.Queue[SentStage | None]
) -> None:
    over = False
    while not over:
        reached = [await stages.get()]
        while not stages.empty():  # stages taken from the cache come all at once
            reached.append(stages.get_nowait())
        over = None in reached
        reached_now = [
            {"stage": stage.name, "ms": stage.ms, "size_bytes": len(stage.body)}
            for stage in reached
            if stage is not None
        ]
        try:
            if reached_now:
                await events.append_all(claim.id, claim.token, "stage", reached_now)
        except StoreUnavailable as error:
            logger.warning("cannot announce %d stages of %s: %s", len(reached_now), claim.id, error)


REPLACED_KEPT_S = 24 * 3600
"""A success under the key of a replaced toolchain is in no cache, so its result stays longer."""
SUCCESS_KEPT_S = 60
"""A success is in the cache; its result is needed only until it is written there."""


@dataclass(frozen=True, slots=True)
class CompileStores:
    """Stores of compilations, and the channels that announce them."""

    compilations: Compilations
    events: Events
    invalidate: Callable[[str], Awaitable[None]]


async def do_compilation(
    attempt: Attempt[CompileJob], stores: CompileStores, compiling: CompileContext
) -> None:
    """Do a compile job and finish it. Raises StoreUnavailable."""
    claim, job = attempt.claim, attempt.job
    is_own = job.toolchain_id == compiling.toolchain.id
    if not is_own:  # no worker serves that toolchain now; ours has the same Triton
        job = job_for(job, compiling.toolchain)
    keep_s = success_kept_s(is_own=is_own)
    if not claim.refresh and (record := await stores.compilations.read(job.key)):
        await attempt.finish(record, reusable=is_own, keep_s=keep_s)
        return
    made, progress, digests = await _make(attempt, job, stores.events, compiling)
    record = made.model_dump_json().encode()
    _count(made, progress, attempt.metrics)
    if made.problem is not None:
        reusable = is_own and not made.problem.retryable
        await attempt.finish(record, reusable=reusable, keep_s=KEPT_S)
    else:
        if claim.refresh:
            # a reader notified of the new record must not see the old one
            await stores.compilations.forget(job.key)
            await stores.invalidate(job.key)
        if await attempt.finish(record, reusable=is_own, keep_s=keep_s):
            payload = claim.payload if is_own else job.model_dump_json().encode()
            await stores.compilations.write(job.key, record, payload, digests)
    # no request waits for these writes
    await put_reusable(progress, digests)


def _count(made: Compilation, progress: Progress, metrics: WorkMetrics) -> None:
    metrics.ended(made.problem)
    for stage, ms in progress.made_ms.items():
        metrics.stage_took(stage, ms)
    for level, outcome in progress.lookups:
        metrics.lookups.labels(level, outcome).inc()


def success_kept_s(*, is_own: bool) -> int:
    """Return for how many seconds to keep the result of a job that succeeded."""
    return SUCCESS_KEPT_S if is_own else REPLACED_KEPT_S


async def _make(
    attempt: Attempt[CompileJob], job: CompileJob, events: Events, compiling: CompileContext
) -> tuple[Compilation, Progress, dict[str, str]]:
    """Compile; return the record, what was reached, and the digests of the stages."""
    started, progress, failure = time.monotonic(), Progress(), None
    claim = attempt.claim
    async with announcing(claim, events) as announce:
        try:
            limit = _limit(claim, job, attempt.attempts)
            await compile_kernel(job, compiling, progress, announce, limit, refresh=claim.refresh)
        except CompilationFailed as failed:
            failure = failed
    digests = await put_stages(progress, compiling.blobs, job.namespace)
    made = build_record(job, compiling.toolchain, progress, digests, started, failure)
    return made, progress, digests


def _limit(claim: Claim, job: CompileJob, attempts: JobConsumer) -> TimeLimit:
    """Return the limit of this attempt, which asks for later callers' limits when it is over."""

    async def ask() -> float:
        return await attempts.timeout_ms(claim.id) / 1000

    return TimeLimit(claim.timeout_ms / 1000 or job.timeout_s, ask)
