"""One claimed compile job: look once more, compile, hand in the record under the claim's token.

Blobs first, then the fenced finish, then the record in the cache: a late worker changes nothing.
The stages that are reached are announced in order, without holding the job up: events are news, not
results, and are dropped where the store is away.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from compiler.compilation import Compilation, amended, new_compilation
from compiler.job import CompileJob
from compiler.problem import failure_problem
from compiler.request.resolution import job_for
from compiler.toolchain import Toolchain
from store.compilations import Compilations
from store.errors import StoreUnavailable
from store.events import Events
from store.jobs.consumer import JobConsumer
from store.jobs.types import KEPT_S, Claim
from store.workers import OVERRULED, Counters
from worker.compile.build_record import build_record
from worker.compile.child_task import OnStage, TimeLimit
from worker.compile.compile import CompileContext, compile_kernel
from worker.compile.progress import CompilationFailed, Progress
from worker.compile.result_cache import leave_for_others, put_stages
from worker.pool.child_outcome import Stage

logger = logging.getLogger(__name__)


@asynccontextmanager
async def announcing(claim: Claim, events: Events) -> AsyncIterator[OnStage]:
    """Yield what a reached stage is handed to; all are announced when the context ends."""
    stages: asyncio.Queue[Stage | None] = asyncio.Queue()
    announcements = asyncio.create_task(_announce_all(claim, events, stages))
    try:
        yield stages.put_nowait
        stages.put_nowait(None)
        await announcements
    finally:
        announcements.cancel()


async def _announce_all(claim: Claim, events: Events, stages: asyncio.Queue[Stage | None]) -> None:
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
            logger.warning("%d stages of %s not announced: %s", len(reached_now), claim.id, error)


REPLACED_KEPT_S = 24 * 3600
"""A success under the key of a toolchain that is served no more is nowhere else."""
SUCCESS_KEPT_S = 60
"""A success lives in the cache; its result only bridges the moment until it is written there."""


@dataclass(frozen=True, slots=True)
class JobContext:
    """What jobs are done with: the way to hand them in, the cache, and the children."""

    attempts: JobConsumer
    compilations: Compilations
    events: Events
    counters: Counters
    invalidate: Callable[[str], Awaitable[None]]
    compiling: CompileContext


async def do_job(claim: Claim, context: JobContext) -> None:
    """Do the job of `claim` and finish it.

    Raises StoreUnavailable; whatever happens to the job itself becomes its record.
    """
    job = CompileJob.model_validate_json(claim.payload)
    is_own = job.toolchain_id == context.compiling.toolchain.id
    if not is_own:  # nobody serves that toolchain any more: this one has the same Triton
        job = job_for(job, context.compiling.toolchain)
    if not claim.refresh and (record := await context.compilations.read(job.key)):
        await _finish(claim, context, record, reusable=is_own, keep_s=success_kept_s(is_own=is_own))
        return
    try:
        made, progress, digests = await _make(claim, job, context)
    except (StoreUnavailable, asyncio.CancelledError):
        raise
    except Exception:
        # a mistake of ours must be an answer too, not a job that nobody can finish
        logger.exception("compiling %s", job.key)
        body = mistaken_compilation(job, context.compiling.toolchain).model_dump_json().encode()
        await _finish(claim, context, body, reusable=False, keep_s=KEPT_S)
        return
    record = made.model_dump_json().encode()
    if made.problem is not None:
        reusable = is_own and not made.problem.retryable
        await _finish(claim, context, record, reusable=reusable, keep_s=KEPT_S)
    else:
        if claim.refresh:
            # whoever learns of the new record must not find the old one afterwards
            await context.compilations.forget(job.key)
            await context.invalidate(job.key)
        keep_s = success_kept_s(is_own=is_own)
        if await _finish(claim, context, record, reusable=is_own, keep_s=keep_s):
            payload = claim.payload if is_own else job.model_dump_json().encode()
            await context.compilations.write(job.key, record, payload, digests)
    # nobody waits for these any more
    if progress.overruled:
        await context.counters.add(OVERRULED)
    await leave_for_others(progress, digests)


def success_kept_s(*, is_own: bool) -> int:
    """Return how long, in seconds, the result of a job stays that succeeded."""
    return SUCCESS_KEPT_S if is_own else REPLACED_KEPT_S


async def _make(
    claim: Claim, job: CompileJob, context: JobContext
) -> tuple[Compilation, Progress, dict[str, str]]:
    """Compile; return the record, what was reached, and the digests of the stages."""
    started, progress, failure = time.monotonic(), Progress(), None
    async with announcing(claim, context.events) as announce:
        try:
            limit = _limit(claim, job, context.attempts)
            await compile_kernel(
                job, context.compiling, progress, announce, limit, refresh=claim.refresh
            )
        except CompilationFailed as failed:
            failure = failed
    digests = await put_stages(progress, context.compiling.blobs, job.namespace)
    made = build_record(job, context.compiling.toolchain, progress, digests, started, failure)
    return made, progress, digests


def _limit(claim: Claim, job: CompileJob, attempts: JobConsumer) -> TimeLimit:
    """Return the limit of this attempt: what callers want now, or will when it is over."""

    async def ask() -> float:
        return await attempts.timeout_ms(claim.id) / 1000

    return TimeLimit(claim.timeout_ms / 1000 or job.timeout_s, ask)


async def _finish(
    claim: Claim, context: JobContext, record: bytes, *, reusable: bool, keep_s: int
) -> bool:
    return await context.attempts.finish(
        claim.id, claim.token, record, reusable=reusable, keep_s=keep_s
    )


def mistaken_compilation(job: CompileJob, toolchain: Toolchain) -> Compilation:
    """Return the failed compilation of a job that the worker itself made a mistake with."""
    detail = "The worker made a mistake; its log holds the details under the key."
    problem = failure_problem("worker_lost", detail)
    return amended(new_compilation(job, toolchain, "failed"), problem=problem)
