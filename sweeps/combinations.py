"""The combinations of a space: how many there are, and for which of them `where` is true."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from compiler.rejection import FieldError, RequestRejected, shown
from compiler.wanted import check_wanted
from launch.formula import FormulaFailed
from sweeps.axis import Axis
from sweeps.condition_values import Defaults, base_values, shown_to_where
from sweeps.sweep_plan import ABSENT
from sweeps.variant import Kind
from sweeps.where import Condition, spellings

COMBINATIONS_PER_VARIANT: Final = 10
"""The number of combinations that may be examined for each variant that a sweep may have."""
MAX_STEPS: Final = 1_500_000
"""The limit for evaluating `where`, some 0.7 s: terms and `STEPS_EACH` per combination."""
FREE_STEPS: Final = 60_000
"""Steps of a sweep with few variants, some 0.06 s."""
STEPS_OF_A_VARIANT: Final = 400
"""Further steps for each variant that stays, some 0.2 ms."""
STEPS_EACH: Final = 5
"""The cost of a combination in addition to the terms of its conditions."""


def max_combinations(max_variants: int, *, has_where: bool) -> int:
    """Return how many combinations are looked at."""
    return max_variants * (COMBINATIONS_PER_VARIANT if has_where else 1)


def check_count(combinations: int, where: Sequence[Condition], max_variants: int) -> None:
    """Refuse more combinations than are looked at. Raises RequestRejected."""
    most = max_combinations(max_variants, has_where=bool(where))
    if combinations > most:
        message = f"{combinations} variants; a sweep has {most} at most"
        if where:
            message = f"{combinations} combinations; `where` chooses among {most} at most"
        raise RequestRejected(FieldError("/space", message))
    terms = sum(condition.expression.size for condition in where)
    if where and combinations * (terms + STEPS_EACH) > MAX_STEPS:
        message = (
            f"{combinations} combinations, each with conditions of {terms} terms, "
            f"take more than {MAX_STEPS} steps to evaluate; make the space or `where` smaller"
        )
        raise RequestRejected(FieldError("/where", message))


@dataclass(frozen=True, slots=True)
class Choice:
    """The conditions that select combinations, over one base."""

    base: Mapping[str, Any]
    kind: Kind
    where: Sequence[Condition]
    defaults: Defaults

    def kept(self, combined: Iterable[list[int]], axes: Sequence[Axis]) -> Iterator[list[int]]:
        """Yield the combinations for which all conditions are true.

        Raises RequestRejected, also for conditions that keep few of many combinations: a sweep may
        take time in proportion to its variants, not to what it leaves out.
        """
        fixed = base_values(self.base, self.kind)
        changed = [
            [shown_to_where(axis, index) for index in range(len(axis.values))] for axis in axes
        ]
        watched = [
            _Watched(condition, _axes_read(condition, axes, changed)) for condition in self.where
        ]
        defaults: dict[tuple[Any, Any], Mapping[str, Any]] = {}
        steps = kept = 0
        for count, chosen in enumerate(combined, 1):
            check_wanted()
            stays = True
            for each in watched:
                key = tuple(chosen[at] for at in each.axes)
                holds = each.known.get(key)
                if holds is None:
                    steps += each.condition.expression.size + STEPS_EACH
                    values = _values(fixed, changed, chosen)
                    context = (values.get("target"), values.get("triton"))
                    if context not in defaults:
                        defaults[context] = self.defaults(*context)
                    named = (values, defaults[context])
                    holds = each.known[key] = _holds(each.condition, *named, axes, chosen)
                if not holds:
                    stays = False
                    break
            if stays:
                kept += 1
                yield chosen
            elif steps + count // 2 > FREE_STEPS + STEPS_OF_A_VARIANT * kept:
                raise RequestRejected(FieldError("/where", _keeps_few(kept, count)))


@dataclass(frozen=True, slots=True)
class _Watched:
    """A condition, the axes that it can depend on, and its results by their values."""

    condition: Condition
    axes: Sequence[int]
    known: dict[tuple[int, ...], bool] = field(default_factory=dict)


def _axes_read(
    condition: Condition, axes: Sequence[Axis], changed: Sequence[Sequence[Mapping[str, Any]]]
) -> list[int]:
    """Return the axes whose values a condition may read: its names may be of several groups."""
    names = {text for name in condition.expression.names for text in spellings(name)}
    return [
        at
        for at, axis in enumerate(axes)
        # the target and the Triton decide the defaults of options
        if axis.name in ("target", "triton") or any(names & shown.keys() for shown in changed[at])
    ]


def _values(
    fixed: Mapping[str, Any],
    changed: Sequence[Sequence[Mapping[str, Any]]],
    chosen: Sequence[int],
) -> dict[str, Any]:
    values = dict(fixed)
    for at, index in enumerate(chosen):
        if index != ABSENT:
            values.update(changed[at][index])
    return values


def _holds(
    condition: Condition,
    values: Mapping[str, Any],
    defaults: Mapping[str, Any],
    axes: Sequence[Axis],
    chosen: Sequence[int],
) -> bool:
    try:
        return condition.holds(values, defaults)
    except FormulaFailed as failed:
        message = f"{shown(condition.expression.text)}: {failed}{_example(axes, chosen)}"
        raise RequestRejected(FieldError(condition.at, message)) from None


def _keeps_few(kept: int, count: int) -> str:
    return (
        f"the conditions keep {kept} of the first {count} combinations; a sweep evaluates "
        "few more than it keeps: list the variants, or give axes fewer values"
    )


def _example(axes: Sequence[Axis], chosen: Sequence[int]) -> str:
    pairs = zip(axes, chosen, strict=True)
    values = {axis.name: axis.values[index] for axis, index in pairs if index != ABSENT}
    return (
        f" (for {', '.join(f'{name} = {shown(value)}' for name, value in [*values.items()][:8])})"
    )
