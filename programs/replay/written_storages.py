"""Tracks unwritten memory: by accesses on the CPU device, by its contents on a GPU.

Unwritten memory holds poison, as for launches. Only storages with unwritten bytes are tracked; all
others count as written. On a GPU, an element that still holds the poison was not written, or
written with that very number. To be sure, replay with the other poison, and take elements that hold
both. The host keeps nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
import torch

from launch.buffers.element_types import Array, poison_of, stored
from launch.checks.kernel_run import RunOptions
from launch.messages import Finding
from programs.replay.live_tensors import LiveTensors
from programs.replay.operators import DTYPES, aliased_arguments, reads_values
from programs.tape.overload_effects import written_tensors
from programs.tape.schema import AtenOp, InvalidTape, Tape, TapeLaunch, TensorMeta, tensors_of

EMPTIES = frozenset(
    {
        "aten.empty.memory_format", "aten.empty_like.default", "aten.empty_permuted.default",
        "aten.empty_strided.default", "aten.new_empty.default", "aten.new_empty_strided.default",
    }
)  # fmt: skip
"""Overloads that return uninitialized memory."""
_NUMBERS = (0x7B, 0xFB)
"""Bytes that make large numbers of every type, above and below zero."""
_TRUTHS = (0, 1)
COMPLEX = {"complex64": "fp32", "complex128": "fp64"}
"""The dtypes of the parts of complex numbers, for which Triton has no dtypes."""
_CHUNK_ELEMENTS = 1 << 26
"""Elements to compare at a time, which bounds the additional memory."""
_WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_MAX_VALUE = 8
_FREED = 0xFF
"""NaN in every float."""


class WrittenStorages:
    """A flag for each byte of the storages that are not fully written."""

    def __init__(self, tape: Tape, tensors: LiveTensors) -> None:
        self._tape, self._tensors = tape, tensors
        self._flags: dict[int, Array] = {}

    def poison(self, id_: int, *, with_numbers: bool = False) -> None:
        """Fill the storage of a new, uninitialized tensor.

        `with_numbers` uses large numbers of both signs, since some maxima and minima ignore NaN.
        """
        meta = self._tape.tensors[id_]
        octets = self._tensors.octets(meta.storage)
        kind = stored(COMPLEX.get(meta.dtype, meta.dtype))
        octets.fill_(poison_of(kind))
        if with_numbers:
            fill_with_numbers(octets, meta.dtype)
        if octets.numel():
            self._flags[meta.storage] = np.zeros(octets.numel(), np.uint8)

    def read_by(self, op: AtenOp) -> int | None:
        """Return a tensor that `op` reads and that is not fully written, None without one.

        A view reads nothing. Arguments that an op changes count as written, even if it reads them
        first.
        """
        if not self._flags or not reads_values(op.op):
            return None
        positions, names = aliased_arguments(op.op)
        values = [value for n, value in enumerate(op.args) if n not in positions]
        values += [value for name, value in op.kwargs.items() if name not in names]
        for id_ in (id_ for value in values for id_ in tensors_of(value)):
            if self._tape.tensors[id_].storage in self._flags and self.unwritten(id_) is not None:
                return id_
        return None

    def write_by(self, op: AtenOp) -> None:
        """Mark the tensors that `op` changes as fully written."""
        if not self._flags:
            return
        for id_ in written_tensors(op):
            self.write(id_)

    def write(self, id_: int) -> None:
        """Mark a tensor as fully written."""
        storage = self._tape.tensors[id_].storage
        if storage in self._flags:
            self._region(id_).fill_(1)
            self._forget_whole(storage)

    def unwritten(self, id_: int) -> Array | None:
        """Return flags of a tensor's unwritten elements, in C order; None if all were written."""
        if self._tape.tensors[id_].storage not in self._flags:
            return None
        written = self._region(id_).bool().all(dim=-1).reshape(-1).numpy()
        return None if written.all() else ~written

    def elements(self, storage: int, itemsize: int) -> Array:
        """Return flags of a storage's written elements, each of `itemsize` bytes."""
        count = self._tensors.octets(storage).numel() // itemsize
        flags = self._flags.get(storage)
        written: Array = np.broadcast_to(np.ones(1, np.bool_), count)  # a view of one byte
        if flags is not None:
            written = np.all(flags[: count * itemsize].reshape(count, itemsize), axis=1)
        return written

    def put(self, storage: int, written: Array, itemsize: int) -> None:
        """Mark flagged elements of a storage, each of `itemsize` bytes, as written."""
        flags = self._flags.get(storage)
        if flags is not None:
            flags[: written.size * itemsize] |= np.repeat(written, itemsize).view(np.uint8)
            self._forget_whole(storage)

    def free(self, storages: Iterable[int]) -> None:
        """Forget freed storages."""
        for storage in storages:
            self._flags.pop(storage, None)

    def _region(self, id_: int) -> torch.Tensor:
        """Return the flags of a tensor, with an axis of each element's bytes at the end."""
        meta = self._tape.tensors[id_]
        size = self._tensors.get(id_).itemsize
        flags = torch.from_numpy(self._flags[meta.storage])
        strides = [stride * size for stride in meta.strides]
        return flags.as_strided([*meta.shape, size], [*strides, 1], meta.offset * size)

    def _forget_whole(self, storage: int) -> None:
        if self._flags[storage].all():
            del self._flags[storage]


def fill_with_numbers(octets: torch.Tensor, dtype: str) -> None:
    """Fill bytes with large numbers of a dtype, with alternating signs."""
    size = DTYPES[dtype].itemsize
    elements = octets[: octets.numel() // size * size].view(-1, size)
    for first, octet in enumerate(_TRUTHS if dtype == "i1" else _NUMBERS):
        elements[first::2] = octet


class PoisonedStorages:
    """The poisoned storages, and the poison of each."""

    def __init__(self, tape: Tape, tensors: LiveTensors, *, other: bool = False) -> None:
        """`other` selects the other poison, in both calls."""
        self._tape, self._tensors, self._other = tape, tensors, other
        self._with_numbers: dict[int, bool] = {}
        """True for storages that were filled with numbers, False for those with NaN."""

    def poison(self, id_: int, *, with_numbers: bool = False) -> None:
        """Fill the storage of a new, uninitialized tensor."""
        meta = self._tape.tensors[id_]
        octets = self._tensors.octets(meta.storage)
        if octets.numel():
            with_numbers = with_numbers and not self._other
            self._fill(octets, meta.dtype, with_numbers=with_numbers)
            self._with_numbers[meta.storage] = with_numbers

    def write_by(self, op: AtenOp) -> None:
        """Mark the tensors that `op` changes as fully written."""
        if not self._with_numbers:
            return
        for id_ in written_tensors(op):
            self.write(id_)

    def write(self, id_: int) -> None:
        """Mark a tensor as fully written; counts only if it covers its storage."""
        meta = self._tape.tensors[id_]
        tensor = self._tensors.get(id_)
        if tensor.numel() * tensor.itemsize >= self._tape.storages[meta.storage]:
            self._with_numbers.pop(meta.storage, None)

    def unwritten(self, id_: int) -> Array | None:
        """Return flags of the elements that hold the poison, in C order; None if none does."""
        meta = self._tape.tensors[id_]
        with_numbers = self._with_numbers.get(meta.storage)
        if with_numbers is None or 0 in meta.shape:
            return None
        octets, size = self._tensors.octets(meta.storage), DTYPES[meta.dtype].itemsize
        poison = torch.empty(2 * size, dtype=torch.uint8, device=octets.device)
        self._fill(poison, meta.dtype, with_numbers=with_numbers)
        words = _Words(meta, octets, size)
        holds = torch.cat([words.equal(some, poison) for some in words.rows.split(_CHUNK_ELEMENTS)])
        return holds.cpu().numpy() if bool(holds.any()) else None

    def free(self, storages: Iterable[int]) -> None:
        """Forget storages before they are freed, and overwrite them, so that no kernel finds them.

        torch keeps their memory mapped.
        """
        for storage in storages:
            self._with_numbers.pop(storage, None)
            if self._tensors.has(storage):
                self._tensors.octets(storage).fill_(_FREED)

    def _fill(self, octets: torch.Tensor, dtype: str, *, with_numbers: bool) -> None:
        octets.fill_(poison_of(stored(COMPLEX.get(dtype, dtype)), other=self._other))
        if with_numbers:
            fill_with_numbers(octets, dtype)


class _Words:
    """The elements of a tensor as rows of integers, as other dtypes may not keep all bits."""

    def __init__(self, meta: TensorMeta, octets: torch.Tensor, size: int) -> None:
        self._kind = _WORDS[min(size, _MAX_VALUE)]
        self._each = max(1, size // _MAX_VALUE)
        words = octets[: octets.numel() // size * size].view(self._kind)
        strides = [stride * self._each for stride in meta.strides]
        shape, offset = [*meta.shape, self._each], meta.offset * self._each
        self.rows = words.as_strided(shape, [*strides, 1], offset).reshape(-1, self._each)

    def equal(self, some: torch.Tensor, poison: torch.Tensor) -> torch.Tensor:
        """Return flags of the elements of `some` that equal one of the two in `poison`."""
        first, second = poison.view(self._kind).view(2, self._each)
        return (some == first).all(dim=1) | (some == second).all(dim=1)


Kernel = TypeVar("Kernel")
"""The kernel of a launch: its name, or the names of its variants."""
Written = WrittenStorages | PoisonedStorages
"""Tracks unwritten memory: by accesses on the CPU, by its contents on a GPU."""


@dataclass(frozen=True, slots=True)
class LaunchReport:
    """The findings of one launch; `stopped` is the one that ended the replay."""

    findings: Sequence[Finding] = ()
    stopped: Finding | None = None
    further: Sequence[Finding] = ()
    """Findings that followed from a failed load of the same launch, `stopped`."""


class ReplayedLaunches(Protocol):
    """Runs the launches of one tape, by their index among its ops."""

    def run(
        self, index: int, tensors: LiveTensors, written: Written, how: RunOptions, /
    ) -> LaunchReport:
        """Run one launch. Raises `Failure`, `InvalidTape`, and the device's errors."""


def kernels_by_op(tape: Tape, kernels: Sequence[Kernel]) -> Mapping[int, Kernel]:
    """Return the kernel of each launch, by the launch's index among the ops of a tape.

    Raises `InvalidTape` if the numbers of launches and of kernels differ.
    """
    ops = [index for index, op in enumerate(tape.ops) if isinstance(op, TapeLaunch)]
    if len(ops) != len(kernels):
        what = f"it has {len(ops)} launches, but {len(kernels)} kernels were sent"
        raise InvalidTape("/ops", what)
    return dict(zip(ops, kernels, strict=True))


class NoLaunches:
    """Stands for the launches of a tape without any, which makes inputs."""

    def run(self, index: int, *_: object) -> LaunchReport:
        """Raise `InvalidTape`."""
        raise InvalidTape(f"/ops/{index}", "a tape that makes inputs cannot launch kernels")
