"""The search among the variants of one problem size: what to run next, from what is known.

Deterministic: a driver that takes over from another with the same results asks for the same runs.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sweeps.search.candidate import Build, Candidate, TimedRun
from sweeps.search.measurement import MeasuredTime, Measurement
from sweeps.search.pruned import Pruned, Reason, equal_cubin, unfit
from sweeps.search.search_request import SearchRequest

ROUND, FINAL = "round", "final"
_MIN_ITERATIONS = 3
_MAX_MS = 60_000.0
_PART_THAT_FITS = 0.7
"""The share of repeats that must fit into `max_ms`, so that measuring ends in time."""
MAX_ITERATIONS = 1000
"""The limit of one timing: its median is then known better than launches repeat."""


class SizeSearch:
    """Rounds among rivals until the finalists are known; then these side by side.

    `pruned` lists which variants are out and why, `measured` holds launches by variant and stage.
    """

    def __init__(
        self, candidates: Sequence[Candidate], asked: SearchRequest, *, has_reference: bool
    ) -> None:
        self.candidates = {candidate.index: candidate for candidate in candidates}
        self.pruned: dict[int, Pruned] = {}
        self.measured: dict[int, dict[str, Measurement]] = {index: {} for index in self.candidates}
        self.finalists: tuple[int, ...] | None = None
        """Fastest first; None while it is not known who they are."""
        self._asked = asked
        self._has_reference = has_reference
        self._unbuilt = set(self.candidates)
        self._launched: dict[str, int] = {}
        self._live: list[int] = []
        self._round = 1
        self._last_run: dict[int, TimedRun] = {}
        self._upcoming: list[TimedRun] = []
        self._awaited = 0
        """Runs of this round that are not over."""
        self._is_held = True

    def built(self, index: int, build: Build) -> None:
        """Record a finished compilation: it is run, unless that is not worthwhile."""
        self._unbuilt.discard(index)
        why_not = unfit(build.resources, run_spilling=self._asked.spills == "run")
        if why_not is None and (same := self._launched.get(build.launched_as)) is not None:
            why_not = equal_cubin(same)
        if why_not is None:
            self._launched[build.launched_as] = index
            self._live.append(index)
            self._ask(index, f"{ROUND} 1", 1.0)
        else:
            self.pruned[index] = why_not
        self._advance()

    def failed(self, index: int) -> None:
        """Take note that a variant cannot be run, as it does not compile."""
        self._unbuilt.discard(index)
        self._advance()

    def add_measurement(self, run: TimedRun, measurement: Measurement) -> None:
        """Record the outcome of a run."""
        self.measured[run.index][run.stage] = measurement
        self._awaited -= run.stage.startswith(ROUND)
        if (why_out := self._why_out(measurement)) is not None and run.index not in self.pruned:
            self.pruned[run.index] = why_out
        self._advance()

    def drop(self, index: int, why: Pruned) -> None:
        """Take a variant out, for what it did at another size."""
        self.pruned.setdefault(index, why)

    @property
    def is_first_round_over(self) -> bool:
        """True if every variant was run once, unless it shall not run at all."""
        return not (self._unbuilt or self._awaited)

    def release(self) -> None:
        """Go on after the first round: it is known who is wrong at another size."""
        self._is_held = False
        self._advance()

    def upcoming(self) -> list[TimedRun]:
        """Return the runs that are wanted from now on, in their order; each is returned once."""
        upcoming, self._upcoming = self._upcoming, []
        return upcoming

    def ask_for_finals(self) -> None:
        """Ask for the finalists in turn, every other pass in the opposite order.

        So a clock that keeps falling or rising favours no variant. A pass has the repeats of the
        second round: two launches of one kernel differ by more than further repeats of one would
        show.
        """
        finalists = [index for index in self.finalists or () if index not in self.pruned]
        growth = self._growth(2)
        for number in range(1, self._asked.passes + 1):
            for index in finalists if number % 2 else reversed(finalists):
                self._ask(index, f"{FINAL} {number}", growth)

    def in_rounds(self, index: int) -> list[Measurement]:
        """Return the launches of a variant in the rounds."""
        stages = self.measured[index].items()
        return [measurement for stage, measurement in stages if stage.startswith(ROUND)]

    def in_passes(self, index: int) -> dict[int, Measurement]:
        """Return the launches of a variant side by side, by pass."""
        stages = self.measured[index].items()
        return {
            int(stage.split()[1]): measurement
            for stage, measurement in stages
            if stage.startswith(FINAL)
        }

    def _why_out(self, measurement: Measurement) -> Pruned | None:
        verdict = measurement.verdict
        if not measurement.is_right(has_reference=self._has_reference):
            why = "it could not be launched" if verdict is None else f"the verdict is {verdict}"
            detail = f"{why}; see launch {measurement.launch_id}"
            return Pruned(reason=Reason.VERDICT, detail=detail)
        if measurement.time_finding is not None:
            detail = f"finding {measurement.time_finding} of launch {measurement.launch_id}"
            return Pruned(reason=Reason.UNRELIABLE_TIME, detail=detail)
        if measurement.time is None:
            detail = f"launch {measurement.launch_id} has no time, as those on the CPU device"
            return Pruned(reason=Reason.UNRELIABLE_TIME, detail=detail)
        return None

    def _advance(self) -> None:
        """Begin the next round, or name the finalists, once this round is over."""
        stage = f"{ROUND} {self._round}"
        if self.finalists is not None or self._unbuilt or self._awaited or self._is_held:
            return
        times = self._times(stage, (index for index in self._live if index not in self.pruned))
        self._live = list(times)
        if not times:
            self.finalists = ()
            return
        asked = self._asked
        if asked.kind == "halving" and len(times) > asked.finalists:
            is_last = self._growth(self._round + 1) == self._growth(self._round)
            cut = next_round(times, asked.keep, asked.finalists, stage, is_last=is_last)
            self.pruned.update(cut.dropped)
            self._live = list(cut.kept)
        if asked.kind == "exhaustive" or len(self._live) <= asked.finalists:
            self._name_finalists(times, stage)
            return
        self._round += 1
        for index in self._live:
            self._ask(index, f"{ROUND} {self._round}", self._growth(self._round))

    def _name_finalists(self, times: dict[int, MeasuredTime], stage: str) -> None:
        """Let those who may be as fast as the first come back, though the last cut dropped them."""
        cut = final_cut(times, self._asked.finalists, stage)
        self.finalists = cut.kept
        for index in cut.kept:
            self.pruned.pop(index, None)
        self.pruned.update(cut.dropped)

    def _times(self, stage: str, indices: Iterable[int]) -> dict[int, MeasuredTime]:
        times = {index: self.measured[index][stage].time for index in indices}
        return {index: time for index, time in times.items() if time is not None}

    def _growth(self, number: int) -> float:
        """Return how many times the first round's repeats the round `number` has."""
        growth = self._asked.keep ** (1 - number)
        return max(1.0, min(growth, MAX_ITERATIONS / self._asked.repeats))

    def _ask(self, index: int, stage: str, growth: float) -> None:
        max_ms = min(_MAX_MS, self._asked.max_ms * growth)
        repeats = round(self._asked.repeats * growth)
        if (fitting := self._fitting(index, max_ms)) is not None:
            repeats = min(repeats, max(_MIN_ITERATIONS, fitting))
        run = TimedRun(index, stage, repeats, max_ms)
        if stage.startswith(ROUND):
            self._last_run[index] = run
            self._awaited += 1
        self._upcoming.append(run)

    def _fitting(self, index: int, max_ms: float) -> int | None:
        """Return how many repeats there is time for; None where it has been enough for all."""
        before = self._last_run.get(index)
        if before is None:
            return None
        time = self.measured[index][before.stage].time
        if time is None:
            return None
        more = max_ms / before.max_ms
        if time.repeats < before.repeats:
            return int(time.repeats * more * _PART_THAT_FITS)
        was_cut = before.repeats * self._asked.max_ms < self._asked.repeats * before.max_ms * 0.99
        return int(time.repeats * more) if was_cut else None


# One cut of successive halving: who goes on to the next round, and who does not, and why.
#
# After Jamieson and Talwalkar (Non-stochastic Best Arm Identification, 2016), adapted to intervals:
# a variant that may be as fast as the last that goes on is timed again, as long as that could
# decide.


@dataclass(frozen=True, slots=True)
class _Cut:
    """Variants that advance, fastest first, and the reasons for dropping the others."""

    kept: tuple[int, ...]
    dropped: Mapping[int, Pruned]


def _ranked(times: Mapping[int, MeasuredTime]) -> list[int]:
    """Return the variants, fastest first; of equal times the one that was named first."""
    return sorted(times, key=lambda index: (times[index].median_us, index))


def next_round(
    times: Mapping[int, MeasuredTime], keep: float, finalists: int, stage: str, *, is_last: bool
) -> _Cut:
    """Return who is timed again: that share of more variants than there may be finalists.

    Those beyond go on, too, where their intervals reach the last one that does and more repeats may
    separate the two; not where the next round has no more repeats than this one (`is_last`).
    """
    order = _ranked(times)
    count = max(finalists, min(len(order) - 1, math.ceil(keep * len(order))))
    last = times[order[count - 1]]
    beyond = [
        index
        for index in order[count:]
        if times[index].low_us <= last.high_us and not (is_last or _is_settled(times[index]))
    ]
    kept = (*order[:count], *beyond)
    return _Cut(kept, _slower(times, kept, last, stage))


def final_cut(times: Mapping[int, MeasuredTime], finalists: int, stage: str) -> _Cut:
    """Return who is timed side by side: the fastest, and those who may be as fast as the first.

    As many again at most.
    """
    order = _ranked(times)
    fastest = times[order[0]]
    others = [index for index in order[finalists:] if times[index].low_us <= fastest.high_us]
    kept = (*order[:finalists], *others[:finalists])
    return _Cut(kept, _slower(times, kept, times[kept[-1]], stage))


def _is_settled(time: MeasuredTime) -> bool:
    """Return whether more repeats would show nothing more about it."""
    return not time.noisy or time.repeats >= MAX_ITERATIONS


def _slower(
    times: Mapping[int, MeasuredTime], kept: tuple[int, ...], last: MeasuredTime, stage: str
) -> dict[int, Pruned]:
    return {
        index: Pruned(reason=Reason.SLOWER, detail=_detail(time, last, len(kept), stage))
        for index, time in times.items()
        if index not in kept
    }


def _detail(time: MeasuredTime, last: MeasuredTime, count: int, stage: str) -> str:
    text = f"{stage}: {time.shown()}, where the slowest of the {count} that went on takes "
    text += last.shown()
    if time.low_us <= last.high_us:
        text += "; the two may be equally fast; more repeats would not separate them"
    return text
