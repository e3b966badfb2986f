"""Tracks unwritten memory: poisons it, as for launches, and notes later writes.

Only storages with unwritten bytes are tracked; all others count as written.
"""

from collections.abc import Iterable

import numpy as np
import torch

from launch.buffers.element_types import Array, stored
from launch.buffers.poison import poison_of
from programs.replay.live_tensors import LiveTensors
from programs.replay.operators import DTYPES, aliased_arguments, reads_values
from programs.tape.overload_effects import written_tensors
from programs.tape.schema import AtenOp, Tape, tensors_of

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
        given = [value for n, value in enumerate(op.args) if n not in positions]
        given += [value for name, value in op.kwargs.items() if name not in names]
        for id_ in (id_ for value in given for id_ in tensors_of(value)):
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
        found: Array = np.broadcast_to(np.ones(1, np.bool_), count)  # a view of one byte
        if flags is not None:
            found = np.all(flags[: count * itemsize].reshape(count, itemsize), axis=1)
        return found

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
