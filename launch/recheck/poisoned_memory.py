"""Buffers in which lanes without memory load a chosen value, so that a run shows who uses it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np

from compiler.ttir_to_numpy.runtime import tensor_ops as runtime_ops
from launch.buffers.element_types import Array
from launch.checks.access import AccessForm
from launch.checks.addresses import SLOT_BITS
from launch.cpu import atomic_updates, tensor_ops
from launch.cpu.instance_locations import operation_here
from launch.cpu.pointer import Pointer
from launch.cpu.programs import ProgramInstances
from launch.recheck.access_memory import WatchedBuffer, address_of, of_rank
from launch.recheck.buffer_contents import BufferContents
from launch.recheck.kernel_form import NotRunnable

Shape = tuple[int, ...]
_LARGE = 1e4
_INTEGERS = (7, 2)


class LostValue(Enum):
    """The value that a lane without memory loads."""

    HIGH = 0
    LOW = 1
    NAN = 2

    @classmethod
    def numbers(cls) -> tuple[LostValue, LostValue]:
        """Return two values that give different results: their squares differ, too."""
        return cls.HIGH, cls.LOW

    def of(self, dtype: np.dtype[Any]) -> Any:
        """Return the value in a type."""
        if dtype.kind == "b":
            return self is LostValue.HIGH
        if dtype.kind in "iu":
            return dtype.type(_INTEGERS[self is LostValue.LOW])
        if self is LostValue.NAN:
            return np.array(np.nan).astype(dtype)
        most = float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]
        large = min(_LARGE, most / 2)
        return np.array(large if self is LostValue.HIGH else -large / 4).astype(dtype)


@dataclass
class SparseBuffer:
    """A buffer of any size that keeps the elements that were stored, and no others."""

    name: str
    size: int
    width: int
    dtype: np.dtype[Any] | None = None
    """The type of the stored values."""
    _stored: list[tuple[Array, Array]] = field(default_factory=list)
    _is_merged: bool = False

    @property
    def places(self) -> Array:
        """The elements that were stored, in ascending order."""
        self._merge()
        return self._stored[0][0] if self._stored else np.zeros(0, np.int64)

    def values(self, elements: Array, dtype: np.dtype[Any], contents: BufferContents) -> Array:
        """Return what elements hold. Raises NotRunnable for two types of one buffer."""
        values = np.array(contents.values(self.name, elements, dtype))
        if not self._stored:
            return values
        self._check(dtype)
        self._merge()
        [(places, stored)] = self._stored
        at = np.minimum(np.searchsorted(places, elements), len(places) - 1)
        is_stored = places[at] == elements
        values[is_stored] = stored[at[is_stored]]
        return values

    def store(self, elements: Array, values: Array) -> None:
        """Store values; of equal elements, the last one stays."""
        if len(elements):
            self._check(values.dtype)
            self.dtype = values.dtype
            self._stored.append((elements, values))
            self._is_merged = False

    def _check(self, dtype: np.dtype[Any]) -> None:
        if self.dtype is not None and dtype != self.dtype:
            message = f"a buffer that is {self.dtype} and {dtype}"
            raise NotRunnable(message)

    def _merge(self) -> None:
        """Keep each element once, with its last value, in ascending order."""
        if self._is_merged or not self._stored:
            return
        elements, values = (
            np.concatenate(parts)[::-1] for parts in zip(*self._stored, strict=True)
        )
        places, first = np.unique(elements, return_index=True)
        self._stored, self._is_merged = [(places, values[first])], True


class PoisonedMemory:
    """Memory whose loads bring `value` in lanes outside of buffers, and in masked ones.

    Masked lanes have the load's `other` instead, where it has one; the load `without_other`, by the
    number of its operation, is read as if it had none.
    """

    def __init__(
        self,
        programs: ProgramInstances,
        operations: Sequence[int],
        value: LostValue,
        without_other: int | None,
        buffers: Sequence[WatchedBuffer],
        contents: BufferContents,
    ) -> None:
        self._programs, self._operations = programs, operations
        self._value, self._without_other = value, without_other
        self._contents = contents
        self.buffers = [SparseBuffer(buffer.name, buffer.size, buffer.width) for buffer in buffers]

    def load(
        self,
        pointer: Pointer,
        mask: Any = None,
        other: Any = None,
        shape: Shape = (),
        *,
        form: AccessForm | None = None,
    ) -> Array:
        """Return what is stored, and the lost value or `other` elsewhere."""
        wide = (self._programs.count, *shape)
        loaded = np.empty(wide, pointer.dtype)
        loaded[...] = self._value.of(pointer.dtype)
        if other is not None and operation_here(self._operations) != self._without_other:
            masked = np.broadcast_to(~of_rank(np.atleast_1d(mask), len(wide)), wide)
            rest = of_rank(np.atleast_1d(other), len(wide)).astype(pointer.dtype)
            loaded[masked] = np.broadcast_to(rest, wide)[masked]
        for buffer, lanes, elements in self._located(pointer, mask, wide):
            loaded[lanes] = buffer.values(elements, pointer.dtype, self._contents)
        return loaded

    def store(
        self,
        pointer: Pointer,
        value: Any,
        mask: Any = None,
        shape: Shape = (),
        *,
        form: AccessForm | None = None,
    ) -> None:
        """Store a value in lanes with memory."""
        wide = (self._programs.count, *shape)
        stored = self._wide(value, pointer, wide)
        for buffer, lanes, elements in self._located(pointer, mask, wide):
            buffer.store(elements, stored[lanes])

    def atomic(
        self,
        kind: str,
        pointer: Pointer,
        value: Any,
        mask: Any,
        shape: Shape,
        is_used: bool,
        *,
        semantics: str | None = None,
        within_program: bool = False,
        form: AccessForm | None = None,
    ) -> Any:
        """Combine values into memory, lane by lane; return the old ones if they are used."""
        wide = (self._programs.count, *shape)
        operand = self._wide(value, pointer, wide)
        before = np.full(wide, self._value.of(pointer.dtype), pointer.dtype)
        for buffer, lanes, elements in self._located(pointer, mask, wide):
            places, cells_of = np.unique(elements, return_inverse=True)
            cells = buffer.values(places, pointer.dtype, self._contents)
            try:
                before[lanes] = atomic_updates.fetch_and_update(
                    kind, cells, cells_of.reshape(-1), operand[lanes]
                )
            except atomic_updates.UnknownAtomic as unknown:
                raise NotRunnable(str(unknown)) from None
            buffer.store(places, cells)
        return before if is_used else None

    def compare_and_swap(
        self,
        pointer: Pointer,
        expected: Any,
        value: Any,
        shape: Shape,
        *,
        semantics: str | None = None,
        within_program: bool = False,
    ) -> Array:
        """Refuse it."""
        message = "a kernel that compares and swaps"
        raise NotRunnable(message)

    def _wide(self, value: Any, pointer: Pointer, wide: Shape) -> Array:
        array = np.atleast_1d(np.asarray(value).astype(pointer.dtype))
        return np.broadcast_to(of_rank(array, len(wide)), wide)

    def _located(
        self, pointer: Pointer, mask: Any, wide: Shape
    ) -> Iterator[tuple[SparseBuffer, Array, Array]]:
        """Yield each buffer with its lanes that have memory, and the elements in them."""
        rank = len(wide)
        live = np.broadcast_to(True, wide)
        if mask is not None:
            live = live & of_rank(np.atleast_1d(mask), rank)
        active = self._programs.active
        if active is not None:
            live = live & active.reshape(-1, *(1,) * (rank - 1))
        addresses = np.broadcast_to(of_rank(pointer.address, rank), wide)
        numbers = (addresses >> SLOT_BITS) - 1
        for number, buffer in enumerate(self.buffers):
            offsets = addresses - address_of(number)
            here = live & (numbers == number)
            lanes = here & (offsets >= 0) & (offsets < buffer.size * buffer.width)
            if not lanes.any():
                continue
            if pointer.dtype.itemsize != buffer.width or (offsets[lanes] % buffer.width).any():
                message = "a pointer to another type"
                raise NotRunnable(message)
            yield buffer, lanes, offsets[lanes] // buffer.width


def _is_lost(parts: Sequence[Array]) -> Any:
    """Return where a tuple of lanes has a NaN."""
    lost: Any = False
    for part in parts:
        if np.asarray(part).dtype.kind not in "iub":
            lost = lost | np.isnan(part)
    return lost


def _dropping(combine: Any) -> Any:
    """Return what combines two lanes, or gives the other one where one has a NaN."""

    def combined(*parts: Array) -> tuple[Any, ...]:
        half = len(parts) // 2
        first, second = parts[:half], parts[half:]
        made = combine(*parts)
        made = made if isinstance(made, tuple) else (made,)
        lost, other_lost = _is_lost(first), _is_lost(second)
        return tuple(
            np.where(lost, b, np.where(other_lost, a, both))
            for a, b, both in zip(first, second, made, strict=True)
        )

    return combined


def _reduce(combine: Any, axis: int, *tensors: Array) -> Any:
    return tensor_ops.reduce(_dropping(combine), axis, *tensors)


def _scan(combine: Any, axis: int, reverse: bool, *tensors: Array) -> Any:
    return tensor_ops.scan(_dropping(combine), axis, reverse, *tensors)


def _dot(a: Array, b: Array, c: Array, precision: str = "ieee") -> Array:
    left, right = (
        np.where(_is_lost([array]), np.zeros((), array.dtype), array).astype(array.dtype)
        for array in (a, b)
    )
    product: Array = runtime_ops.dot(left, right, c, precision)
    return product


REPLACED: Mapping[str, Any] = MappingProxyType({"reduce": _reduce, "scan": _scan, "dot": _dot})
"""Operations over lanes that leave out those that are NaN."""
