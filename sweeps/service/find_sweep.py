"""A sweep of a caller as it is stored: its plan, its rows, and how it is or ended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from compiler.wanted import check_wanted
from service.caller import Caller
from service.http.problems import ProblemRaised
from service.state import ServiceState
from store.stored import Unreadable, read_stored
from sweeps.row import RowState, SweepRow
from sweeps.stored_sweeps import StoredRows, Sweeps
from sweeps.sweep_job import SweepJob
from sweeps.sweep_kind import SWEEP
from sweeps.sweep_plan import SweepPlan
from sweeps.sweep_record import SweepEnd


@dataclass(frozen=True, slots=True)
class FoundSweep:
    """A sweep; `rows` has one for each variant, in order, those not over too."""

    job: SweepJob
    end: SweepEnd
    rows: Sequence[Mapping[str, Any]]

    @property
    def plan(self) -> SweepPlan:
        """The sweep's variants."""
        return self.job.plan

    @property
    def is_finished(self) -> bool:
        """True if the sweep has ended."""
        return self.end.state not in ("queued", "running")


async def find_sweep(state: ServiceState, caller: Caller, sweep_id: str) -> FoundSweep:
    """Return the sweep as it is now.

    Raises ProblemRaised: 404 for none, and another caller's; 410 for one of another version.
    """
    if not await state.store(Sweeps).is_of(sweep_id, caller.id):
        raise _no_sweep(sweep_id)
    # in this order: a sweep that ends in between has all of its rows by then
    end = await _end(state, sweep_id)
    payload = await state.jobs.kept_payload(sweep_id)
    stored = await state.store(Sweeps).rows(sweep_id)
    if payload is None:
        raise _no_sweep(sweep_id)
    try:
        job, rows = await state.threads.run(_rows, payload, stored, end)
    except Unreadable:
        detail = "Another version of tritond wrote this sweep, or it was damaged. Post it again."
        raise ProblemRaised("evicted", detail) from None
    return FoundSweep(job, end, rows)


async def _end(state: ServiceState, sweep_id: str) -> SweepEnd:
    for _ in range(2):  # it may end between the two looks
        if result := await state.jobs.result(sweep_id):
            return read_stored(SweepEnd, result.record)
        if status := await state.jobs.state(sweep_id):
            return SweepEnd(state="queued" if status.state.value == "queued" else "running")
    raise _no_sweep(sweep_id)


def _no_sweep(sweep_id: str) -> ProblemRaised:
    return ProblemRaised("not_found", f"You have no sweep {sweep_id[:100]}")


def _rows(
    payload: bytes, stored: StoredRows, end: SweepEnd
) -> tuple[SweepJob, list[dict[str, Any]]]:
    job = SWEEP.read(payload)
    rows = []
    for index in range(len(job.plan)):
        check_wanted()
        if written := stored.written.get(index):
            rows.append(orjson.loads(written))
            continue
        left: RowState = "running" if index in stored.waiting else "queued"
        if end.state not in ("queued", "running"):
            left = "cancelled"
        rows.append(orjson.loads(SweepRow(index, job.plan.values(index), left).to_json()))
    return job, rows
