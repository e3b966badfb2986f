"""The launches of a program that Triton would tune, as `launch.checks.tuning` runs them again."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np

from launch.buffers.element_types import Array
from launch.checks.tuning import TunedKernel, finding_of, joined, what_to_write
from launch.messages import Finding
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

    def unused(self) -> frozenset[int]:
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

    def prepare(self, contents: dict[int, Array], before: Mapping[int, Array]) -> None:
        """Put back what each run finds as it was."""
        for id_ in _restored(self):
            storage = self.tape.tensors[id_].storage
            if storage in contents:
                _elements(self.tape, id_, contents[storage])[...] = _elements(
                    self.tape, id_, before[storage]
                )

    def finding(
        self, causes: frozenset[int], before: Mapping[int, Array], difference: str
    ) -> Finding:
        """Return the finding that runs change each other through these storages."""
        launch, kernel = self.launch, self.tape.kernels[self.launch.kernel]
        names = [
            name
            for name, value in launch.args.items()
            if self.effects is None or name in self.effects.writes
            if any(self.tape.tensors[id_].storage in causes for id_ in tensors_of(value))
        ]
        described = TunedKernel(kernel.name, kernel.file, kernel.line, len(launch.variants))
        return finding_of(described, names, difference, self._advice(names, before))

    def _advice(self, names: list[str], before: Mapping[int, Array]) -> str:
        zeroed: list[str] = []
        restored: list[str] = []
        for name in names:
            value = self.launch.args[name]
            if not isinstance(value, TensorRef):
                return f"Set {joined(names)} in a pre_hook of each triton.Config."
            octets = before.get(self.tape.tensors[value.id].storage)
            is_zero = octets is not None and not _elements(self.tape, value.id, octets).any()
            (zeroed if self.has_atomics and is_zero else restored).append(name)
        return what_to_write(zeroed, restored)


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
