"""One claimed derivation: look once more, make it from the compilation's blobs, hand it in.

As with compilations: blobs first, then the fenced finish, then the record in the cache.
"""

import asyncio
import logging

from compiler.derivation import Derivation, DeriveJob
from compiler.problem import failure_problem
from store.compilations import Derived
from store.errors import StoreUnavailable
from store.jobs.consumer import JobConsumer
from store.jobs.types import KEPT_S, Claim
from worker.compile.compile import CompileContext
from worker.compile.compile_job import SUCCESS_KEPT_S, success_kept_s
from worker.compile.derive import MADE, DerivationFailed, derive

logger = logging.getLogger(__name__)


async def do_derivation(
    claim: Claim, attempts: JobConsumer, context: CompileContext, kept: Derived
) -> None:
    """Do the job of `claim` and finish it.

    What is derived of a compilation whose toolchain nobody serves any more is answered, and not
    kept under its key. Raises StoreUnavailable; whatever else happens becomes the job's outcome.
    """
    job = DeriveJob.model_validate_json(claim.payload)
    record = None if claim.refresh else await kept.read(job.key)
    if record is not None:
        await attempts.finish(claim.id, claim.token, record, reusable=True, keep_s=SUCCESS_KEPT_S)
        return
    try:
        data = await _derive(job, context, kept)
    except DerivationFailed as failure:
        outcome = _failed(job.what, failure)
        logger.info("deriving %s of %s: %s", job.what, job.compilation.key, failure)
        record = outcome.model_dump_json().encode()
        reusable = failure.slug == "not_derivable"
        await attempts.finish(claim.id, claim.token, record, reusable=reusable, keep_s=KEPT_S)
        return
    digest = await context.blobs.put(data)
    outcome = Derivation(state="succeeded", what=job.what, digest=digest, size_bytes=len(data))
    record = outcome.model_dump_json().encode()
    is_own = job.compilation.toolchain.id == context.toolchain.id
    keep_s = success_kept_s(is_own=is_own)
    counts = await attempts.finish(claim.id, claim.token, record, reusable=True, keep_s=keep_s)
    if counts and is_own:
        await kept.write(job.key, record, {MADE: digest})


async def _derive(job: DeriveJob, context: CompileContext, kept: Derived) -> bytes:
    try:
        return await derive(job, context, kept)
    except (DerivationFailed, StoreUnavailable, asyncio.CancelledError):
        raise
    except Exception as error:
        # a mistake of ours must be an answer too, not a job that nobody can finish
        logger.exception("deriving %s", job.key)
        detail = "The worker made a mistake; its log holds the details under the key."
        raise DerivationFailed("derivation_failed", detail) from error


def _failed(what: str, failure: DerivationFailed) -> Derivation:
    problem = failure_problem(failure.slug, str(failure))
    return Derivation(state="failed", what=what, problem=problem)
