"""Does one claimed derivation: looks in the cache again, makes it, and finishes the job.

The order is that of compilations: blobs, then the finish, then the record in the cache.
"""

import logging

from compiler.derivation import Derivation, DeriveJob
from compiler.problem import failure_problem
from store.compilations import Derived
from store.jobs.types import KEPT_S
from worker.compile.compile import CompileContext
from worker.compile.compile_job import SUCCESS_KEPT_S, success_kept_s
from worker.compile.derive import MADE, DerivationFailed, derive
from worker.consumer import Attempt

logger = logging.getLogger(__name__)


async def do_derivation(
    attempt: Attempt[DeriveJob], context: CompileContext, kept: Derived
) -> None:
    """Do a derivation and finish it. Raises StoreUnavailable.

    If no worker serves the compilation's toolchain any more, the result is answered but not stored
    under its key.
    """
    job = attempt.job
    record = None if attempt.claim.refresh else await kept.read(job.key)
    if record is not None:
        await attempt.finish(record, reusable=True, keep_s=SUCCESS_KEPT_S)
        return
    try:
        data = await derive(job, context, kept)
    except DerivationFailed as failure:
        logger.info("cannot derive %s of %s: %s", job.what, job.compilation.key, failure)
        reusable = failure.slug == "not_derivable"
        await attempt.finish(_failed(job.what, failure), reusable=reusable, keep_s=KEPT_S)
        return
    digest = await context.blobs.put(data)
    outcome = Derivation(state="succeeded", what=job.what, digest=digest, size_bytes=len(data))
    record = outcome.model_dump_json().encode()
    is_own = job.compilation.toolchain.id == context.toolchain.id
    counts = await attempt.finish(record, reusable=True, keep_s=success_kept_s(is_own=is_own))
    if counts and is_own:
        await kept.write(job.key, record, {MADE: digest})


def _failed(what: str, failure: DerivationFailed) -> Derivation:
    problem = failure_problem(failure.slug, str(failure))
    return Derivation(state="failed", what=what, problem=problem)
