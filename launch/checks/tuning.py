"""Finds a launch that Triton's autotuner changes: it leaves something else when it runs once more.

The autotuner runs each configuration several times on the caller's own tensors, and then the
fastest one for the call itself. Before each run, `reset_to_zero` and hooks prepare arguments, and
after it `restore_value` restores them. So a launch runs a second time here, on the memory that the
first run left, with only these arguments prepared.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from launch.buffers.element_types import Array, is_float, readable, stored
from launch.checks.checked_memory import TooManyAccesses
from launch.messages import TUNING_SIDE_EFFECT, Finding

_ROUNDING = {
    "fp64": 4 * 2.0**-52,
    "fp32": 4 * 2.0**-23,
    "fp16": 2.0**-10,
    "bf16": 2.0**-7,
}
"""Relative differences that a second run may have by rounding, as normalising again does."""
_MAX_SHOWN = 8


class TunedMemory(Protocol):
    """The parts of memory that a launch may change, by number."""

    def before(self) -> Mapping[int, Array]:
        """Return their bytes before the launch."""
        ...

    def contents(self) -> dict[int, Array]:
        """Return copies of their bytes now."""
        ...

    def begin_with(self, contents: Mapping[int, Array]) -> None:
        """Change their bytes, and begin further runs with them."""
        ...

    def dtypes(self) -> Mapping[int, str]:
        """Return a dtype of the elements of each."""
        ...


class Tuned(Protocol):
    """A launch that Triton would tune; parts of memory are numbers, as in `TunedMemory`."""

    @property
    def rewritten(self) -> frozenset[int]:
        """The parts that it may both read and write."""
        ...

    def unused(self) -> Collection[int]:
        """Return the parts whose contents nothing uses afterwards."""
        ...

    def prepare(self, contents: dict[int, Array], before: Mapping[int, Array]) -> None:
        """Change `contents` as the autotuner does between two runs."""
        ...

    def finding(
        self, causes: frozenset[int], before: Mapping[int, Array], difference: str
    ) -> Finding:
        """Return the finding that runs change each other through these parts."""
        ...


def tuning_side_effect(
    tuned: Tuned, memory: TunedMemory, run_again: Callable[[], Finding | None]
) -> Finding | None:
    """Return a finding if a run after another one leaves something else, None if it does not.

    `run_again` returns what stopped the run. Afterwards the memory is as the first run left it.
    """
    trial = _Trial(tuned, memory, run_again, dict(memory.before()), memory.contents())
    differing = trial.differing()
    if differing is None:
        return None
    difference, parts = differing
    causes = (parts & tuned.rewritten) or parts or tuned.rewritten
    if trial.differing(causes) is not None:
        causes |= tuned.rewritten  # restoring only these is not enough
    return tuned.finding(causes, trial.before, difference)


@dataclass(frozen=True, slots=True)
class _Trial:
    """Second runs of a launch, and the memory before and after its first run."""

    tuned: Tuned
    memory: TunedMemory
    run_again: Callable[[], Finding | None]
    before: Mapping[int, Array]
    once: Mapping[int, Array]

    def differing(
        self, restored: frozenset[int] = frozenset()
    ) -> tuple[str, frozenset[int]] | None:
        """Run again; return what differs, in words and the parts, None if nothing does.

        `restored` are parts to restore as if the autotuner did.
        """
        once, dtypes = self.once, self.memory.dtypes()
        contents = {
            part: (self.before[part] if part in restored else octets).copy()
            for part, octets in once.items()
        }
        self.tuned.prepare(contents, self.before)
        self.memory.begin_with(contents)
        try:
            stopped = self.run_again()
            failed = None if stopped is None else f"it fails: {stopped.message}"
        except TooManyAccesses:
            failed = "it does not end"
        twice = self.memory.contents()
        self.memory.begin_with(once)
        places = {
            part: place
            for part in once
            if (place := first_difference(once[part], twice[part], dtypes[part])) is not None
        }
        if failed is not None:
            return failed, frozenset(places)
        used = places.keys() - self.tuned.unused() if places else set()
        if not used:
            return None
        at = min(used)
        there, expected = (_shown(side[at], dtypes[at], places[at]) for side in (twice, once))
        return f"it leaves {there} where the first leaves {expected}", frozenset(places)


def first_difference(once: Array, twice: Array, dtype: str) -> int | None:
    """Return the first element that differs by more than rounding, None without one."""
    size = stored(dtype).itemsize
    sides = [octets[: octets.size // size * size].reshape(-1, size) for octets in (once, twice)]
    places = np.flatnonzero((sides[0] != sides[1]).any(axis=1))
    if not places.size:
        return None
    if is_float(dtype):
        ours, theirs = (
            readable(np.ascontiguousarray(side[places]).view(stored(dtype)).reshape(-1), dtype)
            for side in sides
        )
        ours, theirs = ours.astype(np.float64), theirs.astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            apart = np.abs(ours - theirs)
            largest = np.maximum(np.abs(ours), np.abs(theirs))
            same = (apart <= _ROUNDING.get(dtype, 0.0) * largest) & np.isfinite(largest)
        same |= np.isnan(ours) & np.isnan(theirs)
        places = places[~same]
    return int(places[0]) if places.size else None


@dataclass(frozen=True, slots=True)
class TunedKernel:
    """A kernel under an autotuner, for messages."""

    name: str
    file: str | None
    line: int | None
    configurations: int


def finding_of(kernel: TunedKernel, names: Sequence[str], difference: str, advice: str) -> Finding:
    """Return the finding that runs of `kernel` change each other through these arguments."""
    message = (
        f"{kernel.name} is autotuned: before its first call's own run, Triton runs each of its "
        f"{kernel.configurations} configurations several times on the caller's own tensors. It "
        f"reads and writes {joined(names)}, so each run starts from what the one before left: "
        f"run a second time, {difference}. {advice}"
    )
    return Finding(
        kind=TUNING_SIDE_EFFECT,
        argument=names[0] if names else None,
        file=kernel.file,
        line=kernel.line,
        message=message,
    )


def what_to_write(zeroed: Sequence[str], restored: Sequence[str]) -> str:
    """Return the keywords of `triton.autotune` that prepare these arguments before each run."""
    lists = (("reset_to_zero", zeroed), ("restore_value", restored))
    words = [
        f"{keyword}={json.dumps(list(names[:_MAX_SHOWN]))}" for keyword, names in lists if names
    ]
    return f"Write {', '.join(words)} in triton.autotune(...)."


def joined(names: Sequence[str]) -> str:
    """Return names for a message."""
    return ", ".join(names[:_MAX_SHOWN]) or "memory"


def _shown(octets: Array, dtype: str, place: int) -> str:
    kind = stored(dtype)
    item = octets[place * kind.itemsize : (place + 1) * kind.itemsize]
    return str(readable(np.ascontiguousarray(item).view(kind), dtype)[0])
