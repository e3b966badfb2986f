"""Finds unwritten memory on a GPU, where accesses are not seen, by its contents.

An element that still holds the poison was not written, or written with that very number. To be
sure, replay with the other poison, and take elements that hold both. The host keeps nothing.
"""

from collections.abc import Iterable

import torch

from launch.buffers.element_types import Array, stored
from launch.buffers.poison import poison_of
from programs.replay.live_tensors import LiveTensors
from programs.replay.operators import DTYPES
from programs.replay.written_storages import COMPLEX, fill_with_numbers
from programs.tape.overload_effects import written_tensors
from programs.tape.schema import AtenOp, Tape, TensorMeta

_CHUNK_ELEMENTS = 1 << 26
"""Elements to compare at a time, which bounds the additional memory."""
_WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_LARGEST = 8
_FREED = 0xFF
"""NaN in every float."""


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
        holds = torch.cat(
            [words.equal(some, poison) for some in words.found.split(_CHUNK_ELEMENTS)]
        )
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
        self._kind = _WORDS[min(size, _LARGEST)]
        self._each = max(1, size // _LARGEST)
        words = octets[: octets.numel() // size * size].view(self._kind)
        strides = [stride * self._each for stride in meta.strides]
        shape, offset = [*meta.shape, self._each], meta.offset * self._each
        self.found = words.as_strided(shape, [*strides, 1], offset).reshape(-1, self._each)

    def equal(self, some: torch.Tensor, poison: torch.Tensor) -> torch.Tensor:
        """Return flags of the elements of `some` that equal one of the two in `poison`."""
        first, second = poison.view(self._kind).view(2, self._each)
        return (some == first).all(dim=1) | (some == second).all(dim=1)
