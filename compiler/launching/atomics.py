"""Atomic operations on types that the interpreter's own do not take: bf16, and exchanged floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from triton._C.libtriton import interpreter as memory
from triton.runtime.interpreter import TensorHandle

from compiler.launching import narrow
from compiler.launching.dtypes import STORED, Array, cast
from compiler.launching.needs_gpu import NeedsGpu

Combine = Callable[[Array, Array], Array]


def combination(operation: str, value: Any) -> Combine | None:
    """Return how to combine what is there with what a lane has, `None` if the interpreter can.

    `operation` is Triton's name. Raises `NeedsGpu`.
    """
    name = narrow.narrow_type(value)
    if operation == "XCHG" and (name is not None or value.data.dtype.kind == "f"):
        return lambda _held, given: given
    if name is None:
        return None
    if operation != "FADD":
        raise NeedsGpu(f"tl.atomic_{operation.lower()} on {name}")
    kind = STORED[name]

    def add(held: Array, given: Array) -> Array:
        wide = held.view(kind).astype(np.float32) + given.view(kind).astype(np.float32)
        return cast(wide, name).view(held.dtype)

    return add


def update(combine: Combine, pointers: Any, value: Any, mask: Array) -> Any:
    """Combine every lane's value into memory; return what was there before each.

    Lanes that meet at one address take turns, in their order.
    """
    shape = pointers.data.shape
    addresses = pointers.data.reshape(-1)
    operands = np.broadcast_to(value.data, shape).reshape(-1)
    before = np.zeros(addresses.shape, value.data.dtype)
    left = np.flatnonzero(np.broadcast_to(mask, shape).reshape(-1))
    while left.size:
        _, turn = np.unique(addresses[left], return_index=True)
        lanes = left[turn]
        every = np.ones(lanes.shape, np.bool_)
        at, nothing = addresses[lanes], np.zeros(lanes.shape, before.dtype)
        before[lanes] = memory.load(at, every, nothing, before.dtype)
        memory.store(at, combine(before[lanes], operands[lanes]), every)
        left = np.delete(left, turn)
    return TensorHandle(before.reshape(shape), value.dtype.scalar)
