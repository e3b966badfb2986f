"""The search of a whole sweep: all problem sizes, what is still wanted, and who has won.

A state machine without a clock: a driver tells what was built and measured, and asks what to run.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sweeps.search.candidate import Build, Candidate, ProblemSize, TimedRun
from sweeps.search.measurement import Measurement
from sweeps.search.pruned import Pruned, Reason, out_of_budget
from sweeps.search.search_request import SearchRequest
from sweeps.search.size_search import SizeSearch
from sweeps.search.winner import Contender, Winner, standing_launch, winner_of


@dataclass(frozen=True, slots=True)
class Standing:
    """A variant as its row shows it: the launch whose numbers stand for it, and why it is out."""

    launch: Measurement | None
    pruned: Pruned | None


class Search:
    """Told of every variant that it was built, or failed; then of every run what it came to."""

    def __init__(
        self, candidates: Sequence[Candidate], asked: SearchRequest, *, has_reference: bool
    ) -> None:
        self._has_reference = has_reference
        self._candidates = {one.index: one for one in candidates}
        self._builds: dict[int, Build] = {}
        self._failed: set[int] = set()
        self._finals_asked = False
        self._budget_s: float | None = None
        self._everywhere: dict[tuple[str, str], list[Candidate]] = {}
        for one in candidates:
            self._everywhere.setdefault(one.configuration, []).append(one)
        sizes = dict.fromkeys(one.size for one in candidates)
        self._sizes = {
            size: SizeSearch(
                [one for one in candidates if one.size == size], asked, has_reference=has_reference
            )
            for size in sizes
        }

    def built(self, index: int, build: Build) -> None:
        """Take note of what compiling a variant made."""
        self._builds[index] = build
        self._of(index).built(index, build)

    def failed(self, index: int) -> None:
        """Take note that a variant cannot be run."""
        self._failed.add(index)
        self._of(index).failed(index)

    def told(self, run: TimedRun, measurement: Measurement) -> None:
        """Take note of what a run came to."""
        self._of(run.index).told(run, measurement)

    def coming(self) -> list[TimedRun]:
        """Return the runs that are wanted from now on, in the order in which to begin them.

        Each is returned once. Finalists are timed when nothing else is timed any more, and those
        of one problem size after those of another.
        """
        runs = [run for size in self._sizes.values() for run in size.coming()]
        if self._finals_asked or any(one.finalists is None for one in self._sizes.values()):
            return runs
        self._finals_asked = True
        for size in self._sizes.values():
            size.ask_for_finals()
            runs += size.coming()
        return runs

    def is_wanted(self, run: TimedRun) -> bool:
        """Return whether a run that has not begun is still of use."""
        return self._budget_s is None and run.index not in self._of(run.index).pruned

    def end(self, budget_s: float) -> None:
        """Begin nothing more: the budget has ended. What is under way may still be told."""
        self._budget_s = budget_s

    def standing(self, index: int) -> Standing:
        """Return what the row of a variant shows of it."""
        size = self._of(index)
        pruned = size.pruned.get(index)
        launch = self._launch_of(size, index)
        is_left = launch is None and pruned is None and index not in self._failed
        if is_left and self._budget_s is not None:
            pruned = out_of_budget(self._budget_s)
        return Standing(launch, pruned)

    def winners(self) -> list[Winner]:
        """Return the winner of each problem size, by what is known now."""
        return [self._winner(size, each) for size, each in self._sizes.items()]

    def _of(self, index: int) -> SizeSearch:
        return self._sizes[self._candidates[index].size]

    def _launch_of(self, size: SizeSearch, index: int) -> Measurement | None:
        every = list(size.measured[index].values())
        wrong = [one for one in every if one.is_wrong or one.doubt or one.time is None]
        if wrong or not every:
            return wrong[0] if wrong else None
        return standing_launch(size.in_rounds(index), size.in_passes(index))

    def _contender(self, size: SizeSearch, index: int) -> Contender:
        rounds, passes = size.in_rounds(index), size.in_passes(index)
        return Contender(self._candidates[index], rounds, passes, self._objection(index))

    def _winner(self, size: ProblemSize, search: SizeSearch) -> Winner:
        indices = search.finalists
        if indices is None:  # the budget ended before the rounds did
            indices = tuple(index for index in search.candidates if index not in search.pruned)
        contenders = [
            self._contender(search, index)
            for index in indices
            if index not in search.pruned and search.measured[index]
        ]
        winner = winner_of(
            size, contenders, is_verified=self._has_reference, why_none=self._why_none(search)
        )
        build = self._builds.get(winner.variant) if winner.variant is not None else None
        return winner.model_copy(
            update={"compilation_key": build.compilation_key if build else None}
        )

    def _objection(self, index: int) -> str | None:
        """Return why a variant may not win for what it did at other sizes: it must be right there.

        Where it is not worth running, or does not compile, it says nothing.
        """
        for other in self._everywhere[self._candidates[index].configuration]:
            if other.index != index and (why := self._unverified(other.index)) is not None:
                return f"{why} with {other.size.shown()} (variant {other.index})"
        return None

    def _unverified(self, index: int) -> str | None:
        size = self._of(index)
        pruned = size.pruned.get(index)
        if pruned is not None and pruned.variant is not None:
            return self._unverified(pruned.variant)
        if pruned is not None and pruned.reason is Reason.VERDICT:
            found = self._launch_of(size, index)
            return (
                f"its verdict is {found.verdict}" if found and found.verdict else "it did not run"
            )
        is_to_run = index in self._builds and (pruned is None or pruned.reason is Reason.SLOWER)
        return "it was not checked" if is_to_run and not size.measured[index] else None

    def _why_none(self, search: SizeSearch) -> str:
        reasons: dict[str, int] = {}
        for index in search.candidates:
            pruned = self.standing(index).pruned
            reason = pruned.reason.value if pruned is not None else "failed"
            reasons[reason] = reasons.get(reason, 0) + 1
        counted = ", ".join(f"{count} {reason}" for reason, count in reasons.items())
        return f"no variant was timed to the end: {counted}"
