"""Tensor descriptors: blocks of a tensor in memory, padded outside of the tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from launch.buffers.element_types import Array
from launch.checks.access import AccessForm
from launch.cpu.memory import ProgramMemory
from launch.cpu.pointer import Pointer

Shape = tuple[int, ...]


class TensorDescriptor:
    """A tensor of `shape` and `strides` (in elements) at `base`, read in blocks of `block`.

    Each shape and stride has a leading axis: one entry per program, or one for all.
    """

    def __init__(
        self,
        base: Pointer,
        shape: Sequence[Array],
        strides: Sequence[Array],
        block: Shape,
        nan: bool = False,
    ) -> None:
        self.base, self.shape, self.strides, self.block = base, shape, strides, tuple(block)
        self.padding = np.nan if nan else 0

    def merged(
        self, other: TensorDescriptor, choose: Callable[[Any, Any], Any]
    ) -> TensorDescriptor:
        """Return a descriptor whose parts `choose` selects from both."""
        sizes, strides = (
            [choose(a, b) for a, b in zip(own, others, strict=True)]
            for own, others in ((self.shape, other.shape), (self.strides, other.strides))
        )
        descriptor = TensorDescriptor(choose(self.base, other.base), sizes, strides, self.block)
        descriptor.padding = self.padding
        return descriptor

    def places(self, indices: Sequence[Array]) -> tuple[Pointer, Array]:
        """Return pointers to the block that begins at `indices`, and a mask of those inside."""
        rank = len(self.block)
        ranges = [
            np.arange(size).reshape([1, *(-1 if a == b else 1 for b in range(rank))])
            for a, size in enumerate(self.block)
        ]
        return self.at([_spread(i, rank) + r for i, r in zip(indices, ranges, strict=True)])

    def at(self, axes: Sequence[Array]) -> tuple[Pointer, Array]:
        """Return pointers to the elements at `axes`, and a mask of those inside."""
        rank = len(axes)
        inside: Any = np.ones((1,) * (rank + 1), np.bool_)
        offset: Any = np.zeros((1,) * (rank + 1), np.int64)
        for axis, size, stride in zip(axes, self.shape, self.strides, strict=True):
            inside = inside & (axis >= 0) & (axis < _spread(size, rank))
            offset = offset + axis * _spread(stride, rank)
        return self.base[(slice(None), *[None] * rank)] + offset, inside


class BlockPointer:
    """A block of a tensor of `shape` and `strides` (in elements) at `base`, from `offsets` on.

    Each shape, stride and offset has a leading axis: one entry per program, or one for all.
    """

    def __init__(
        self,
        base: Pointer,
        shape: Sequence[Array],
        strides: Sequence[Array],
        offsets: Sequence[Array],
        block: Shape,
    ) -> None:
        self.base, self.shape, self.strides = base, shape, strides
        self.offsets, self.block = offsets, tuple(block)

    def merged(self, other: BlockPointer, choose: Callable[[Any, Any], Any]) -> BlockPointer:
        """Return a block pointer whose parts `choose` selects from both."""
        base = choose(self.base, other.base)
        shape, strides, offsets = (
            [choose(a, b) for a, b in zip(own, others, strict=True)]
            for own, others in (
                (self.shape, other.shape),
                (self.strides, other.strides),
                (self.offsets, other.offsets),
            )
        )
        return BlockPointer(base, shape, strides, offsets, self.block)

    def advanced(self, steps: Sequence[Array]) -> BlockPointer:
        """Return the block moved by `steps` elements along each axis."""
        offsets = [offset + step for offset, step in zip(self.offsets, steps, strict=True)]
        return BlockPointer(self.base, self.shape, self.strides, offsets, self.block)

    def places(self, checked: Sequence[int]) -> tuple[Pointer, Array | None]:
        """Return pointers to the block, and a mask of those inside along the axes in `checked`."""
        rank = len(self.block)
        inside: Any = None
        offset: Any = np.zeros((1,) * (rank + 1), np.int64)
        for axis, size in enumerate(self.block):
            steps = np.arange(size).reshape([1, *(-1 if axis == a else 1 for a in range(rank))])
            index = _spread(self.offsets[axis], rank) + steps
            if axis in checked:
                within = (index >= 0) & (index < _spread(self.shape[axis], rank))
                inside = within if inside is None else inside & within
            offset = offset + index * _spread(self.strides[axis], rank)
        return self.base[(slice(None), *[None] * rank)] + offset, inside


def _spread(value: Any, rank: int) -> Array:
    return np.asarray(value).astype(np.int64).reshape(-1, *[1] * rank)


class DescriptorAccesses:
    """Accesses by descriptor, built from the operations of `memory`."""

    def __init__(self, memory: ProgramMemory) -> None:
        self._memory = memory

    def descriptor_load(
        self, descriptor: TensorDescriptor, indices: Sequence[Array], shape: Shape
    ) -> Array:
        """Return a block, with padding outside of the tensor."""
        pointer, inside = descriptor.places(indices)
        loaded = self._memory.load(
            pointer, inside, descriptor.padding, descriptor.block, form=AccessForm.DESCRIPTOR
        )
        return np.broadcast_to(loaded, (len(loaded), *descriptor.block)).reshape(
            len(loaded), *shape
        )

    def load_block(self, pointer: BlockPointer, checked: Sequence[int], nan: bool = False) -> Array:
        """Return a block, with 0 or NaN out of bounds along an axis in `checked`."""
        where, inside = pointer.places(checked)
        padding = np.nan if nan else 0
        loaded = self._memory.load(
            where, inside, padding, pointer.block, form=AccessForm.DESCRIPTOR
        )
        return np.broadcast_to(loaded, (len(loaded), *pointer.block))

    def store_block(self, pointer: BlockPointer, value: Array, checked: Sequence[int]) -> None:
        """Store a block, except out of bounds along an axis in `checked`."""
        where, inside = pointer.places(checked)
        self._memory.store(where, value, inside, pointer.block, form=AccessForm.DESCRIPTOR)

    def descriptor_store(
        self, descriptor: TensorDescriptor, value: Array, indices: Sequence[Array]
    ) -> None:
        """Store a block, except outside of the tensor."""
        pointer, inside = descriptor.places(indices)
        block = value.reshape(len(value), *descriptor.block)
        self._memory.store(pointer, block, inside, descriptor.block, form=AccessForm.DESCRIPTOR)

    def descriptor_reduce(
        self, kind: str, descriptor: TensorDescriptor, value: Array, indices: Sequence[Array]
    ) -> None:
        """Combine a block with memory."""
        pointer, inside = descriptor.places(indices)
        block = value.reshape(len(value), *descriptor.block)
        shape = descriptor.block
        self._memory.atomic(
            kind,
            pointer,
            block,
            inside,
            shape,
            False,
            semantics="RELAXED",
            form=AccessForm.DESCRIPTOR,
        )

    def descriptor_gather(
        self, descriptor: TensorDescriptor, rows: Array, column: Array, shape: Shape
    ) -> Array:
        """Load rows of the tensor, starting at a column."""
        pointer, inside = _rows(descriptor, rows, column, shape[1])
        return self._memory.load(
            pointer, inside, descriptor.padding, shape, form=AccessForm.DESCRIPTOR
        )

    def descriptor_scatter(
        self, descriptor: TensorDescriptor, value: Array, rows: Array, column: Array
    ) -> None:
        """Store rows of the tensor, starting at a column."""
        shape: Shape = value.shape[1:]
        pointer, inside = _rows(descriptor, rows, column, shape[1])
        self._memory.store(pointer, value, inside, shape, form=AccessForm.DESCRIPTOR)


def _rows(
    descriptor: TensorDescriptor, rows: Array, column: Any, width: int
) -> tuple[Pointer, Array]:
    columns = _spread(column, 2) + np.arange(width)
    return descriptor.at([rows.astype(np.int64)[:, :, None], columns])
