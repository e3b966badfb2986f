"""The search of a sweep of launches on GPUs: compiles ahead, and times what the search asks for.

Compilations and launches are jobs like all others, many under way at once, so that neither waits
for the other. Nothing is kept here: a driver that takes over submits the same launches, is answered
those that are over, and comes to the same decisions.
"""

import asyncio
import itertools
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from compiler.compilation import Compilation
from compiler.parameter_binding import BindingFailed
from compiler.problem import Problem, failure_problem
from compiler.rejection import RequestRejected
from launch.request.launch_record import Launch
from sweeps.built_row import failed_row, refused_row
from sweeps.row import Row
from sweeps.search.candidate import Build, Candidate, TimedRun, candidate_of
from sweeps.search.measurement import Measurement, measurement_of
from sweeps.search.search import Search
from sweeps.search.search_request import SearchRequest
from sweeps.search.size_search import ROUND
from sweeps.search.winner import Winner
from sweeps.sweep_job import SweepJob
from sweeps.sweep_record import SearchEffort, SweepEnd
from worker.compile.progress import CompilationFailed
from worker.launch.kernel_source import problem_of
from worker.launch.run import DeadlinePassed
from worker.sweeps.launch_variants import QueuedLaunch, launch_of
from worker.sweeps.search_rows import SearchRows
from worker.sweeps.sweep_run import BUDGET_OVER, SweepRun
from worker.sweeps.timed_launch import timed_launch

COMPILED_AT_ONCE = 64
LAUNCHED_AT_ONCE = 16
"""As many as one GPU prepares, times and compares at a time."""


@dataclass(slots=True)
class Clocks:
    """How long a search timed variants: `timed_ms` on GPUs, without what lies between runs."""

    begun: float = field(default_factory=time.monotonic)
    compiled: float = field(default_factory=time.monotonic)
    launched: float | None = None
    told: float = 0.0
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
        self.told = time.monotonic()
        if measurement.time is not None:
            self.timed_ms += measurement.time.median_us * measurement.time.repeats / 1000

    def effort(self) -> SearchEffort:
        """Return what the answer says of it."""
        measuring_s = max(0.0, self.told - self.launched) if self.launched is not None else 0.0
        return SearchEffort(
            launches=self.launches,
            timed_ms=round(self.timed_ms, 3),
            measuring_ms=round(1000 * measuring_s, 3),
            compiling_ms=round(1000 * (self.compiled - self.begun), 3),
        )


async def search_variants(run: SweepRun, asked: SearchRequest) -> SweepEnd:
    """Write a row for each variant, and return the winners with what finding them took.

    Raises NotOurs, StoreUnavailable, CallerBytesFull.
    """
    measuring = Measuring(run, asked)
    winners = await measuring.measure()
    effort = measuring.clocks.effort()
    return SweepEnd(
        state="completed", winners=winners, search=effort, budget_ended=run.budget_ended
    )


class Measuring:
    """One attempt at a search."""

    def __init__(self, run: SweepRun, asked: SearchRequest) -> None:
        self._run = run
        self._candidates = _candidates(run.job)
        has_reference = run.job.plan.base.get("reference") is not None
        self._search = Search(self._candidates, asked, has_reference=has_reference)
        self._rows = SearchRows(run, self._search)
        self._launches: dict[int, QueuedLaunch] = {}
        self._wanted: deque[TimedRun] = deque()
        self._compiling: set[asyncio.Task[None]] = set()
        self._launching: set[asyncio.Task[None]] = set()
        self.clocks = Clocks()

    async def measure(self) -> list[Winner]:
        """Time variants until the winners are known, or the budget has ended; return the winners.

        Raises NotOurs, StoreUnavailable, CallerBytesFull.
        """
        try:
            await self._until_over()
        finally:
            await _end(self._compiling | self._launching)
        if self._run.budget_ended:
            await self._run.give_up(BUDGET_OVER)
        await self._rows.write(range(len(self._candidates)))
        return self._search.winners()

    async def _until_over(self) -> None:
        uncompiled = iter(_by_configuration(self._candidates))
        while not self._run.budget_ended:
            for index in itertools.islice(uncompiled, COMPILED_AT_ONCE - len(self._compiling)):
                self._compiling.add(asyncio.create_task(self._compile(index)))
            self._wanted += self._search.coming()
            while self._wanted and len(self._launching) < LAUNCHED_AT_ONCE:
                run = self._wanted.popleft()
                if self._search.is_wanted(run):
                    self._launching.add(asyncio.create_task(self._launch(run)))
            if not (self._compiling or self._launching):
                return
            await self._wait()

    async def _wait(self) -> None:
        """Return when something is over; when the budget is, begin nothing more."""
        under_way = self._compiling | self._launching
        left_s = self._run.budget_left_s
        done, _ = await asyncio.wait(under_way, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
        self._compiling -= done
        self._launching -= done
        for task in done:
            task.result()
        if left_s is not None and self._run.is_over_budget:
            self._run.budget_ended = True
            self._search.end(self._run.job.budget_s or 0.0)

    async def _compile(self, index: int) -> None:
        """Have a variant compiled; whatever keeps it from that is its row."""
        variant = await asyncio.to_thread(self._run.job.plan.variant, index)
        try:
            queued = await asyncio.to_thread(launch_of, self._run, variant)
            compilation = await self._run.stores.kernels.of(queued.job)
        except RequestRejected as rejected:
            await self._leave_out(refused_row(variant, rejected))
            return
        except (BindingFailed, CompilationFailed, DeadlinePassed) as error:
            await self._leave_out(failed_row(variant, _problem(error)))
            return
        compiled = await self._run.compiled(compilation.job, [index])
        self.clocks.compile_ended()
        made = Compilation.model_validate_json(compiled.record)
        self._rows.built(index, made)
        if made.state == "succeeded":
            self._launches[index] = queued
            launched_as = compilation.launched_as(made)
            self._search.built(index, Build(made.key, launched_as, made.resources))
        else:
            self._search.failed(index)
        if made.state != "succeeded" or self._search.standing(index).pruned is not None:
            await self._rows.write([index])

    async def _leave_out(self, row: Row) -> None:
        self._search.failed(row.index)
        await self._rows.refuse(row)

    async def _launch(self, run: TimedRun) -> None:
        queued = self._launches[run.index]
        timed = await asyncio.to_thread(timed_launch, self._run.job.id, queued.job, run)
        self.clocks.launch_begins()
        record = await self._run.launched(timed, queued.lane, [run.index])
        launch = Launch.model_validate_json(record)
        measurement = measurement_of(launch)
        self.clocks.launch_ended(measurement)
        self._rows.launched(run.index, launch)
        self._search.told(run, measurement)
        if run.stage.startswith(ROUND):
            await self._rows.write([run.index])


def _candidates(job: SweepJob) -> list[Candidate]:
    return [
        candidate_of(index, job.plan.values(index), _target(job, index))
        for index in range(len(job.plan))
    ]


def _target(job: SweepJob, index: int) -> str:
    """Return the target of the device that a variant runs on, "" where there is none."""
    values, compilation = job.plan.values(index), job.plan.base.get("compilation") or {}
    target = values.get("target") or compilation.get("target") or ""
    place = job.place_of(target, values.get("triton") or compilation.get("triton") or "")
    return place.device.target or target if place is not None else target


def _by_configuration(candidates: Iterable[Candidate]) -> list[int]:
    """Return all indices, those of one configuration together.

    Where the budget ends, as many as possible then have been checked at every size.
    """
    together: dict[tuple[str, str], list[int]] = {}
    for one in candidates:
        together.setdefault(one.configuration, []).append(one.index)
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
