"""Cancelling a sweep: its job ends, and so does its interest in all that its rows wait for."""

from compiler.derivation import DeriveJob, cancelled_derivation
from compiler.job import CompileJob
from service.caller import Caller
from service.compilations.retrieval import cancelled_record
from service.gather_limited import gather_limited
from service.state import ServiceState
from store.jobs.types import Cancellation, interest_of_batch, kind_of
from store.stored import read_stored
from sweeps.stored_sweeps import Sweeps
from sweeps.sweep_kind import SWEEP

AT_ONCE = 16


async def cancel_sweep(state: ServiceState, caller: Caller, sweep_id: str) -> bool:
    """Cancel what is left; False when all of it was over."""
    record = SWEEP.cancelled_record(sweep_id, b"")
    done = await state.jobs.cancel(sweep_id, caller.id, record, SWEEP.keep_s)
    waiting = (await state.store(Sweeps).rows(sweep_id)).waiting

    async def withdraw(job_id: str) -> None:
        await _withdraw(state, caller, sweep_id, job_id)

    await gather_limited(AT_ONCE, sorted(set(waiting.values())), withdraw)
    return done is Cancellation.CANCELLED


async def _withdraw(state: ServiceState, caller: Caller, sweep_id: str, job_id: str) -> None:
    """End the sweep's interest in a job: of a launch it has all, what is built others may want."""
    lane, payload = await state.jobs.lane(job_id), await state.jobs.payload(job_id)
    if lane is None or payload is None:
        return  # it is over
    kind = kind_of(lane)
    owned = next((jobs for jobs in state.owned.values() if jobs.kind.name == kind), None)
    if owned is not None:
        await owned.cancel(state, caller, job_id)
        return
    match kind:
        case "compile":
            job = read_stored(CompileJob, payload)
            record = cancelled_record(job, await state.toolchains.find(job.toolchain_id))
        case "derive":
            derived = cancelled_derivation(read_stored(DeriveJob, payload))
            record = derived.model_dump_json().encode()
        case _:
            raise ValueError(f"no row of a sweep waits for what is in the lane of {kind}")
    await state.jobs.withdraw(job_id, interest_of_batch(sweep_id), record)
