"""Where the interpreter touches memory: four operations, of which all others are made.

Atomic operations take the types that Triton's own interpreter refuses, too: bf16, and floats that
are exchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from triton._C.libtriton import interpreter as memory
from triton.runtime.interpreter import TensorHandle

from launch.buffers.element_types import STORED, Array, cast
from launch.checks.access import Access, Touch, Way
from launch.interpreter import low_precision
from launch.interpreter.missing_ops import NeedsGpu

Combine = Callable[[Array, Array], Array]


def combination(operation: str, value: Any) -> Combine | None:
    """Return how to combine what is there with what a lane has, `None` if the interpreter can.

    `operation` is Triton's name. Raises `NeedsGpu`.
    """
    name = low_precision.narrow_type(value)
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


def update_lanes(combine: Combine, pointers: Any, value: Any, mask: Array) -> Any:
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


Admit = Callable[[Touch, "Array | None"], Array]
"""From an access and its mask to the real addresses of its lanes."""

_ATOMIC_ACCESSES = ("create_atomic_load", "create_atomic_store", "create_atomic_poll")
"""Since Triton 3.9, made of loads and stores."""


_BY_DESCRIPTOR = (
    "create_descriptor_load", "create_descriptor_store", "create_descriptor_gather",
    "create_descriptor_scatter",
)  # fmt: skip
_UNMASKED = ("create_load", "create_store")
_DESCRIPTOR, _PLAIN = "descriptor", "plain"


class _Within:
    """The operation that is being done by means of a load or a store."""

    def __init__(self) -> None:
        self._words: list[str] = []

    @property
    def semantics(self) -> str | None:
        """Those of the atomic operation under way."""
        word = self._words[-1] if self._words else None
        return None if word in (_DESCRIPTOR, _PLAIN) else word

    @property
    def way(self) -> Way:
        """How the access is made."""
        word = self._words[-1] if self._words else None
        return {_DESCRIPTOR: Way.DESCRIPTOR, _PLAIN: Way.UNMASKED}.get(word or "", Way.MASKED)

    def noting(
        self, operation: Callable[..., Any], word: Callable[[tuple[Any, ...]], str]
    ) -> Callable[..., Any]:
        """Return an operation during which its word is known."""

        def noting(*operands: Any, **named: Any) -> Any:
            self._words.append(word(operands))
            try:
                return operation(*operands, **named)
            finally:
                self._words.pop()

        return noting


def watch_memory_ops(builder: Any, admit: Admit) -> None:
    """Route every access of the interpreter's `builder` through `admit`."""
    within = _Within()
    builder.create_masked_load = _load(builder, admit, within)
    builder.create_masked_store = _store(builder, admit, within)
    builder.create_atomic_cas = _compare_and_swap(builder, admit)
    builder.create_atomic_rmw = _update(builder, admit)
    for name in _ATOMIC_ACCESSES:
        if hasattr(builder, name):
            operation = _original(builder, name)
            setattr(builder, name, within.noting(operation, lambda given: given[-2].name))
    for name in _BY_DESCRIPTOR:
        setattr(builder, name, within.noting(_original(builder, name), lambda _: _DESCRIPTOR))
    for name in _UNMASKED:
        setattr(builder, name, within.noting(_original(builder, name), lambda _: _PLAIN))


def _load(builder: Any, admit: Admit, within: _Within) -> Callable[..., Any]:
    load = _original(builder, "create_masked_load")

    def masked_load(ptrs: Any, mask: Any, *rest: Any, **named: Any) -> Any:
        touch = Touch(Access.LOAD, ptrs.data, _size(ptrs), None, within.semantics, within.way)
        real = admit(touch, _lanes(mask))
        return load(TensorHandle(real, ptrs.dtype), mask, *rest, **named)

    return masked_load


def _store(builder: Any, admit: Admit, within: _Within) -> Callable[..., Any]:
    store = _original(builder, "create_masked_store")

    def masked_store(ptrs: Any, value: Any, mask: Any, *rest: Any, **named: Any) -> Any:
        size = max(_size(ptrs), value.data.itemsize)
        touch = Touch(Access.STORE, ptrs.data, size, value.data, within.semantics, within.way)
        real = admit(touch, _lanes(mask))
        return store(TensorHandle(real, ptrs.dtype), value, mask, *rest, **named)

    return masked_store


def _compare_and_swap(builder: Any, admit: Admit) -> Callable[..., Any]:
    exchange = _original(builder, "create_atomic_cas")

    def atomic_cas(ptr: Any, cmp: Any, val: Any, sem: Any, *rest: Any) -> Any:
        touch = Touch(Access.ATOMIC, ptr.data, _size(ptr), semantics=sem.name)
        return exchange(TensorHandle(admit(touch, None), ptr.dtype), cmp, val, sem, *rest)

    return atomic_cas


def _update(builder: Any, admit: Admit) -> Callable[..., Any]:
    update = _original(builder, "create_atomic_rmw")

    def atomic_rmw(operation: Any, ptr: Any, val: Any, mask: Any, sem: Any, *rest: Any) -> Any:
        combine = combination(operation.name, val)
        size = max(_size(ptr), val.data.itemsize)
        way = Way.UNMASKED if _lanes(mask).all() else Way.MASKED
        touch = Touch(Access.ATOMIC, ptr.data, size, None, sem.name, way)
        real = TensorHandle(admit(touch, _lanes(mask)), ptr.dtype)
        if combine is not None:
            return update_lanes(combine, real, val, _lanes(mask))
        return update(operation, real, val, mask, sem, *rest)

    return atomic_rmw


def _lanes(mask: Any) -> Array:
    return np.asarray(mask.data)  # before 3.9 descriptors pass arrays, whose data are no array


def _original(builder: Any, operation: str) -> Callable[..., Any]:
    return partial(getattr(type(builder), operation), builder)


def _size(pointers: Any) -> int:
    bits = getattr(pointers.get_element_ty(), "primitive_bitwidth", 64)
    return max(bits // 8, 1)
