"""Cancelling a sweep: its job ends, and so does its interest in all that its rows wait for."""

from pydantic import ValidationError

from compiler.derivation import DeriveJob, cancelled_derivation
from compiler.job import CompileJob
from compiler.problem import failure_problem
from service.batches.batch_submission import for_each
from service.caller import Caller
from service.compilations.retrieval import cancelled_record
from service.launches.launch_submission import cancel_launch
from service.state import ServiceState
from store.jobs.types import Cancellation, interest_of_batch
from store.launches import LIFE_S
from sweeps.sweep_record import SweepEnd

_OF_COMPILATION = 64
"""A key of what is compiled or derived has so many digits, the id of a launch fewer."""


async def cancel_sweep(state: ServiceState, caller: Caller, sweep_id: str) -> bool:
    """Cancel what is left; False when all of it was over."""
    problem = failure_problem("cancelled", "Its caller cancelled the sweep.")
    record = SweepEnd(state="cancelled", problem=problem).model_dump_json().encode()
    done = await state.jobs.cancel(sweep_id, caller.id, record, LIFE_S)
    waiting = (await state.sweeps.rows(sweep_id)).waiting

    async def withdraw(job_id: str) -> None:
        if len(job_id) < _OF_COMPILATION:
            await cancel_launch(state, caller, job_id)
        else:
            await _withdraw_build(state, sweep_id, job_id)

    await for_each(sorted(set(waiting.values())), withdraw)
    return done is Cancellation.CANCELLED


async def _withdraw_build(state: ServiceState, sweep_id: str, key: str) -> None:
    payload = await state.jobs.payload(key)
    if payload is not None:
        record = await _record(state, payload)
        await state.jobs.withdraw(key, interest_of_batch(sweep_id), record)


async def _record(state: ServiceState, payload: bytes) -> bytes:
    """Return what a compilation, or what is derived from one, ends with."""
    try:
        job = CompileJob.model_validate_json(payload)
    except ValidationError:
        derived = cancelled_derivation(DeriveJob.model_validate_json(payload))
        return derived.model_dump_json().encode()
    return cancelled_record(job, await state.toolchains.find(job.toolchain_id))
