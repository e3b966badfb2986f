"""The search of a whole sweep: all problem sizes, what is still wanted, and who has won.

A state machine without a clock: a driver reports builds and measurements, and asks what to run.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sweeps.search.candidate import Build, Candidate, ProblemSize, TimedRun
from sweeps.search.measurement import Measurement
from sweeps.search.pruned import Pruned, Reason, out_of_budget
from sweeps.search.search_request import SearchRequest
from sweeps.search.size_search import SizeSearch
from sweeps.search.winning import Contender, Winner, middle_launch, winner_of


@dataclass(frozen=True, slots=True)
class VariantStatus:
    """A variant as its row shows it: the launch whose numbers stand for it, and why it is out."""

    launch: Measurement | None
    pruned: Pruned | None


_Objections = Sequence[tuple[int, str]]
"""The variants of one configuration that were not right: index and reason."""
_MAX_OBJECTIONS = 2  # one of them is of another variant than that which would win


class VariantSearch:
    """Told of every variant that it was built, or failed; then of every run what it came to."""

    def __init__(
        self, candidates: Sequence[Candidate], asked: SearchRequest, *, has_reference: bool
    ) -> None:
        self._has_reference = has_reference
        self._candidates = {candidate.index: candidate for candidate in candidates}
        self._builds: dict[int, Build] = {}
        self._failed: set[int] = set()
        self._finals_asked = False
        self._budget_s: float | None = None
        self._everywhere: dict[tuple[str, str], list[Candidate]] = {}
        for candidate in candidates:
            self._everywhere.setdefault(candidate.configuration, []).append(candidate)
        rivals: dict[ProblemSize, list[Candidate]] = {}
        for candidate in candidates:
            rivals.setdefault(candidate.size, []).append(candidate)
        self._sizes = {
            size: SizeSearch(group, asked, has_reference=has_reference)
            for size, group in rivals.items()
        }
        self._in_first_round = set(self._sizes)
        self._is_held = True
        self._undecided = set(self._sizes)
        self._changed_sizes: dict[ProblemSize, None] = {}

    def built(self, index: int, build: Build) -> None:
        """Record the compilation of a variant."""
        self._builds[index] = build
        self._changed(index).built(index, build)

    def failed(self, index: int) -> None:
        """Take note that a variant cannot be run."""
        self._failed.add(index)
        self._changed(index).failed(index)

    def add_measurement(self, run: TimedRun, measurement: Measurement) -> None:
        """Record the outcome of a run."""
        self._changed(run.index).add_measurement(run, measurement)

    def upcoming(self) -> list[TimedRun]:
        """Return the runs that are wanted from now on, in the order in which to begin them.

        Each is returned once. No second round begins before all first ones are over: who is wrong
        at one size must not crowd others out at another. Finalists are timed when nothing else is
        timed any more, and those of one problem size after those of another.
        """
        changed, self._changed_sizes = self._changed_sizes, {}
        self._in_first_round -= {
            index for index in changed if self._sizes[index].is_first_round_over
        }
        if self._is_held and not self._in_first_round:
            self._release()
            changed = dict.fromkeys(self._sizes)
        runs = [run for size in changed for run in self._sizes[size].upcoming()]
        self._undecided -= {index for index in changed if self._sizes[index].finalists is not None}
        if self._finals_asked or self._undecided:
            return runs
        self._finals_asked = True
        for size in self._sizes.values():
            size.ask_for_finals()
            runs += size.upcoming()
        return runs

    def is_wanted(self, run: TimedRun) -> bool:
        """Return whether a run that has not begun is still of use."""
        return self._budget_s is None and run.index not in self._of(run.index).pruned

    def end(self, budget_s: float) -> None:
        """Start nothing more: the budget has ended. Running work may still report."""
        self._budget_s = budget_s

    def status(self, index: int) -> VariantStatus:
        """Return what the row of a variant shows of it."""
        size = self._of(index)
        pruned = size.pruned.get(index)
        launch = self._launch_of(size, index)
        is_left = launch is None and pruned is None and index not in self._failed
        if is_left and self._budget_s is not None:
            pruned = out_of_budget(self._budget_s)
        return VariantStatus(launch, pruned)

    def winners(self) -> list[Winner]:
        """Return the winner of each problem size, by the times known now."""
        objections = {
            configuration: self._objections(candidates)
            for configuration, candidates in self._everywhere.items()
        }
        return [self._winner(size, each, objections) for size, each in self._sizes.items()]

    def _changed(self, index: int) -> SizeSearch:
        """Return the search that a variant is of, which may want other runs from now on."""
        self._changed_sizes[self._candidates[index].size] = None
        return self._of(index)

    def _release(self) -> None:
        """Begin the second rounds, without those that were wrong at another size."""
        self._is_held = False
        for candidates in self._everywhere.values():
            objections = self._objections(candidates)
            for candidate in candidates:
                if (why := _elsewhere(candidate.index, objections)) is not None:
                    wrong = Pruned(reason=Reason.VERDICT, detail=why)
                    self._of(candidate.index).drop(candidate.index, wrong)
        for size in self._sizes.values():
            size.release()

    def _of(self, index: int) -> SizeSearch:
        return self._sizes[self._candidates[index].size]

    def _launch_of(self, size: SizeSearch, index: int) -> Measurement | None:
        every = list(size.measured[index].values())
        wrong = [
            measurement
            for measurement in every
            if measurement.is_wrong or measurement.time_finding or measurement.time is None
        ]
        if wrong or not every:
            return wrong[0] if wrong else None
        return middle_launch(size.in_rounds(index), size.in_passes(index))

    def _winner(
        self, size: ProblemSize, search: SizeSearch, objections: Mapping[Any, _Objections]
    ) -> Winner:
        contenders = [
            Contender(
                self._candidates[index],
                search.in_rounds(index),
                search.in_passes(index),
                _elsewhere(index, objections[self._candidates[index].configuration]),
            )
            for index in self._compared(search)
        ]
        why_none = "" if contenders else self._why_none(search)
        winner = winner_of(size, contenders, is_verified=self._has_reference, why_none=why_none)
        build = self._builds.get(winner.variant) if winner.variant is not None else None
        return winner.model_copy(
            update={"compilation_key": build.compilation_key if build else None}
        )

    def _compared(self, search: SizeSearch) -> list[int]:
        """Return the finalists, or all that have times where the budget ended before.

        Includes those that were wrong at another size, to report that they were faster.
        """
        in_time = search.finalists if search.finalists is not None else search.candidates
        live = [index for index in in_time if index not in search.pruned]
        wrong = [
            index
            for index, why in search.pruned.items()
            if why.reason is Reason.VERDICT and self._unverified(index) is None
        ]
        return [index for index in (*live, *wrong) if search.measured[index]]

    def _objections(self, candidates: Sequence[Candidate]) -> _Objections:
        """Return by index why variants of one configuration may not win elsewhere, the first two.

        They must be right at every size. Where one is not worth running, or does not compile, it
        is not an objection.
        """
        doubts = ((candidate, self._unverified(candidate.index)) for candidate in candidates)
        objections = (
            (candidate.index, f"{why} with {candidate.size.shown()} (variant {candidate.index})")
            for candidate, why in doubts
            if why is not None
        )
        return list(islice(objections, _MAX_OBJECTIONS))

    def _unverified(self, index: int) -> str | None:
        size = self._of(index)
        pruned = size.pruned.get(index)
        if pruned is not None and pruned.variant is not None:
            return self._unverified(pruned.variant)
        if pruned is not None and pruned.reason is Reason.VERDICT:
            launch = self._launch_of(size, index)
            if launch is None or launch.is_right(has_reference=self._has_reference):
                return None
            return f"its verdict is {launch.verdict}" if launch.verdict else "it was not launched"
        is_left = pruned is None and index not in self._failed and not size.measured[index]
        return "it was not checked" if is_left else None

    def _why_none(self, search: SizeSearch) -> str:
        ends = Counter(self._end_of(index) for index in search.candidates)
        counted = ", ".join(f"{end}: {count}" for end, count in ends.items())
        return f"no variant was timed to the end ({counted})"

    def _end_of(self, index: int) -> str:
        """Return in a word how a variant ended that has no time to compare."""
        status = self.status(index)
        if status.pruned is None:
            return "failed"
        launch = status.launch
        if status.pruned.reason is Reason.VERDICT and launch is not None:
            if launch.is_right(has_reference=self._has_reference):
                return "wrong at another size"
            return launch.verdict or "not launched"
        return status.pruned.reason.value


def _elsewhere(index: int, objections: _Objections) -> str | None:
    return next((why for other, why in objections if other != index), None)
