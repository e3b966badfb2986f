"""The combinations of a space: how many there are, and for which of them `where` is true."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from compiler.rejection import FieldError, RequestRejected, shown
from compiler.wanted import check_wanted
from launch.formula import FormulaFailed
from sweeps.axis import Axis
from sweeps.condition_values import Defaults, base_values, shown_to_where
from sweeps.sweep_plan import ABSENT
from sweeps.variant import Kind
from sweeps.where import Condition

COMBINATIONS_PER_VARIANT: Final = 10
"""The number of combinations that may be examined for each variant that a sweep may have."""
MAX_STEPS: Final = 1_500_000
"""The limit for evaluating `where`, some 0.7 s: terms and `STEPS_EACH` per combination."""
STEPS_EACH: Final = 5
"""The cost of a combination beside the terms of its conditions."""


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
            f"take more than {MAX_STEPS} steps to look at; make the space or `where` smaller"
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
        """Yield the combinations for which all conditions are true. Raises RequestRejected."""
        fixed = base_values(self.base, self.kind)
        changed = [
            [shown_to_where(axis, index) for index in range(len(axis.values))] for axis in axes
        ]
        known: dict[tuple[Any, Any], Mapping[str, Any]] = {}
        for chosen in combined:
            check_wanted()
            values = dict(fixed)
            for at, index in enumerate(chosen):
                if index != ABSENT:
                    values.update(changed[at][index])
            context = (values.get("target"), values.get("triton"))
            if context not in known:
                known[context] = self.defaults(*context)
            if self._stays(values, known[context], axes, chosen):
                yield chosen

    def _stays(
        self,
        values: Mapping[str, Any],
        defaults: Mapping[str, Any],
        axes: Sequence[Axis],
        chosen: Sequence[int],
    ) -> bool:
        for condition in self.where:
            try:
                if not condition.holds(values, defaults):
                    return False
            except FormulaFailed as failed:
                message = f"{shown(condition.expression.text)}: {failed}{_example(axes, chosen)}"
                raise RequestRejected(FieldError(condition.at, message)) from None
        return True


def _example(axes: Sequence[Axis], chosen: Sequence[int]) -> str:
    pairs = zip(axes, chosen, strict=True)
    said = {axis.name: axis.values[index] for axis, index in pairs if index != ABSENT}
    return (
        f" (for {', '.join(f'{name} = {shown(value)}' for name, value in list(said.items())[:8])})"
    )
