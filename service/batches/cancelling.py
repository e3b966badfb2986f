"""Cancelling a batch: whatever of it is not over ends, unless others wait for it too."""

from compiler.job import CompileJob
from compiler.record import cancelled_compilation
from service.batches.submission import each
from service.caller import Caller
from service.launch_submission import cancel_launch
from service.shared import Shared
from store.batches import StoredBatch
from store.jobs.words import interest_of_batch


async def cancel_batch(shared: Shared, batch: StoredBatch, caller: Caller) -> bool:
    """Cancel what is left; False when all of it was over."""
    open_ = {
        planned.id
        for index, planned in enumerate(batch.items)
        if planned.id is not None and index not in batch.settled
    }
    cancelled: list[str] = []

    async def cancel(job_id: str) -> None:
        if batch.kind == "launches":
            done = await cancel_launch(shared, caller, job_id)
        else:
            done = await _cancel_compilation(shared, batch.id, job_id)
        if done:
            cancelled.append(job_id)

    await each(sorted(open_), cancel)
    return bool(cancelled)


async def _cancel_compilation(shared: Shared, batch_id: str, key: str) -> bool:
    """Settle the items of `key`; its job goes on for those that still want it."""
    payload = await shared.jobs.payload(key)
    if payload is None:
        return False
    job = CompileJob.model_validate_json(payload)
    toolchain = await shared.toolchains.find(job.toolchain_id)
    record = cancelled_compilation(job, toolchain).model_dump_json().encode()
    if await shared.batches.leave(batch_id, key, record):
        await shared.jobs.withdraw(key, interest_of_batch(batch_id), record)
    return True
