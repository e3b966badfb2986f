"""Inspections: returns a stored record, or submits a job and waits for a worker."""

from functools import partial

from compiler.inspection import InspectJob
from jobs.core_kinds import INSPECTION
from jobs.deadline import Deadline
from jobs.submission import JobOrder
from service.caller import Caller
from service.compilations.answer import Cache
from service.state import ServiceState


async def inspect(
    state: ServiceState, job: InspectJob, caller: Caller, wait_s: float
) -> tuple[Cache, bytes | None]:
    """Return the cache's result, and the record if it exists within `wait_s`."""
    record = await state.inspections.read(job.key)
    if record is not None:
        return "hit", record
    client, order = state.client, JobOrder(INSPECTION, job, caller.id)
    submit = partial(client.submit, order)
    submitted, record = await client.submit_and_wait(submit, Deadline(wait_s))
    return submitted.outcome.value, record
