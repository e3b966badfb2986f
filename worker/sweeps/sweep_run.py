"""One attempt at a sweep: what it submits, waits for and writes. Rows that are over stay.

Jobs are submitted as the caller's, behind everybody's interactive work, and each is noted before,
so that whoever cancels the sweep finds it. What the rows say is not known here.
"""

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from compiler.compilation import cancelled_compilation
from compiler.derivation import DeriveJob, cancelled_derivation
from compiler.job import CompileJob
from compiler.problem import failure_problem
from compiler.rejection import Fault, RequestRejected
from compiler.toolchain import Toolchain
from launch.request.launch_job import LaunchJob, new_launch
from store.blobs import Blobs
from store.compilations import Compilations, Derived
from store.errors import JobLost
from store.jobs.producer import JobProducer
from store.jobs.types import (
    Claim,
    Membership,
    Priority,
    SubmitOutcome,
    Submitted,
    compile_lane,
    derive_lane,
    interest_of_batch,
)
from store.jobs.waiting import ResultWaiter
from store.launches import LIFE_S, Launches
from store.sweeps import Sweeps
from sweeps.row import SweepRow
from sweeps.sweep_job import SweepJob
from worker.queue_room import when_there_is_room
from worker.sweeps.launch_compilation import LaunchCompilations

QUEUED_AT_MOST_MS: Final = 3_600_000
WAIT_S: Final = 600.0
BUDGET_OVER: Final = "The budget of the sweep it belongs to is over."


class NotOurs(Exception):
    """The attempt does not count any more: another goes on, or the sweep was cancelled."""


SubmittedJob = CompileJob | LaunchJob | DeriveJob
"""What a row may wait for."""


@dataclass(frozen=True, slots=True)
class SweepStores:
    """What sweeps are driven with."""

    sweeps: Sweeps
    jobs: JobProducer
    finished: ResultWaiter
    compilations: Compilations
    launches: Launches
    toolchain: Callable[[str], Awaitable[Toolchain | None]]
    """The description of a toolchain by its id."""
    kernels: LaunchCompilations
    derivations: Derived
    blobs: Blobs


@dataclass(frozen=True, slots=True)
class Compiled:
    """A compilation that is over: its record, and what the cache did."""

    record: bytes
    cache: str


@dataclass(slots=True)
class SweepRun:
    """An attempt; `done` are the rows that were over before it."""

    claim: Claim
    job: SweepJob
    stores: SweepStores
    toolchains: Mapping[str, Toolchain | None]
    """By the Triton that variants name, "" for none."""
    done: frozenset[int]
    budget_ended: bool = False
    """Whether a variant was left out for want of time."""
    _under_way: dict[str, SubmittedJob] = field(default_factory=dict)

    @property
    def todo(self) -> Iterable[int]:
        """The indices of the rows that are not over."""
        return (index for index in range(len(self.job.plan)) if index not in self.done)

    async def write(self, rows: Iterable[SweepRow]) -> None:
        """Keep rows that are over, and tell of each. Raises NotOurs, StoreUnavailable."""
        written = {row.index: row.to_json() for row in rows}
        if written and not await self.stores.sweeps.write_rows(
            self.job.id, self.claim.token, written
        ):
            raise NotOurs

    @property
    def is_refresh(self) -> bool:
        """Whether the base asks for its compilations to be made again."""
        return self.job.plan.base.get("refresh") is True

    @property
    def budget_left_s(self) -> float | None:
        """What is left of the budget, None where there is no end to it."""
        if self.job.budget_s is None:
            return None
        spent_s = time.time() - self.claim.submitted_at_ms / 1000
        return max(0.0, self.job.budget_s - spent_s)

    @property
    def is_over_budget(self) -> bool:
        """Whether nothing new is to be begun."""
        return self.budget_left_s == 0

    def toolchain_of(self, triton: str | None) -> Toolchain:
        """Return the toolchain of a variant that names this Triton, or none.

        Raises RequestRejected where it is not offered any more.
        """
        toolchain = self.toolchains.get(triton or "")
        if toolchain is None:
            raise RequestRejected(Fault("/triton", "this Triton is not offered here any more"))
        return toolchain

    async def hit(self, key: str) -> bytes | None:
        """Return the record of a compilation as the cache has it, None where it is to be new."""
        return None if self.is_refresh else await self.stores.compilations.read(key)

    async def compiled(self, job: CompileJob, rows: Iterable[int]) -> Compiled:
        """Return the compilation of `job`, which `rows` wait for, when it is over.

        Raises NotOurs, StoreUnavailable.
        """
        await self._note(job.key, job, rows)
        submitted, record = await self._result(job.key, lambda: self._submit_compilation(job, rows))
        return Compiled(record, submitted.outcome.value)

    async def launched(self, job: LaunchJob, rows: Iterable[int]) -> bytes:
        """Return the record of a launch, which `rows` wait for, when it is over.

        A launch of the same id that is under way or over is this one. Raises as `compiled`.
        """
        await self._note(job.id, job, rows)
        kept = await self.stores.jobs.result(job.id)
        if kept is not None:
            self._under_way.pop(job.id, None)
            return kept.record
        _, record = await self._result(job.id, lambda: self._submit_launch(job))
        return record

    async def derived(self, job: DeriveJob, row: int) -> bytes:
        """Return the record of what is derived for a row, when it is over. Raises as `compiled`."""
        await self._note(job.key, job, [row])
        _, record = await self._result(job.key, lambda: self._submit_derivation(job, row))
        return record

    async def withdraw(self) -> None:
        """Withdraw from what is under way, if the sweep itself is over. Raises StoreUnavailable."""
        if await self.stores.jobs.state(self.job.id) is not None:
            return  # another attempt goes on with it
        await self.give_up("The sweep it belongs to was cancelled.")

    async def give_up(self, why: str) -> None:
        """Withdraw from what is under way: its launches are cancelled. Raises StoreUnavailable."""
        for job_id in list(self._under_way):
            await self.withdraw_from(job_id, why)

    async def withdraw_from(self, job_id: str, why: str) -> None:
        """Withdraw from one job that is under way. Raises StoreUnavailable."""
        job = self._under_way.pop(job_id, None)
        if isinstance(job, CompileJob):
            record = cancelled_compilation(job, None).model_dump_json().encode()
            await self.stores.jobs.withdraw(job_id, interest_of_batch(self.job.id), record)
        elif isinstance(job, DeriveJob):
            record = cancelled_derivation(job).model_dump_json().encode()
            await self.stores.jobs.withdraw(job_id, interest_of_batch(self.job.id), record)
        elif job is not None:
            problem = failure_problem("cancelled", why)
            launch = new_launch(job, "cancelled", problem=problem).model_dump_json().encode()
            await self.stores.jobs.cancel(job_id, self.job.caller, launch, LIFE_S)

    async def _note(self, job_id: str, job: SubmittedJob, rows: Iterable[int]) -> None:
        noted = dict.fromkeys(rows, job_id)
        if not await self.stores.sweeps.note_jobs(self.job.id, self.claim.token, noted):
            raise NotOurs
        self._under_way[job_id] = job

    async def _result(
        self, job_id: str, submit: Callable[[], Awaitable[Submitted]]
    ) -> tuple[Submitted, bytes]:
        """Submit until there is room, and again when the store lost the job; return its record."""
        while True:
            submitted = await when_there_is_room(submit)
            if submitted.outcome is SubmitOutcome.HIT:
                record = submitted.record or b""
                break
            try:
                result = await self.stores.finished.wait(job_id, WAIT_S)
            except JobLost:
                continue
            if result is not None:
                record = result.record
                break
        self._under_way.pop(job_id, None)
        return submitted, record

    async def _submit_compilation(self, job: CompileJob, rows: Iterable[int]) -> Submitted:
        return await self.stores.jobs.submit(
            job.key,
            lane=compile_lane(job.toolchain_id),
            priority=Priority.BATCH,
            payload=job.model_dump_json().encode(),
            caller=self.job.caller,
            deadline_ms=QUEUED_AT_MOST_MS,
            refresh=self.is_refresh,
            timeout_ms=int(job.timeout_s * 1000),
            membership=Membership(self.job.id, " ".join(map(str, rows))),
            keeps_payload=True,
        )

    async def _submit_derivation(self, job: DeriveJob, row: int) -> Submitted:
        return await self.stores.jobs.submit(
            job.key,
            lane=derive_lane(job.compilation.toolchain.id),
            priority=Priority.BATCH,
            payload=job.model_dump_json().encode(),
            caller=self.job.caller,
            deadline_ms=QUEUED_AT_MOST_MS,
            membership=Membership(self.job.id, str(row)),
        )

    async def _submit_launch(self, job: LaunchJob) -> Submitted:
        submitted = await self.stores.jobs.submit(
            job.id,
            lane=job.lane,
            priority=Priority.BATCH,
            payload=job.model_dump_json().encode(),
            caller=self.job.caller,
            deadline_ms=QUEUED_AT_MOST_MS,
        )
        await self.stores.launches.create(job.id, self.job.caller)
        return submitted
