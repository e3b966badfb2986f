"""The search of a sweep of launches on GPUs: compiles ahead, and times what the search asks for.

Compilations and launches are jobs like all others, many running at once, so that neither waits
for the other. Nothing is kept here: a driver that takes over submits the same launches, is answered
those that are over, and comes to the same decisions.
"""

import asyncio
import hashlib
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from compiler.compilation import Compilation, amended
from compiler.job import CompileJob
from compiler.parameter_binding import BindingFailed
from compiler.problem import Problem, failure_problem
from compiler.rejection import RequestRejected
from jobs.deadline import DeadlinePassed
from launch.request.launch_job import LaunchJob
from launch.request.launch_record import Launch
from launch.request.launch_request import MAX_DEADLINE_S, TimingRequest
from store.stored import read_stored
from sweeps.built_row import compiled_row, failed_row, launched_row, refused_row
from sweeps.row import SweepRow
from sweeps.search.candidate import Build, Candidate, TimedRun, candidate_of
from sweeps.search.measurement import Measurement, measurement_of
from sweeps.search.search_request import SearchRequest
from sweeps.search.size_search import FINAL, ROUND
from sweeps.search.variant_search import VariantSearch
from sweeps.search.winning import Winner
from sweeps.sweep_job import SweepJob
from sweeps.sweep_record import SearchEffort, SweepEnd
from sweeps.variant import Variant
from sweeps.worker.instruction_mixes import with_mix
from sweeps.worker.launch_variants import launch_of
from sweeps.worker.row_proofs import RowProofs
from sweeps.worker.sweep_run import BUDGET_OVER, Compiled, SweepRun
from worker.compile.progress import CompilationFailed
from worker.launch.kernel_source import problem_of

COMPILED_AT_ONCE = 64
LAUNCHED_AT_ONCE = 16
"""As many as one GPU can prepare, time and compare at once."""
_NOT_RUN: Final = "pruned"
_EXAMINED_STAGE = f"{FINAL} 1"
"""Checks and profiles are separate runs: once, for the finalists."""
_NOT_EXAMINED: dict[str, Any] = {"checks": [], "fuzz": None, "profile": False}


async def search_variants(run: SweepRun, asked: SearchRequest) -> SweepEnd:
    """Write a row for each variant, and return the winners with the cost of finding them.

    Raises AttemptRevoked, StoreUnavailable, CallerBytesFull.
    """
    measuring = Measuring(run, asked)
    winners = await measuring.measure()
    effort = measuring.effort.taken()
    return SweepEnd(
        state="completed", winners=winners, search=effort, budget_ended=run.budget_ended
    )


class Measuring:
    """One attempt at a search."""

    def __init__(self, run: SweepRun, asked: SearchRequest) -> None:
        self._run = run
        self._candidates = _candidates(run.job)
        has_reference = run.job.plan.base.get("reference") is not None
        self._search = VariantSearch(self._candidates, asked, has_reference=has_reference)
        self._rows = _SearchRows(run, self._search)
        self._launches: dict[int, LaunchJob] = {}
        self._uncompiled = deque(_by_configuration(self._candidates))
        self._wanted: deque[TimedRun] = deque()
        self._compiling: set[asyncio.Task[None]] = set()
        self._launching: set[asyncio.Task[None]] = set()
        self.effort = _EffortClock()
        self._replays = run.claim.attempt > 1 and run.is_over_budget
        """True if it only repeats the findings of an earlier attempt: no time is left."""
        self._is_missing_some = False

    async def measure(self) -> list[Winner]:
        """Time variants until the winners are known, or the budget has ended; return the winners.

        Raises AttemptRevoked, StoreUnavailable, CallerBytesFull.
        """
        try:
            await self._until_over()
        finally:
            await _end(self._under_way)
        if self._run.budget_ended:
            await self._run.give_up(BUDGET_OVER)
        await self._rows.write(range(len(self._candidates)))
        return self._search.winners()

    async def _until_over(self) -> None:
        while True:
            self._wanted += self._search.upcoming()
            if (
                self._run.is_over_budget
                and not self._replays
                and (self._uncompiled or self._wanted or self._under_way)
            ):
                self._end_budget()
                return
            self._begin()
            if not self._under_way:
                break
            await self._wait()
        if self._is_missing_some:
            self._end_budget()

    @property
    def _under_way(self) -> set[asyncio.Task[None]]:
        return self._compiling | self._launching

    def _end_budget(self) -> None:
        self._run.budget_ended = True
        self._search.end(self._run.job.budget_s or 0.0)

    def _begin(self) -> None:
        while self._uncompiled and len(self._compiling) < COMPILED_AT_ONCE:
            compiling = self._compile(self._uncompiled.popleft())
            self._compiling.add(asyncio.create_task(compiling))
        while self._wanted and len(self._launching) < LAUNCHED_AT_ONCE:
            run = self._wanted.popleft()
            if self._search.is_wanted(run):
                self._launching.add(asyncio.create_task(self._launch(run)))

    async def _wait(self) -> None:
        """Return when something is over, or the budget is."""
        left_s = None if self._replays else self._run.budget_left_s
        done, _ = await asyncio.wait(
            self._under_way, timeout=left_s, return_when=asyncio.FIRST_COMPLETED
        )
        self._compiling -= done
        self._launching -= done
        for task in done:
            task.result()

    async def _compile(self, index: int) -> None:
        """Have a variant compiled; whatever keeps it from that is its row."""
        variant = await asyncio.to_thread(self._run.job.plan.variant, index)
        try:
            queued = await asyncio.to_thread(launch_of, self._run, variant)
            compilation = await self._run.stores.kernels.of(queued)
        except RequestRejected as rejected:
            await self._leave_out(refused_row(variant, rejected))
            return
        except (BindingFailed, CompilationFailed, DeadlinePassed) as error:
            await self._leave_out(failed_row(variant, _problem(error)))
            return
        compiled = await self._compiled(compilation.job, index)
        if compiled is None:
            return
        self.effort.compile_ended()
        made = read_stored(Compilation, compiled.record)
        self._rows.built(variant, made, compiled.cache)
        if made.state == "succeeded":
            self._launches[index] = queued
            launched_as = compilation.launched_as(made)
            self._search.built(index, Build(made.key, launched_as, made.resources))
        else:
            self._search.failed(index)
        if made.state != "succeeded" or self._search.status(index).pruned is not None:
            await self._rows.write([index])
        await self._rows.complete(index, made, queued)

    async def _leave_out(self, row: SweepRow) -> None:
        self._search.failed(row.index)
        await self._rows.refuse(row)

    async def _launch(self, run: TimedRun) -> None:
        queued = self._launches[run.index]
        timed = await asyncio.to_thread(timed_launch, self._run.job.id, queued, run)
        self.effort.launch_begins()
        record = await self._launched(timed, run.index)
        if record is None:
            return
        launch = read_stored(Launch, record)
        measurement = measurement_of(launch)
        self.effort.launch_ended(measurement)
        self._rows.launched(run.index, launch)
        self._search.add_measurement(run, measurement)
        if run.stage.startswith(ROUND):
            await self._rows.write([run.index])

    async def _compiled(self, job: CompileJob, index: int) -> Compiled | None:
        if not self._replays:
            return await self._run.compiled(job, [index])
        record = self._found(await self._run.hit(job.key) or await self._kept(job.key))
        return None if record is None else Compiled(record, "hit")

    async def _launched(self, job: LaunchJob, index: int) -> bytes | None:
        if not self._replays:
            return await self._run.launched(job, [index])
        return self._found(await self._kept(job.id))

    async def _kept(self, job_id: str) -> bytes | None:
        kept = await self._run.stores.client.jobs.result(job_id)
        return kept.record if kept is not None else None

    def _found(self, record: bytes | None) -> bytes | None:
        self._is_missing_some |= record is None
        return record


def _candidates(job: SweepJob) -> list[Candidate]:
    return [
        candidate_of(index, job.plan.values(index), _target(job, index))
        for index in range(len(job.plan))
    ]


def _target(job: SweepJob, index: int) -> str:
    """Return the target of the device that a variant runs on, "" where there is none."""
    values, compilation = job.plan.values(index), job.plan.base.get("compilation") or {}
    target = values.get("target") or compilation.get("target") or ""
    launch_device = job.launch_device_of(
        target, values.get("triton") or compilation.get("triton") or ""
    )
    return launch_device.device.target or target if launch_device is not None else target


def _by_configuration(candidates: Iterable[Candidate]) -> list[int]:
    """Return all indices, those of one configuration together.

    Where the budget ends, as many as possible then have been checked at every size.
    """
    together: dict[tuple[str, str], list[int]] = {}
    for candidate in candidates:
        together.setdefault(candidate.configuration, []).append(candidate.index)
    return [index for indices in together.values() for index in indices]


def _problem(error: BindingFailed | CompilationFailed | DeadlinePassed) -> Problem:
    if isinstance(error, CompilationFailed):
        return problem_of(error)
    if isinstance(error, BindingFailed):
        return failure_problem(error.slug, str(error), error.parameter)
    return failure_problem("deadline_exceeded", str(error))


async def _end(tasks: Iterable[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@dataclass(slots=True)
class _EffortClock:
    """The time of timing variants: `timed_ms` on GPUs, without the gaps between runs."""

    begun: float = field(default_factory=time.monotonic)
    compiled: float = field(default_factory=time.monotonic)
    launched: float | None = None
    reported: float = 0.0
    launches: int = 0
    timed_ms: float = 0.0

    def compile_ended(self) -> None:
        """Take note that a variant is compiled."""
        self.compiled = time.monotonic()

    def launch_begins(self) -> None:
        """Take note that a launch begins."""
        if self.launched is None:
            self.launched = time.monotonic()

    def launch_ended(self, measurement: Measurement) -> None:
        """Take note of a launch that is over."""
        self.launches += 1
        self.reported = time.monotonic()
        if measurement.time is not None:
            self.timed_ms += measurement.time.median_us * measurement.time.repeats / 1000

    def taken(self) -> SearchEffort:
        """Return the part of the answer about it."""
        measuring_s = max(0.0, self.reported - self.launched) if self.launched is not None else 0.0
        return SearchEffort(
            launches=self.launches,
            timed_ms=round(self.timed_ms, 3),
            measuring_ms=round(1000 * measuring_s, 3),
            compiling_ms=round(1000 * (self.compiled - self.begun), 3),
        )


class _SearchRows:
    """The rows of one search. Indices are those of the sweep's plan."""

    def __init__(self, run: SweepRun, search: VariantSearch) -> None:
        self._run = run
        self._search = search
        self._bare: dict[int, SweepRow] = {}
        self._further: dict[int, SweepRow] = {}
        self._proofs = RowProofs(run)
        self._launched: dict[str, SweepRow] = {}
        self._written: dict[int, SweepRow] = {}

    def built(self, variant: Variant, made: Compilation, cache: str) -> None:
        """Record the compilation of a variant, in whatever state that is."""
        self._bare[variant.index] = compiled_row(variant, made, cache)

    async def complete(self, index: int, made: Compilation, launch: LaunchJob) -> None:
        """Find out the instruction mix and the proof of a variant, where the sweep wants them.

        Raises AttemptRevoked, StoreUnavailable.
        """
        row = await with_mix(self._run, self._bare[index], made)
        self._further[index] = await self._proofs.proved(row, launch)

    def launched(self, index: int, launch: Launch) -> None:
        """Take note of a launch of a variant that was built."""
        self._launched[launch.id] = launched_row(self._bare[index], launch)

    async def refuse(self, row: SweepRow) -> None:
        """Write the row of a variant that cannot be compiled at all."""
        self._bare[row.index] = row
        await self.write([row.index])

    async def write(self, indices: Iterable[int]) -> None:
        """Write the rows that changed. Raises AttemptRevoked, StoreUnavailable."""
        rows = (self._row(index) for index in indices)
        changed = [row for row in rows if row != self._written.get(row.index)]
        if changed:
            await self._run.write(changed)
        self._written.update({row.index: row for row in changed})

    def _row(self, index: int) -> SweepRow:
        row, known = self._as_it_stands(index), self._further.get(index)
        if known is None:
            return row
        return replace(
            row,
            instruction_mix=known.instruction_mix,
            code_bytes=known.code_bytes,
            proof=known.proof,
            proof_reason=known.proof_reason,
            proof_url=known.proof_url,
        )

    def _as_it_stands(self, index: int) -> SweepRow:
        status = self._search.status(index)
        if status.launch is not None:
            row = self._launched[status.launch.launch_id]
        else:
            row = self._bare.get(index) or SweepRow(
                index, self._run.job.plan.values(index), _NOT_RUN
            )
        if status.pruned is None:
            return row
        state = row.state if status.launch is not None else _NOT_RUN
        pruned = status.pruned.model_dump(mode="json", exclude_none=True)
        return replace(row, state=state, pruned=pruned)


def timed_launch(sweep_id: str, job: LaunchJob, run: TimedRun) -> LaunchJob:
    """Return the launch that `run` is. A driver that takes over comes to the same one."""
    text = f"{sweep_id}/{run.index}/{run.stage}"
    return amended(
        job,
        id=hashlib.sha256(text.encode()).hexdigest()[:32],
        returned={},
        trace=None,
        timing=_timing(job.timing or TimingRequest(), run),
        priority="batch",
        # it waits for others of its search, so those count against no deadline
        deadline_s=MAX_DEADLINE_S,
        **({} if run.stage == _EXAMINED_STAGE else _NOT_EXAMINED),
    )


def _timing(asked: TimingRequest, run: TimedRun) -> TimingRequest:
    """Return how a run is timed: inputs, caches and bytes as in the base."""
    return amended(
        asked,
        min_repeats=run.repeats,
        max_repeats=run.repeats,
        max_ms=run.max_ms,
        samples=False,
    )
