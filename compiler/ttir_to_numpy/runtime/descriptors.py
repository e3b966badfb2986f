"""Tensor descriptors and block pointers: blocks of a tensor in memory, padded beyond its edge."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.ttir_to_numpy.runtime.memory import Pointer, atomic, load, memory, store


class TensorDescriptor:
    """A tensor of `shape` and `strides` (in elements) at `base`, read in blocks of `block`."""

    def __init__(
        self, base: Pointer, shape: Any, strides: Any, block: Any, nan: bool = False
    ) -> None:
        self.base, self.shape, self.strides, self.block = base, shape, strides, tuple(block)
        self.padding = np.nan if nan else 0

    def places(self, indices: Any) -> Any:
        """Return pointers to the block that begins at `indices`, and which are inside."""
        rank = len(self.block)
        axes = [
            (np.int64(index) + np.arange(size)).reshape([-1 if a == b else 1 for b in range(rank)])
            for a, (index, size) in enumerate(zip(indices, self.block))
        ]
        return self.at(axes)

    def at(self, axes: Any) -> Any:
        """Return pointers to the places that `axes` name, and which are inside."""
        inside: Any = np.bool_(True)
        offset: Any = np.int64(0)
        for axis, size, stride in zip(axes, self.shape, self.strides):
            inside = inside & (axis >= 0) & (axis < np.int64(size))
            offset = offset + axis * np.int64(stride)
        return self.base + offset, inside


def descriptor_load(descriptor: TensorDescriptor, indices: Any, shape: Any) -> Any:
    """Return a block; what is outside of the tensor is its padding."""
    pointer, inside = descriptor.places(indices)
    return np.reshape(load(pointer, inside, descriptor.padding), shape)


def descriptor_store(descriptor: TensorDescriptor, value: Any, indices: Any) -> None:
    """Put a block; what is outside of the tensor is left out."""
    pointer, inside = descriptor.places(indices)
    store(pointer, np.reshape(value, descriptor.block), inside)


def descriptor_reduce(kind: str, descriptor: TensorDescriptor, value: Any, indices: Any) -> None:
    """Combine a block with what is there."""
    pointer, inside = descriptor.places(indices)
    block = descriptor.block
    atomic(kind, pointer, np.reshape(value, block), np.broadcast_to(inside, block), block)


def descriptor_gather(descriptor: TensorDescriptor, rows: Any, column: Any, shape: Any) -> Any:
    """Return rows of the tensor from a column on."""
    columns = np.int64(column) + np.arange(shape[1])
    pointer, inside = descriptor.at([np.asarray(rows, np.int64)[:, None], columns[None, :]])
    return load(pointer, inside, descriptor.padding)


def descriptor_scatter(descriptor: TensorDescriptor, value: Any, rows: Any, column: Any) -> None:
    """Put rows of the tensor from a column on."""
    columns = np.int64(column) + np.arange(np.shape(value)[1])
    pointer, inside = descriptor.at([np.asarray(rows, np.int64)[:, None], columns[None, :]])
    store(pointer, value, inside)


def descriptor_of(name: str, array: Any, dtype: Any, block: Any) -> TensorDescriptor:
    """Return the descriptor of a whole array."""
    strides = [stride // array.itemsize for stride in array.strides]
    return TensorDescriptor(memory.pointer(name, array, dtype), array.shape, strides, block)


class BlockPointer:
    """A block of a tensor of `shape` and `strides` (in elements) at `base`, from `offsets` on."""

    def __init__(self, base: Pointer, shape: Any, strides: Any, offsets: Any, block: Any) -> None:
        self.base, self.shape, self.strides = base, shape, strides
        self.offsets, self.block = offsets, tuple(block)

    def advanced(self, steps: Any) -> BlockPointer:
        """Return the block some elements further on."""
        offsets = [offset + step for offset, step in zip(self.offsets, steps)]
        return BlockPointer(self.base, self.shape, self.strides, offsets, self.block)

    def places(self, checked: Any) -> Any:
        """Return pointers to the block, and which are inside along the axes in `checked`."""
        inside: Any = np.bool_(True)
        where: Any = np.int64(0)
        for axis, size in enumerate(self.block):
            index = np.int64(self.offsets[axis]) + np.arange(size)
            index = index.reshape([-1 if axis == other else 1 for other in range(len(self.block))])
            if axis in checked:
                inside = inside & (index >= 0) & (index < np.int64(self.shape[axis]))
            where = where + index * np.int64(self.strides[axis])
        return self.base + where, inside


def load_block(pointer: BlockPointer, checked: Any, nan: bool = False) -> Any:
    """Return a block; what is outside along an axis in `checked` is 0, or NaN."""
    where, inside = pointer.places(checked)
    return np.broadcast_to(load(where, inside, np.nan if nan else 0), pointer.block)


def store_block(pointer: BlockPointer, value: Any, checked: Any) -> None:
    """Put a block; what is outside along an axis in `checked` is left out."""
    where, inside = pointer.places(checked)
    store(where, np.broadcast_to(value, pointer.block), inside)
