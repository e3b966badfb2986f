"""Recognizes that a running kernel computed an integer that its type cannot hold."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from launch.buffers.element_types import Array

_EXACT: Mapping[str, Callable[..., Any]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.shli": lambda a, b: a * np.exp2(b),
    "math.absi": np.abs,
    "arith.trunci": lambda a: a,
    "arith.index_cast": lambda a: a,
}
"""The result that an operation makes of its operands, where no integer wraps."""
_LOOP = "scf.for"


@dataclass
class WrappedInteger:
    """Watches the operation `number` for `expected`, which does not fit its `bits`.

    Called with the values of watched operations. Floats tell exact results from wrapped ones, which
    are `2 ** bits` or more away. Where operands may be unsigned, what counts is a wrap in `some`
    reading of them, or in `every` one: signed and unsigned.
    """

    number: int
    operation: str
    expected: int
    bits: int
    readings: Literal["signed", "some", "every"] = "signed"
    _is_computed: bool = field(default=False, init=False)
    _wraps: bool = field(default=False, init=False)

    @property
    def is_seen(self) -> bool:
        """True if the operation wrapped, and had what is left of `expected`."""
        return self._is_computed and self._wraps

    def __call__(self, number: int, values: Sequence[Any]) -> None:
        """Look at the result and the operands of an operation, or at a loop's bounds and step."""
        if number != self.number or self.is_seen:
            return
        if self.operation == _LOOP:
            self._look_at_loop(*(int(np.asarray(value).flat[0]) for value in values))
            return
        exact = _EXACT.get(self.operation)
        if exact is None:
            return
        readings = [self._readings(np.asarray(value, np.float64)) for value in values]
        wraps = [
            np.abs(exact(*operands) - result) >= _half(self.bits)
            for result, *operands in itertools.product(*readings)
        ]
        combine = np.logical_or if self.readings == "some" else np.logical_and
        self._wraps |= bool(combine.reduce(wraps).any())
        self._is_computed |= bool((np.asarray(values[0]).astype(np.int64) == self._wrapped()).any())

    def _readings(self, signed: Array) -> list[Array]:
        """Return what bits may be: a signed integer, and an unsigned one that it may be, too."""
        if self.readings == "signed":
            return [signed]
        return [signed, np.where(signed < 0, signed + 2.0 * _half(self.bits), signed)]

    def _look_at_loop(self, low: int, high: int, step: int) -> None:
        if step > 0 and low < high:
            past = low + (high - low + step - 1) // step * step
            self._wraps = self._is_computed = past >= _half(self.bits)

    def _wrapped(self) -> int:
        half = _half(self.bits)
        return (self.expected + half) % (2 * half) - half


def _half(bits: int) -> int:
    return 1 << (bits - 1)
