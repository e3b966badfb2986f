"""Pointers into NumPy arrays: every array has a range of addresses, far from those of the others.

A pointer is an address and a type, as on a GPU, so that casts, tables of pointers, and pointers
that loops move all work. Whatever leaves its array is an IndexError that names the argument.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.ttir_to_numpy.runtime.number_ops import maxnum, minnum, signed, unsigned

ROOM_BYTES = 1 << 40
"""Addresses between two arrays: what runs over the end of one does not reach the next."""


class Memory:
    """The arrays of a launch, by address."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget all arrays; the program that runs is the only one."""
        self.names: list[str] = []
        self.arrays: list[Any] = []
        self.program: tuple[int, ...] = (0, 0, 0)
        self.programs: tuple[int, ...] = (1, 1, 1)

    def pointer(self, name: str, array: Any, dtype: Any) -> Pointer:
        """Return the pointer to the first element of `array`, which is used in place."""
        if not isinstance(array, np.ndarray) or not array.flags.c_contiguous:
            raise TypeError(f"{name}: a pointer needs a contiguous NumPy array")
        if array.dtype != np.dtype(dtype):
            raise TypeError(
                f"{name}: the array is of {array.dtype}, the kernel's is of {np.dtype(dtype)}"
            )
        self.names.append(name)
        self.arrays.append(array.reshape(-1).view(np.uint8))
        return Pointer(np.int64(len(self.arrays) * ROOM_BYTES), np.dtype(dtype))

    def view(self, which: int, dtype: Any) -> Any:
        """Return the elements of one array as `dtype`."""
        data = self.arrays[which]
        return data[: data.size // dtype.itemsize * dtype.itemsize].view(dtype)


memory = Memory()


class Pointer:
    """Addresses in bytes (int64, of any shape), and the type of what is there."""

    def __init__(self, address: Any, dtype: Any) -> None:
        self.address = address
        self.dtype = np.dtype(dtype)

    def __add__(self, offset: Any) -> Pointer:
        """Return the pointer `offset` elements further on."""
        step = np.asarray(offset, np.int64)[()] * np.int64(self.dtype.itemsize)
        return Pointer(self.address + step, self.dtype)

    def __getitem__(self, index: Any) -> Pointer:
        return Pointer(self.address[index], self.dtype)

    def cast(self, dtype: Any) -> Pointer:
        """Return the same addresses of elements of another type."""
        return Pointer(self.address, dtype)


def over_addresses(function: Any, *values: Any) -> Any:
    """Return `function` of values; for pointers it gets the addresses and gives a pointer."""
    dtype = next((value.dtype for value in values if isinstance(value, Pointer)), None)
    if dtype is None:
        return function(*values)
    return Pointer(function(*[v.address if isinstance(v, Pointer) else v for v in values]), dtype)


def elements(what: str, name: str, array: Any, offset: Any) -> Any:
    """Return which elements of `array` begin at the bytes `offset`.

    Raises IndexError for what the argument `name` does not have.
    """
    index, rest = np.divmod(offset, array.itemsize)
    bad = (index < 0) | (index >= array.size)
    if bad.any():
        raise IndexError(
            f"{what}: element {int(index[bad][0])} of {name}, which has {array.size}, "
            f"in program {memory.program}"
        )
    if rest.any():
        raise IndexError(
            f"{what}: byte {int(offset[rest != 0][0])} of {name} does not begin an element of "
            f"{array.itemsize} bytes, in program {memory.program}"
        )
    return index


def places(pointer: Pointer, mask: Any, what: str) -> Any:
    """Yield `(array, index, lanes)` for each array that `pointer` points into where `mask` is true.

    `index` has an element for each of the true `lanes`. Raises IndexError for what is outside.
    """
    address = np.broadcast_to(
        pointer.address, np.broadcast_shapes(np.shape(pointer.address), np.shape(mask))
    )
    lanes = np.broadcast_to(mask, address.shape)
    chosen = address[lanes]
    which, offset = chosen // ROOM_BYTES - 1, chosen % ROOM_BYTES
    # up to half the room below an array belongs to it, too: an index below 0
    below = offset >= ROOM_BYTES // 2
    which, offset = which + below, np.where(below, offset - ROOM_BYTES, offset)
    for number in np.unique(which):
        if not 0 <= number < len(memory.arrays):
            raise IndexError(
                f"{what}: address {int(chosen[which == number][0]):#x} belongs to no argument"
            )
        array = memory.view(int(number), pointer.dtype)
        mine = which == number
        index = elements(what, memory.names[int(number)], array, offset[mine])
        if mine.all():
            yield array, index, lanes
        else:
            some = np.zeros(address.shape, np.bool_)
            some[lanes] = mine
            yield array, index, some


def load(pointer: Pointer, mask: Any = True, other: Any = 0) -> Any:
    """Return what is at `pointer` where `mask` is true, `other` elsewhere.

    A GPU leaves it open what a lane without `other` holds; here it is 0.
    """
    shape = np.broadcast_shapes(np.shape(pointer.address), np.shape(mask), np.shape(other))
    value = np.array(np.broadcast_to(other, shape), dtype=pointer.dtype)
    for array, index, lanes in places(pointer, np.broadcast_to(mask, shape), "load"):
        value[lanes] = array[index]
    return value[()]


def store(pointer: Pointer, value: Any, mask: Any = True) -> None:
    """Put `value` to `pointer` where `mask` is true. Of equal addresses the last one stays."""
    shape = np.broadcast_shapes(np.shape(pointer.address), np.shape(mask), np.shape(value))
    values = np.broadcast_to(value, shape)
    for array, index, lanes in places(pointer, np.broadcast_to(mask, shape), "store"):
        array[index] = values[lanes]


def atomic(kind: str, pointer: Pointer, value: Any, mask: Any, shape: Any) -> Any:
    """Change what is at `pointer`, element by element in order; return what was there before."""
    address = np.broadcast_to(pointer.address, shape)
    values, lanes = np.broadcast_to(value, shape), np.broadcast_to(mask, shape)
    before = np.zeros(shape, pointer.dtype)
    for at in np.ndindex(*shape):
        if lanes[at]:
            [(array, [index], _)] = places(
                Pointer(address[at], pointer.dtype), np.bool_(True), "atomic"
            )
            before[at] = array[index]
            array[index] = ATOMICS[kind](array[index], values[at])
    return before[()]


ATOMICS: dict[str, Any] = {
    "add": lambda old, new: old + new,
    "and": lambda old, new: old & new,
    "or": lambda old, new: old | new,
    "xor": lambda old, new: old ^ new,
    "max": lambda old, new: maxnum(old, new),  # noqa: PLW0108 - in a text it stands further down
    "min": lambda old, new: minnum(old, new),  # noqa: PLW0108
    "umax": lambda old, new: signed(np.maximum(unsigned(old), unsigned(new))),
    "umin": lambda old, new: signed(np.minimum(unsigned(old), unsigned(new))),
    "xchg": lambda _, new: new,
}


def compare_and_swap(pointer: Pointer, expected: Any, value: Any, shape: Any) -> Any:
    """Put `value` where `expected` is, element by element in order; return what was there."""
    address = np.broadcast_to(pointer.address, shape)
    wanted, values = np.broadcast_to(expected, shape), np.broadcast_to(value, shape)
    before = np.zeros(shape, pointer.dtype)
    for at in np.ndindex(*shape):
        [(array, [index], _)] = places(
            Pointer(address[at], pointer.dtype), np.bool_(True), "atomic_cas"
        )
        before[at] = array[index]
        if before[at] == wanted[at]:
            array[index] = values[at]
    return before[()]


def poll(pointer: Pointer, expected: Any, ends: bool) -> Any:
    """Return where `expected` is; nothing changes while a program waits.

    Raises RuntimeError for a wait that has no end.
    """
    is_equal = load(pointer) == expected
    if not ends and not np.all(is_equal):
        raise RuntimeError(f"atomic_poll waits for ever, in program {memory.program}")
    return is_equal
