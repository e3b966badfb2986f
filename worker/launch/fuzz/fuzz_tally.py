"""Counts what fuzzing tried, and summarizes it for the record."""

from collections import Counter
from dataclasses import dataclass, field

from compiler.json_number import written_number
from launch.fuzz.fuzz_case import FuzzCase
from launch.fuzz.fuzz_plan import FuzzPlan
from launch.request.launch_record import Fuzzed
from worker.launch.fuzz.case_runner import CaseAttempt
from worker.launch.fuzz.fuzz_outcome import REFUSED, Outcome

_MAX_LISTED = 64
_MAX_REFUSED = 4
"""Lengths of one extent, until no other is tried if the reference took none."""


@dataclass(slots=True)
class FuzzTally:
    """The results of one plan's cases so far."""

    plan: FuzzPlan
    cases: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    lengths: dict[int, list[int]] = field(default_factory=dict)
    patterns: dict[str, list[str]] = field(default_factory=dict)
    layouts: dict[str, list[str]] = field(default_factory=dict)
    refused: dict[int, list[int]] = field(default_factory=dict)
    """Lengths that the reference does not take, by the extents that they were for."""
    tried: int = 0
    """Cases that were run, inconclusive ones included."""

    def add(self, tried: CaseAttempt) -> None:
        """Count a case."""
        self.tried += 1
        if tried.outcome is Outcome.SKIPPED:
            self.skipped[tried.word] += 1
        if tried.word == REFUSED and len(tried.case.extents) == 1:
            _note(self.refused, *tried.case.extents[0])
        if tried.outcome not in {Outcome.PASSED, Outcome.FAILED}:
            return
        self.cases += 1
        self.kinds.update(tried.case.kinds)
        for extent, length in tried.case.extents:
            _note(self.lengths, extent, length)
        for values in tried.case.values:
            _note(self.patterns, values.buffer, values.pattern)
        for layout in tried.case.layouts:
            _note(self.layouts, layout.kind, layout.buffer)

    def is_refused(self, case: FuzzCase) -> bool:
        """Return True if the reference is known to reject a length of this case.

        It takes no other length where it took none of some.
        """
        return any(
            length in self.refused.get(extent, ()) or self._is_kept(extent)
            for extent, length in case.extents
        )

    def _is_kept(self, extent: int) -> bool:
        refused = self.refused.get(extent, ())
        return len(refused) >= _MAX_REFUSED and not self.lengths.get(extent)

    def record(self, *, wide: bool, more: str | None = None) -> Fuzzed:
        """Return what was tried; `more` is a reason why not more was."""
        kept = [each.called for each in self.plan.extents if self._is_kept(each.extent)]
        refused = [f"{called}: the reference takes no other length" for called in kept]
        not_varied = [*self.plan.not_varied, *refused, *([more] if more else [])]
        return Fuzzed(
            seed=_written(self.plan.seed),
            cases=self.cases,
            kinds=dict(self.kinds),
            varied=self._varied(),
            not_varied=not_varied[:_MAX_LISTED],
            skipped=dict(self.skipped),
            reference="float64" if wide else "as_given",
        )

    def _varied(self) -> list[str]:
        called = {each.extent: each.called for each in self.plan.extents}
        varied = [
            f"{called[extent]}: {', '.join(map(str, sorted(lengths)))}"
            for extent, lengths in self.lengths.items()
        ]
        varied += [f"values of {name}: {', '.join(each)}" for name, each in self.patterns.items()]
        varied += [f"{kind}: {', '.join(names)}" for kind, names in self.layouts.items()]
        return varied[:_MAX_LISTED]


def _note(known: dict, key: object, value: object) -> None:  # type: ignore[type-arg]
    values = known.setdefault(key, [])
    if value not in values:
        values.append(value)


def _written(seed: int) -> int | str:
    number = written_number(seed)
    assert not isinstance(number, float)
    return number
