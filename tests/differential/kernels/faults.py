"""Faults that may be planted into the CPU device, to see that random kernels find them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from compiler.ttir_to_numpy import arithmetic
from compiler.ttir_to_numpy.runtime import number_ops
from launch.cpu import atomic_updates, control_flow, kernel, tensor_ops
from launch.cpu.memory import ProgramMemory


def _replace_text(table: Mapping[str, str], name: str, text: str) -> None:
    assert isinstance(table, dict)
    assert table[name] != text
    table[name] = text


def drop_extents_under_true_masks() -> None:
    """Leave a load as narrow as its pointer where all lanes of its mask are true."""
    load: Any = ProgramMemory.load

    def narrow(self: Any, pointer: Any, mask: Any = None, *rest: Any, **more: Any) -> Any:
        found = load(self, pointer, mask, *rest, **more)
        if mask is None or not np.all(mask):
            return found
        wanted = [slice(1) if step == 0 else slice(None) for step in found.strides]
        return found[tuple(wanted)]

    ProgramMemory.load = narrow  # type: ignore[method-assign]


def swap_minimum_and_maximum() -> None:
    """Give the larger of two signed integers as the smaller one."""
    _replace_text(arithmetic._FUNCTIONS, "arith.minsi", "np.maximum")


def shift_unsigned_as_signed() -> None:
    """Keep the sign of unsigned integers that are moved to the right."""
    _replace_text(arithmetic._UNSIGNED, "arith.shrui", "{} >> {}")


def round_quotients_down() -> None:
    """Divide integers as Python does."""
    divide: Any = np.floor_divide
    number_ops.divide = divide


def scan_forwards_only() -> None:
    """Begin each scan at the first element."""
    scan = tensor_ops.scan
    tensor_ops.scan = lambda combine, axis, _, *parts: scan(combine, axis, False, *parts)


def swap_unsigned_atomics() -> None:
    """Keep the smaller one in `atomic_max` of unsigned integers."""
    atomic_updates._COMBINED["umax"] = np.minimum


def merge_branches_by_the_first_program() -> None:
    """Let the first program decide for all."""
    chosen: Any = control_flow.chosen

    def by_first(active: Any, new: Any, old: Any) -> Any:
        return chosen(np.broadcast_to(active[:1], active.shape).copy(), new, old)

    kernel.chosen = by_first  # type: ignore[attr-defined,assignment]


def forget_other() -> None:
    """Load 0 where a mask is false, whatever `other` is."""
    load: Any = ProgramMemory.load

    def without(self: Any, pointer: Any, mask: Any = None, other: Any = None, *rest: Any) -> Any:
        return load(self, pointer, mask, None, *rest)

    ProgramMemory.load = without  # type: ignore[method-assign,assignment]


FAULTS: Mapping[str, Callable[[], None]] = {
    plant.__name__: plant
    for plant in (
        drop_extents_under_true_masks, swap_minimum_and_maximum, shift_unsigned_as_signed,
        round_quotients_down, scan_forwards_only, swap_unsigned_atomics,
        merge_branches_by_the_first_program, forget_other,
    )
}  # fmt: skip
