"""One attempt at a sweep: what it submits, waits for and writes. Rows that are over stay.

Jobs are submitted as the caller's, behind everybody's interactive work, and each is noted before,
so that cancelling the sweep finds it. This module does not know the rows' meaning.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from compiler.derivation import DeriveJob
from compiler.job import CompileJob
from compiler.rejection import FieldError, RequestRejected
from compiler.toolchain import Toolchain
from jobs.core_kinds import COMPILATION, DERIVATION, LAUNCH
from jobs.deadline import Deadline
from jobs.submission import JobClient, JobOrder, Submit
from launch.request.launch_job import LaunchJob
from store.blobs import Blobs
from store.compilations import Compilations, Derived
from store.jobs.types import (
    Claim,
    Membership,
    Priority,
    Submitted,
    Waiting,
    interest_of_batch,
)
from store.launches import Launches
from sweeps.row import SweepRow
from sweeps.stored_sweeps import Sweeps, WrittenRow
from sweeps.sweep_job import SweepJob
from sweeps.worker.launch_compilation import LaunchCompilations
from worker.worker_context import ProveKernel

BUDGET_OVER: Final = "The budget of the sweep it belongs to is over."


class AttemptRevoked(Exception):
    """The attempt does not count any more: another goes on, or the sweep was cancelled."""


@dataclass(frozen=True, slots=True)
class SweepStores:
    """The dependencies of a sweep's driver."""

    sweeps: Sweeps
    client: JobClient
    compilations: Compilations
    launches: Launches
    toolchain: Callable[[str], Awaitable[Toolchain | None]]
    """The description of a toolchain by its id."""
    kernels: LaunchCompilations
    derivations: Derived
    blobs: Blobs
    prove_kernel: ProveKernel | None


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
    budget: Deadline | None = None
    """The end of its budget; None: it has none."""
    budget_ended: bool = False
    """True if a variant was skipped for lack of time."""
    _under_way: dict[str, JobOrder[Any]] = field(default_factory=dict)

    @property
    def todo(self) -> Iterable[int]:
        """The indices of the rows that are not over."""
        return (index for index in range(len(self.job.plan)) if index not in self.done)

    async def write(self, rows: Iterable[SweepRow]) -> None:
        """Keep rows that are over, and publish each. Raises AttemptRevoked, StoreUnavailable."""
        written = [WrittenRow(row.index, row.state, row.to_json()) for row in rows]
        if written and not await self.stores.sweeps.write_rows(
            self.job.id, self.claim.token, written
        ):
            raise AttemptRevoked

    @property
    def is_refresh(self) -> bool:
        """True if the base asks to compile again."""
        return self.job.plan.base.get("refresh") is True

    @property
    def budget_left_s(self) -> float | None:
        """The rest of the budget, None if it is unlimited."""
        return None if self.budget is None else self.budget.left_s

    @property
    def is_over_budget(self) -> bool:
        """True if nothing new may start."""
        return self.budget_left_s == 0

    def toolchain_of(self, triton: str | None) -> Toolchain:
        """Return the toolchain of a variant that names this Triton, or none.

        Raises RequestRejected where it is not offered any more.
        """
        toolchain = self.toolchains.get(triton or "")
        if toolchain is None:
            raise RequestRejected(FieldError("/triton", "this Triton is not offered here any more"))
        return toolchain

    async def hit(self, key: str) -> bytes | None:
        """Return the record of a compilation as the cache has it, None where it is to be new."""
        return None if self.is_refresh else await self.stores.compilations.read(key)

    async def compiled(self, job: CompileJob, rows: Iterable[int]) -> Compiled:
        """Return the compilation of `job`, which `rows` wait for, when it is over.

        Raises AttemptRevoked, StoreUnavailable.
        """
        order = JobOrder(
            COMPILATION,
            job,
            self.job.caller,
            Priority.BATCH,
            refresh=self.is_refresh,
            timeout_ms=int(job.timeout_s * 1000),
            membership=self._membership(rows),
        )
        await self._note(order, rows)
        submitted, record = await self._result(order)
        return Compiled(record, submitted.outcome.value)

    async def launched(self, job: LaunchJob, rows: Iterable[int]) -> bytes:
        """Return the record of a launch, which `rows` wait for, when it is over.

        A running or finished launch of the same id is this one. Raises as `compiled`.
        """
        order = JobOrder(LAUNCH, job, self.job.caller, Priority.BATCH)
        return await self._owned(order, rows, partial(self._submit_launch, order))

    async def proved(self, order: JobOrder[Any], row: int) -> bytes:
        """Return the record of a proof when it is over, as `launched` does."""
        return await self._owned(order, [row])

    async def derived(self, job: DeriveJob, row: int) -> bytes:
        """Return the record of a row's derivation, when it is over. Raises as `compiled`."""
        order = JobOrder(
            DERIVATION,
            job,
            self.job.caller,
            Priority.BATCH,
            membership=self._membership([row]),
        )
        await self._note(order, [row])
        _, record = await self._result(order)
        return record

    async def withdraw(self) -> None:
        """Withdraw from running jobs, if the sweep itself is over. Raises StoreUnavailable."""
        if await self.stores.client.jobs.state(self.job.id) is not None:
            return  # another attempt goes on with it
        await self.give_up("The sweep it belongs to was cancelled.")

    async def give_up(self, why: str) -> None:
        """Withdraw from running jobs: its launches are cancelled. Raises StoreUnavailable."""
        for job_id in list(self._under_way):
            await self.withdraw_from(job_id, why)

    async def withdraw_from(self, job_id: str, why: str) -> None:
        """Withdraw from one running job. Raises StoreUnavailable."""
        order = self._under_way.pop(job_id, None)
        if order is None:
            return
        jobs, kind = self.stores.client.jobs, order.kind
        record = kind.cancelled_of(order.job, why if kind.is_owned else "")
        if kind.is_owned:
            await jobs.cancel(job_id, self.job.caller, record, kind.keep_s)
        else:
            await jobs.withdraw(job_id, interest_of_batch(self.job.id), record)

    def _membership(self, rows: Iterable[int]) -> Membership:
        return Membership(self.job.id, " ".join(map(str, rows)))

    async def _note(self, order: JobOrder[Any], rows: Iterable[int]) -> None:
        noted = dict.fromkeys(rows, order.job_id)
        if not await self.stores.sweeps.note_jobs(self.job.id, self.claim.token, noted):
            raise AttemptRevoked
        self._under_way[order.job_id] = order

    async def _owned(
        self, order: JobOrder[Any], rows: Iterable[int], submit: Submit | None = None
    ) -> bytes:
        await self._note(order, rows)
        kept = await self.stores.client.jobs.result(order.job_id)
        if kept is not None:
            self._under_way.pop(order.job_id, None)
            return kept.record
        _, record = await self._result(order, submit)
        return record

    async def _submit_launch(
        self, order: JobOrder[LaunchJob], *, waiting: Waiting | None = None
    ) -> Submitted:
        submitted = await self.stores.client.submit_when_there_is_room(order, waiting=waiting)
        await self.stores.launches.create(order.job_id, order.caller)
        return submitted

    async def _result(
        self, order: JobOrder[Any], submit: Submit | None = None
    ) -> tuple[Submitted, bytes]:
        """Submit until there is room, and again when the store lost the job; return its record."""
        client = self.stores.client
        submit = submit or partial(client.submit_when_there_is_room, order)
        submitted, record = await client.submit_and_wait(submit, None)
        self._under_way.pop(order.job_id, None)
        return submitted, record or b""
