"""Shrinks a failing case: fewer changes, fewer elements, simpler values."""

from collections.abc import Iterator
from dataclasses import replace

from launch.fuzz.fuzz_case import FuzzCase, NewValues, elements_of
from launch.fuzz.fuzz_plan import FuzzPlan
from launch.fuzz.special_values import Pattern

_SIMPLER: tuple[Pattern, ...] = ("zeros", "equal")


def smaller(case: FuzzCase, plan: FuzzPlan) -> Iterator[FuzzCase]:
    """Yield simpler cases that the plan allows; continue from the first that fails, too.

    Shrinking terminates: each case has fewer changes of values and layouts than `case`, or as many
    but fewer elements, or else simpler values.
    """
    seen = {case}
    present = _size(case, plan)
    for simpler in (*_fewer_changes(case), *_shorter(case, plan), *_simpler_values(case)):
        if simpler in seen or simpler.is_plain or not plan.fits(simpler):
            continue
        if simpler.only_copies and simpler.values != case.values:
            continue  # mixed with overflowing inputs, ordinary ones are not conclusive
        seen.add(simpler)
        if _size(simpler, plan) < present:
            yield simpler


def _size(case: FuzzCase, plan: FuzzPlan) -> tuple[int, int, int, int]:
    complex_values = sum(
        2 if v.pattern not in _SIMPLER else v.pattern == "equal" for v in case.values
    )
    elements = elements_of(case, plan.subject, plan.links)
    return len(case.values) + len(case.layouts), elements, complex_values, len(case.extents)


def _fewer_changes(case: FuzzCase) -> Iterator[FuzzCase]:
    """Yield the case without one kind of change, then without single changes."""
    if case.values and (case.layouts or case.extents):
        yield replace(case, values=())
    if case.layouts:
        yield replace(case, layouts=())
    for place in range(len(case.values)):
        yield replace(case, values=case.values[:place] + case.values[place + 1 :])
    for place in range(len(case.layouts)):
        yield replace(case, layouts=case.layouts[:place] + case.layouts[place + 1 :])
    for place in range(len(case.extents)):
        yield replace(case, extents=case.extents[:place] + case.extents[place + 1 :])


def _shorter(case: FuzzCase, plan: FuzzPlan) -> Iterator[FuzzCase]:
    """Yield the case with one shorter extent; linked numbers shrink with it."""
    lengths = dict(case.extents)
    for each in plan.extents:
        present = lengths.get(each.extent, each.extent)
        candidates = {1, 2, 3, present // 4, present // 2, present - 1, *each.lengths}
        for length in sorted(candidates):
            if 0 < length < present and each.allows(length):
                yield replace(case, extents=tuple({**lengths, each.extent: length}.items()))


def _simpler_values(case: FuzzCase) -> Iterator[FuzzCase]:
    for place, values in enumerate(case.values):
        if values.pattern in _SIMPLER:
            continue
        for pattern in _SIMPLER:
            simpler = NewValues(values.buffer, pattern, 0)
            changed = (*case.values[:place], simpler, *case.values[place + 1 :])
            yield replace(case, values=changed)
