"""An inspection from its job to its record: what is kept is taken, else a worker is waited for."""

from functools import partial

from compiler.inspection import InspectJob
from service.caller import Caller
from service.compilations.answer import Cache
from service.compilations.submission import MAX_QUEUED_MS
from service.state import ServiceState
from service.submit_and_wait import submit_and_wait
from store.jobs.types import Priority, inspect_lane


async def inspect(
    state: ServiceState, job: InspectJob, caller: Caller, wait_s: float
) -> tuple[Cache, bytes | None]:
    """Return what the cache did, and the record if it is there within `wait_s`."""
    record = await state.inspections.read(job.key)
    if record is not None:
        return "hit", record
    submit = partial(
        state.jobs.submit,
        job.key,
        lane=inspect_lane(job.toolchain_id),
        priority=Priority.INTERACTIVE,
        payload=job.model_dump_json().encode(),
        caller=caller.id,
        deadline_ms=MAX_QUEUED_MS,
    )
    submitted, record = await submit_and_wait(state, submit, wait_s)
    return submitted.outcome.value, record
