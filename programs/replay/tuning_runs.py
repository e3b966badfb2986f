"""Runs an autotuned launch as Triton tunes it: on the memory that earlier runs left.

Triton's autotuner runs each configuration several times on the caller's own tensors, and then the
fastest one for the call itself. Before each run, a configuration's `pre_hook` and `reset_to_zero`
prepare arguments, and after it `restore_value` restores them. So a launch runs once more here,
with only these arguments as they were before it. A result that then differs is the finding.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

import numpy as np

from launch.buffers.element_types import Array, is_float, readable, stored
from launch.checks.checked_memory import TooManyAccesses
from launch.messages import Finding
from launch.request.verdict import TUNING_SIDE_EFFECT
from programs.replay.operators import DTYPES
from programs.tape.kernel_effects import KernelEffects
from programs.tape.overload_effects import (
    makes_views,
    overwritten_tensors,
    read_tensors,
    tensors_at,
    written_tensors,
)
from programs.tape.schema import AtenOp, Op, Tape, TapeLaunch, TensorRef, tensors_of
from programs.tape.tensor_extents import covers_storage

_ROUNDING = {
    "fp64": 4 * 2.0**-52,
    "fp32": 4 * 2.0**-23,
    "fp16": 2.0**-10,
    "bf16": 2.0**-7,
}
"""Relative differences that a second run may have by rounding, as normalising again does."""
_MOST_SHOWN = 8


class Storages(Protocol):
    """The storages that a launch may change, by number."""

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


@dataclass(frozen=True, slots=True)
class TunedLaunch:
    """A launch that Triton would tune, at an op of a tape."""

    tape: Tape
    index: int
    effects: KernelEffects | None
    """The arguments that it reads and writes, None: any."""
    has_atomics: bool

    @property
    def launch(self) -> TapeLaunch:
        """The op itself."""
        launch = self.tape.ops[self.index]
        assert isinstance(launch, TapeLaunch)
        return launch

    @property
    def rewritten(self) -> frozenset[int]:
        """The storages that it may both read and write."""
        reads = _storages(self, None if self.effects is None else self.effects.reads)
        return reads & _storages(self, None if self.effects is None else self.effects.writes)

    def dead(self) -> frozenset[int]:
        """Return the storages whose contents nothing uses after it."""
        tape, phase = self.tape, self.launch.phase
        given = (*tape.inputs, *tape.inputs2, tape.outputs, tape.outputs2)
        compared = {tape.tensors[id_].storage for one in given for id_ in tensors_of(one)}
        found = _storages(self, None)
        alive: set[int] = set()
        overwritten: set[int] = set()
        for op in islice(tape.ops, self.index + 1, None):
            if op.phase != phase:
                phase = op.phase
                alive |= compared - overwritten  # when the call returns
            used = {tape.tensors[id_].storage for id_ in tensors_at(op)} & found
            if used and not (isinstance(op, AtenOp) and makes_views(op)):
                overwritten |= _overwritten(tape, op) - alive
                alive |= used - overwritten
        alive |= compared - overwritten
        return found - alive


def tuning_side_effect(
    tuned: TunedLaunch, memory: Storages, run_again: Callable[[], Finding | None]
) -> Finding | None:
    """Return a finding if a run after another one leaves something else, None if it does not.

    `run_again` returns what stopped the run. Afterwards the memory is as the first run left it.
    """
    trial = _Trial(tuned, memory, run_again, dict(memory.before()), memory.contents())
    differing = trial.differing()
    if differing is None:
        return None
    difference, storages = differing
    causes = (storages & tuned.rewritten) or storages or tuned.rewritten
    if trial.differing(causes) is not None:
        causes |= tuned.rewritten  # restoring only these is not enough
    return _finding(tuned, causes, trial.before, difference)


@dataclass(frozen=True, slots=True)
class _Trial:
    """Second runs of a launch, and the memory before and after its first run."""

    tuned: TunedLaunch
    memory: Storages
    run_again: Callable[[], Finding | None]
    before: Mapping[int, Array]
    once: Mapping[int, Array]

    def differing(
        self, restored: frozenset[int] = frozenset()
    ) -> tuple[str, frozenset[int]] | None:
        """Run again; return what differs, in words and the storages, None if nothing does.

        `restored` are storages to restore as if the autotuner did.
        """
        once, dtypes = self.once, self.memory.dtypes()
        self.memory.begin_with(_prepared(self.tuned, self.before, once, restored))
        try:
            stopped = self.run_again()
            failed = None if stopped is None else f"it fails: {stopped.message}"
        except TooManyAccesses:
            failed = "it does not end"
        twice = self.memory.contents()
        self.memory.begin_with(once)
        places = {
            storage: place
            for storage in once
            if (place := first_difference(once[storage], twice[storage], dtypes[storage]))
            is not None
        }
        if failed is not None:
            return failed, frozenset(places)
        used = places.keys() - self.tuned.dead() if places else set()
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


def _prepared(
    tuned: TunedLaunch,
    before: Mapping[int, Array],
    once: Mapping[int, Array],
    restored: frozenset[int],
) -> dict[int, Array]:
    """Return the memory that the next run of a tuning begins with."""
    found = {
        storage: (before[storage] if storage in restored else octets).copy()
        for storage, octets in once.items()
    }
    for id_ in _restored(tuned):
        storage = tuned.tape.tensors[id_].storage
        if storage in found:
            _elements(tuned.tape, id_, found[storage])[...] = _elements(
                tuned.tape, id_, before[storage]
            )
    return found


def _restored(tuned: TunedLaunch) -> Iterator[int]:
    """Yield the tensors that each run finds as they were: reset, restored or set by a hook."""
    launch = tuned.launch
    for name in (*launch.reset_to_zero, *launch.restore_value):
        yield from tensors_of(launch.args.get(name))
    for op in tuned.tape.ops[max(tuned.index - launch.hook_ops, 0) : tuned.index]:
        if isinstance(op, AtenOp):
            yield from written_tensors(op)


def _elements(tape: Tape, id_: int, octets: Array) -> Array:
    """Return a view of a tensor's bytes in its storage, with an axis for each element's bytes."""
    meta = tape.tensors[id_]
    size = DTYPES[meta.dtype].itemsize
    strides = [stride * size for stride in meta.strides]
    return np.lib.stride_tricks.as_strided(
        octets[meta.offset * size :], [*meta.shape, size], [*strides, 1]
    )


def _storages(tuned: TunedLaunch, names: frozenset[str] | None) -> frozenset[int]:
    """Return the storages of these arguments, of all without names."""
    return frozenset(
        tuned.tape.tensors[id_].storage
        for name, value in tuned.launch.args.items()
        if names is None or name in names
        for id_ in tensors_of(value)
    )


def _overwritten(tape: Tape, op: Op) -> frozenset[int]:
    """Return the storages that an op overwrites as a whole, without a look at their contents."""
    if not isinstance(op, AtenOp):
        return frozenset()
    read = {tape.tensors[id_].storage for id_ in read_tensors(op)}
    metas = [tape.tensors[id_] for id_ in overwritten_tensors(op)]
    return frozenset(
        meta.storage
        for meta in metas
        if meta.storage not in read and covers_storage(meta, tape.storages[meta.storage])
    )


def _finding(
    tuned: TunedLaunch, causes: frozenset[int], before: Mapping[int, Array], difference: str
) -> Finding:
    launch, kernel = tuned.launch, tuned.tape.kernels[tuned.launch.kernel]
    names = [
        name
        for name, value in launch.args.items()
        if tuned.effects is None or name in tuned.effects.writes
        if any(tuned.tape.tensors[id_].storage in causes for id_ in tensors_of(value))
    ]
    message = (
        f"{kernel.name} is autotuned: before its first call's own run, Triton runs each of its "
        f"{len(launch.variants)} configurations several times on the caller's own tensors. It "
        f"reads and writes {_joined(names)}, so each run starts from what the one before left: "
        f"run a second time, {difference}. {_what_to_write(tuned, names, before)}"
    )
    return Finding(
        kind=TUNING_SIDE_EFFECT,
        argument=names[0] if names else None,
        file=kernel.file,
        line=kernel.line,
        message=message,
    )


def _what_to_write(tuned: TunedLaunch, names: list[str], before: Mapping[int, Array]) -> str:
    args = tuned.launch.args
    zero: list[str] = []
    other: list[str] = []
    for name in names[:_MOST_SHOWN]:
        value = args[name]
        if not isinstance(value, TensorRef):
            return f"Set {_joined(names)} in a pre_hook of each triton.Config."
        octets = before.get(tuned.tape.tensors[value.id].storage)
        is_zero = octets is not None and not _elements(tuned.tape, value.id, octets).any()
        (zero if tuned.has_atomics and is_zero else other).append(f'"{name}"')
    lists = (("reset_to_zero", zero), ("restore_value", other))
    words = [f"{keyword}=[{', '.join(listed)}]" for keyword, listed in lists if listed]
    return f"Write {', '.join(words)} in triton.autotune(...)."


def _joined(names: list[str]) -> str:
    return ", ".join(names[:_MOST_SHOWN]) or "memory"


def _shown(octets: Array, dtype: str, place: int) -> str:
    kind = stored(dtype)
    one = octets[place * kind.itemsize : (place + 1) * kind.itemsize]
    return str(readable(np.ascontiguousarray(one).view(kind), dtype)[0])
