"""Facts about a variant before it runs, and the runs that it asks for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from compiler.compilation import Resources

ARGUMENTS = "arguments"
"""The axis of problem sizes; arguments that are separate axes are called `arguments.<name>`."""


@dataclass(frozen=True, slots=True)
class ProblemSize:
    """The members that rivals share: the arguments' label, and the device's target."""

    arguments: str | None
    target: str

    def shown(self) -> str:
        """Return it as a message quotes it."""
        return self.target if self.arguments is None else f"{self.arguments} on {self.target}"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One variant of a sweep: its row's index, and its values by axis."""

    index: int
    size: ProblemSize
    values: Mapping[str, Any]

    @property
    def configuration(self) -> tuple[str, str]:
        """The members shared with the same variant at other sizes."""
        others = {name: value for name, value in self.values.items() if not _is_size(name)}
        return self.size.target, repr(sorted(others.items()))


def candidate_of(index: int, values: Mapping[str, Any], target: str) -> Candidate:
    """Return the candidate that a variant is; `target` is that of its device."""
    sizes = {name: value for name, value in values.items() if _is_size(name)}
    of_size = {name: value for name, value in sizes.items() if value is not None}
    if of_size.keys() == {ARGUMENTS}:
        return Candidate(index, ProblemSize(str(of_size[ARGUMENTS]), target), values)
    label = ", ".join(f"{name}={value}" for name, value in of_size.items())
    return Candidate(index, ProblemSize(label or None, target), values)


def _is_size(axis: str) -> bool:
    return axis == ARGUMENTS or axis.startswith(f"{ARGUMENTS}.")


@dataclass(frozen=True, slots=True)
class Build:
    """The compilation's result for a variant.

    `launched_as` is equal for variants that are the same to a GPU: machine code, grid, arguments.
    """

    compilation_key: str
    launched_as: str
    resources: Resources | None


@dataclass(frozen=True, slots=True)
class TimedRun:
    """One launch that the search wants: how many timed repeats, within how many milliseconds.

    `stage` and `index` name it within its sweep, also to a driver that takes over.
    """

    index: int
    stage: str
    repeats: int
    max_ms: float
