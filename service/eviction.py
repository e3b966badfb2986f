"""When an artifact has left the cache: whoever is told to post again must be served then."""

from service.problems import ProblemRaised
from service.shared import Shared


async def evicted(state: Shared, key: str) -> ProblemRaised:
    """Return the problem (410) for the caller, having made the next POST of `key` a miss.

    Answers that were remembered, here or by other services, and the job's own result would go on
    to promise the artifact.
    """
    await state.jobs.forget(key)
    state.memory.forget(key)
    await state.invalidate(key)
    state.metrics.evictions.inc()
    return ProblemRaised("evicted", f"An artifact of {key} has left the cache; post again")
