"""The place in a request for a sweep that makes a variant wrong: its base, or an axis."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from compiler.rejection import FieldError, pointer
from sweeps.axis import ARGUMENTS, Axis
from sweeps.sweep_plan import ABSENT, SweepPlan
from sweeps.variant import OF_COMPILATION

BASE = "/base"
COMPILATION = "/compilation"


@dataclass(frozen=True, slots=True)
class LocatedErrors:
    """Faults of the base, which all variants have, and of values; pointers into the body."""

    of_base: list[FieldError]
    of_values: list[FieldError]


def placed(
    errors: Iterable[FieldError], plan: SweepPlan, axes: Sequence[Axis], index: int
) -> LocatedErrors:
    """Return the errors of variant `index`, whose pointers are into its own request, by origin."""
    located = LocatedErrors([], [])
    for error in errors:
        at = _of_axis(error.pointer, plan, axes, index)
        if at is None:
            located.of_base.append(FieldError(BASE + error.pointer, error.message))
        else:
            located.of_values.append(FieldError(at, error.message))
    return located


def _of_axis(at: str, plan: SweepPlan, axes: Sequence[Axis], index: int) -> str | None:
    for axis, value in zip(axes, plan.chosen[index], strict=True):
        if value == ABSENT:
            continue
        group, _, member = axis.name.partition(".")
        is_inner = plan.kind == "launches" and group in OF_COMPILATION
        path = (COMPILATION if is_inner else "") + pointer(group, *([member] if member else []))
        if at != path and not at.startswith(path + "/"):
            continue
        rest = at.removeprefix(path)
        content = axis.content(value)
        named = rest.split("/")[1:2]
        if axis.name == ARGUMENTS and isinstance(content, dict) and not content.keys() >= {*named}:
            continue  # an argument that the label leaves as the base has it
        return axis.pointer_of(value) + rest
    return None
