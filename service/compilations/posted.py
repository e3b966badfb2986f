"""What was posted for a compilation, for those only who may see it.

A compile key covers the namespace of the API key that posted it, so who knows a key of another
namespace is told that there is nothing.

When an artifact has left the cache: whoever is told to post again must be served then.
"""

import re

from pydantic import ValidationError

from compiler.job import CompileJob
from service.caller import Caller
from service.http.problems import ProblemRaised
from service.state import ServiceState


async def evicted(state: ServiceState, key: str) -> ProblemRaised:
    """Return the problem (410) for the caller, having made the next POST of `key` a miss.

    Answers that were remembered, here or by other services, and the job's own result would go on
    to promise the artifact.
    """
    await state.jobs.forget(key)
    state.memory.forget(key)
    await state.invalidate(key)
    state.metrics.evictions.inc()
    return ProblemRaised("evicted", f"An artifact of {key} has left the cache; post again")


_COMPILE_KEY = re.compile(r"[0-9a-f]{64}")


async def posted_job(shared: ServiceState, caller: Caller, key: str) -> CompileJob:
    """Return the job of the compilation `key`, living, over, or cached.

    Raises ProblemRaised (404) when none is kept, also for keys of other work and other namespaces.
    """
    payload = None
    if _COMPILE_KEY.fullmatch(key):
        payload = await shared.jobs.kept_payload(key) or await shared.compilations.request(key)
    job = _compile_job(payload) if payload is not None else None
    if job is None or job.namespace != caller.namespace:
        raise no_compilation(key)
    return job


def no_compilation(key: str) -> ProblemRaised:
    """Return the problem of a key that stands for nothing here."""
    return ProblemRaised("not_found", f"There is no compilation {key}; it may have been evicted")


def _compile_job(payload: bytes) -> CompileJob | None:
    try:
        return CompileJob.model_validate_json(payload)
    except ValidationError:
        return None  # inspections and derivations have keys of the same form
