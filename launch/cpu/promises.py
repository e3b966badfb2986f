"""Checks what a kernel promises the compiler while it runs: hints, and rules of descriptors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from compiler.target import Target
from launch.buffers.element_types import Array
from launch.checks import finding
from launch.checks.finding import KernelLocation, Stopped
from launch.checks.owner_table import PossibleRace
from launch.cpu.descriptors import TensorDescriptor
from launch.cpu.pointer import Pointer
from launch.cpu.programs import ProgramInstances
from launch.messages import Finding

WIDEST = 16
"""The most elements, and bytes, that one instruction of a thread accesses."""
TMA_BYTES = 16
Shape = tuple[int, ...]
_Hint = tuple[int, ...]
"""A number for each axis, () without a hint."""


class Promises:
    """Ends a launch at a promise that does not hold; `warn` receives those that cannot matter."""

    def __init__(
        self,
        programs: ProgramInstances,
        location: Callable[[], KernelLocation],
        warn: Callable[[Finding], None],
        target: Target,
    ) -> None:
        self._programs, self._location, self._warn = programs, location, warn
        self._uses_tma = target.has("tensor_maps")

    def check(
        self,
        value: Any,
        shape: Shape,
        divisibility: _Hint,
        contiguity: _Hint,
        constancy: _Hint,
        access: Literal["read", "write"] | None,
    ) -> None:
        """Check the hints of a value of `shape`, whose address an `access` may use."""
        lanes, unit = _lanes(value)
        lanes = self._active(lanes.reshape(len(lanes), *_padded(lanes.shape[1:], len(shape))))
        if not lanes.size:
            return
        if not shape:
            lanes, shape = lanes[:, None], (1,)
        lanes = np.broadcast_to(lanes, (len(lanes), *shape))
        broken = _broken(lanes, unit, divisibility, contiguity, constancy, WIDEST)
        if broken is not None:
            is_divisor = broken.startswith("tl.multiple_of")
            self._stop(lambda where: finding.false_promise(
                broken, access if is_divisor else None, where
            ))  # fmt: skip
        longer = _broken(lanes, unit, divisibility, contiguity, constancy, None)
        if longer is not None:
            self._warn(finding.unneeded_promise(longer, self._location()))

    def check_descriptor(self, descriptor: TensorDescriptor) -> None:
        """Check the base and the strides of a descriptor that the kernel makes."""
        if not self._uses_tma:
            return
        broken = self._broken_rule(descriptor)
        if broken is not None:
            self._stop(lambda where: finding.misaligned_descriptor(broken, where))

    def _broken_rule(self, descriptor: TensorDescriptor) -> str | None:
        size = descriptor.base.dtype.itemsize
        address = self._active(descriptor.base.address.reshape(-1))
        over = address[address % TMA_BYTES != 0]
        if over.size:
            return f"base is {int(over[0]) % TMA_BYTES} bytes past a multiple of {TMA_BYTES} bytes"
        *outer, last = [
            self._active(np.atleast_1d(stride).reshape(-1)) for stride in descriptor.strides
        ]
        for strides in outer:
            wrong = strides[strides.astype(np.int64) * size % TMA_BYTES != 0]
            if wrong.size:
                return f"stride of {int(wrong[0])} elements is {int(wrong[0]) * size} bytes"
        wrong = last[last != 1]
        return f"last stride is {int(wrong[0])}" if wrong.size else None

    def _active(self, lanes: Array) -> Array:
        """Return the lanes of active programs."""
        active = self._programs.active
        if active is None or len(lanes) == 1:
            return lanes if active is None or active.any() else lanes[:0]
        kept: Array = lanes[active]
        return kept

    def _stop(self, finding: Callable[[KernelLocation], Finding]) -> None:
        """End the launch, once its programs run one by one."""
        if self._programs.count > 1:
            raise PossibleRace
        raise Stopped(finding(self._location()))


def _lanes(value: Any) -> tuple[Array, int]:
    """Return integers, and by how much neighbours differ: for pointers their bytes."""
    if isinstance(value, Pointer):
        return value.address, value.dtype.itemsize
    return np.atleast_1d(value), 1


def _padded(shape: Shape, rank: int) -> Shape:
    return (*(1,) * (rank - len(shape)), *shape)


def _broken(
    lanes: Array,
    unit: int,
    divisibility: _Hint,
    contiguity: _Hint,
    constancy: _Hint,
    longest: int | None,
) -> str | None:
    """Return what does not hold; groups and divisors count up to `longest`, None: as they are."""
    for hint, step, name in ((contiguity, unit, "max_contiguous"), (constancy, 0, "max_constancy")):
        for axis, size in enumerate(hint):
            group = _group(lanes.shape[axis + 1], size, longest)
            wrong = _uneven(lanes, axis + 1, group, step)
            if wrong is not None:
                return f"tl.{name}(..., {_shown(hint)}) does not hold: {wrong}"
    for axis, divisor in enumerate(divisibility):
        least = divisor if longest is None else min(divisor, longest)
        hinted = contiguity[axis] if contiguity else None
        wrong = _indivisible(lanes, axis + 1, least, unit, hinted)
        if wrong is not None:
            return f"tl.multiple_of(..., {_shown(divisibility)}) does not hold: {wrong}"
    return None


def _group(extent: int, size: int, longest: int | None) -> int:
    group = min(size, extent) if longest is None else min(size, extent, longest)
    return group if group and extent % group == 0 else 1


def _grouped(lanes: Array, axis: int, group: int) -> Array:
    """Return the lanes with `axis` as groups, and their lanes as the last axis."""
    moved = np.moveaxis(lanes, axis, -1)
    return moved.reshape(*moved.shape[:-1], moved.shape[-1] // group, group)


def _uneven(lanes: Array, axis: int, group: int, step: int) -> str | None:
    """Return neighbours in a group of lanes that do not differ by `step`."""
    if group < 2:
        return None
    groups = _grouped(lanes, axis, group)
    groups = groups.astype(np.int64) if groups.dtype.kind in "bu" else groups
    wrong = np.flatnonzero((np.diff(groups) != step).reshape(-1))
    if not wrong.size:
        return None
    rows = groups.reshape(-1, group)
    row, lane = divmod(int(wrong[0]), group - 1)
    pair = [_number(rows[row][lane + at], lanes.dtype) for at in (0, 1)]
    return f"lanes {lane} and {lane + 1} of a group of {group} are {pair[0]} and {pair[1]}"


def _indivisible(
    lanes: Array, axis: int, divisor: int, unit: int, hinted: int | None
) -> str | None:
    """Return the first lane of a contiguous group that is not a multiple of `divisor`.

    As in the compiler, the number is about the first lane of each contiguous group; along an axis
    without such groups, next to one with them, it has no meaning.
    """
    if divisor < 2 or lanes.dtype.kind not in "iu":
        return None
    groups = [_longest(lanes, at, unit) for at in range(1, lanes.ndim)]
    group = groups[axis - 1]
    if hinted is not None and hinted > 1:
        group = _group(lanes.shape[axis], hinted, None)
    if group == 1 and any(size > 1 for size in groups):
        return None
    firsts = _grouped(lanes, axis, group)[..., 0].reshape(-1)
    wrong = firsts[firsts % divisor != 0]
    if not wrong.size:
        return None
    return f"{_number(wrong[0], lanes.dtype)} is not a multiple of {divisor}"


def _longest(lanes: Array, axis: int, unit: int) -> int:
    """Return the length of the longest groups of contiguous lanes along `axis`, a power of two."""
    group: int = lanes.shape[axis]
    while group > 1 and _uneven(lanes, axis, group, unit) is not None:
        group //= 2
    return max(group, 1)


def _number(value: Any, dtype: np.dtype[Any]) -> str:
    return str(bool(value)) if dtype.kind == "b" else str(int(value))


def _shown(hint: Sequence[int]) -> str:
    return str(hint[0]) if len(hint) == 1 else str(list(hint))
