"""Buffers in which lanes without memory load a chosen value, so that a run shows who uses it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np

from launch.buffers.element_types import Array
from launch.checks.access import AccessForm
from launch.cpu import atomic_updates, tensor_ops
from launch.cpu.instance_locations import operation_here
from launch.cpu.pointer import Pointer
from launch.cpu.programs import ProgramInstances
from launch.recheck.access_memory import of_rank
from launch.recheck.kernel_form import NotRunnable
from launch.recheck.stored_memory import Shape, StoredMemory

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


class PoisonedMemory(StoredMemory):
    """Memory whose loads bring `poison` in lanes outside of buffers, and in masked ones.

    Masked lanes have the load's `other` instead, where it has one; the load `without_other`, by the
    number of its operation, is read as if it had none.
    """

    def __init__(
        self,
        programs: ProgramInstances,
        operations: Sequence[int],
        poison: LostValue,
        without_other: int | None,
    ) -> None:
        super().__init__(programs)
        self._operations, self._poison = operations, poison
        self._without_other = without_other

    def load(
        self,
        pointer: Pointer,
        mask: Any = None,
        other: Any = None,
        shape: Shape = (),
        *,
        form: AccessForm | None = None,
    ) -> Array:
        """Return what is stored, and poison or `other` elsewhere."""
        wide = self._wide(shape)
        found = np.empty(wide, pointer.dtype)
        found[...] = self._poison.of(pointer.dtype)
        if other is not None and operation_here(self._operations) != self._without_other:
            masked = np.broadcast_to(~of_rank(np.atleast_1d(mask), len(wide)), wide)
            rest = of_rank(np.atleast_1d(other), len(wide)).astype(pointer.dtype)
            found[masked] = np.broadcast_to(rest, wide)[masked]
        for buffer, lanes, places in self._located(pointer, mask, wide):
            found[lanes] = buffer[places].view(pointer.dtype)[..., 0]
        return found

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
        form: AccessForm | None = None,
    ) -> Any:
        """Combine values into memory, lane by lane; return the old ones if they are used."""
        wide = self._wide(shape)
        values = np.atleast_1d(np.asarray(value, pointer.dtype))
        given = np.broadcast_to(of_rank(values, len(wide)), wide)
        before = np.full(wide, self._poison.of(pointer.dtype), pointer.dtype)
        size = pointer.dtype.itemsize
        for buffer, lanes, places in self._located(pointer, mask, wide):
            cells = buffer[: len(buffer) // size * size].view(pointer.dtype)
            try:
                before[lanes] = atomic_updates.fetch_and_update(
                    kind, cells, places[:, 0] // size, given[lanes]
                )
            except atomic_updates.UnknownAtomic as unknown:
                raise NotRunnable(str(unknown)) from None
        return before if is_used else None


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
        np.where(_is_lost([one]), np.zeros((), one.dtype), one).astype(one.dtype) for one in (a, b)
    )
    return tensor_ops.dot(left, right, c, precision)


REPLACED: Mapping[str, Any] = MappingProxyType({"reduce": _reduce, "scan": _scan, "dot": _dot})
"""Operations over lanes that leave out those that are NaN."""
