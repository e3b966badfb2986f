"""The task that compares a kernel's outputs with the expected ones; executes no user code.

Compares floats in float64. An element matches if |actual - expected| <= atol + rtol |expected|, if
both are the same infinity, or if both are NaN and `equal_nan` is set. Differences of integers are
exact.
An unwritten element never matches, regardless of its bits and the tolerance.

One pass over each output computes its summary and its comparison.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from compiler.json_number import MAX_EXACT, written_number
from compiler.messages.wire import Send
from launch.buffers import npy
from launch.buffers.allocation import shared_part
from launch.buffers.element_types import Array, readable, stored
from launch.checks.precision import (
    downgrade,
    downgrade_by_error,
    reference_bits,
)
from launch.checks.precision_measure import MANTISSA_BITS, Measured, PrecisionMeter
from launch.messages import (
    BodyRange,
    Cause,
    ComparedOutput,
    CompareOrder,
    CompareReport,
    Finding,
    OutputOrder,
    Tolerance,
)
from launch.reference.difference import PIECE, Comparer, Unwritten, pieces, scaled

STRETCH = 1 << 20
"""Elements to convert to numbers at a time."""
_NOTHING_MISSING = Unwritten()
_MAX_VALUES = 65_536


@dataclass(frozen=True)
class Elements:
    """One side of a comparison, flat: stored elements of a Triton type, or numbers without one."""

    elements: Array
    dtype: str | None

    def numbers(self, part: slice) -> Array:
        """Return the elements of a slice as numbers."""
        return numbers_of(self.elements[part], self.dtype)

    def parts(self) -> Iterator[Array]:
        """Yield all elements as numbers, in slices."""
        return (self.numbers(part) for part in pieces(self.elements.size, STRETCH))


def compare(order: CompareOrder, body: bytes | memoryview, send: Send) -> CompareReport:
    """Return the requested summaries of outputs and their comparisons with expected values.

    Sends `tensor:<name>`, a `.npy` file, for each output that was requested as a tensor.
    """
    results = {}
    precision = PrecisionCheck(order.causes, order.reference_causes)
    for name, output in order.outputs.items():
        kind = stored(output.dtype)
        actual = np.frombuffer(shared_part(body, output.actual), kind).reshape(output.shape)
        missing = Unwritten(
            _bits(body, output.unwritten, actual.size),
            _bits(body, output.expected_unwritten, actual.size),
        )
        results[name] = _compared(name, actual, output, body, missing, precision)
        if output.returned == "tensor":
            send({"kind": "stage", "stage": f"tensor:{name}", "ms": 0.0}, npy.write(actual))
    return CompareReport(outputs=results)


def _bits(body: bytes | memoryview, place: BodyRange | None, count: int) -> Array | None:
    if place is None:
        return None
    return np.unpackbits(np.frombuffer(shared_part(body, place), np.uint8), count=count).view("?")


@dataclass(frozen=True)
class PrecisionCheck:
    """Detects precision loss in outputs, from its causes in the kernel and in a reference kernel.

    Measures nothing if the kernel contains no such cause.
    """

    causes: Sequence[Cause] = ()
    of_reference: Sequence[Cause] = ()

    def meter(self, output: OutputOrder) -> PrecisionMeter | None:
        """Return a meter for an output, or None if its precision needs no measurement."""
        bits = reference_bits(output, self.of_reference)
        asked = output.expected is not None and output.dtype in MANTISSA_BITS
        if not asked or not any(cause.bits < bits for cause in self.causes):
            return None
        return PrecisionMeter(output.dtype, output.tolerance, prod(output.shape))

    def answer(
        self, name: str, output: OutputOrder, comparer: Comparer, meter: PrecisionMeter
    ) -> Finding | None:
        """Return the finding for an output; None if it has unwritten or overflowed elements."""
        if not comparer.all_finite:
            return None
        bits = reference_bits(output, self.of_reference)
        return downgrade(name, output.dtype, meter.result(), self.causes, bits, output.tolerance)


def _compared(
    name: str,
    actual: Array,
    output: OutputOrder,
    body: bytes | memoryview,
    missing: Unwritten,
    precision: PrecisionCheck,
) -> ComparedOutput:
    summed = _SummaryInPieces() if output.returned != "none" else None
    ours, theirs = Elements(actual.reshape(-1), output.dtype), _expected(output, body)
    if theirs is not None:
        output = replace(output, tolerance=scaled(output.tolerance, theirs.parts()))
    comparer = Comparer(actual.shape, output.tolerance) if output.expected is not None else None
    meter = precision.meter(output)
    _go_through(ours, theirs, missing, summed, comparer, meter)
    lost = precision.answer(name, output, comparer, meter) if comparer and meter else None
    result = comparer.result() if comparer else None
    listed = output.returned == "values"
    shown = theirs if listed and result and not result["matches"] else None
    return ComparedOutput(
        summary=summed.result(actual.shape, output.dtype, missing.actual) if summed else None,
        comparison=result,
        values=_values(actual, output.dtype) if listed else None,
        expected=_values(shown.elements.reshape(actual.shape), shown.dtype) if shown else None,
        downgrade=lost or _far_off(name, output, ours, theirs, body),
        expects_only_nan=theirs is not None
        and not output.tolerance.equal_nan
        and bool(theirs.elements.size)
        and (missing.expected is None or not missing.expected.any())
        and all(bool(np.isnan(part).all()) for part in theirs.parts()),
    )


def _far_off(
    name: str,
    output: OutputOrder,
    ours: Elements,
    theirs: Elements | None,
    body: bytes | memoryview,
) -> Finding | None:
    """Return the finding that an output is much further from fp64 than its reference is."""
    if output.precise is None or theirs is None:
        return None
    precise = Elements(np.frombuffer(shared_part(body, output.precise), np.float64), None)
    errors = [_error(output, side, precise) for side in (ours, theirs)]
    return downgrade_by_error(name, output.dtype, errors[0], errors[1], output.tolerance)


def _error(output: OutputOrder, side: Elements, precise: Elements) -> Measured | None:
    meter = PrecisionMeter(output.dtype, output.tolerance, side.elements.size)
    for part in pieces(side.elements.size, PIECE):
        meter.add(side.numbers(part), precise.numbers(part))
    return meter.result()


def _expected(output: OutputOrder, body: bytes | memoryview) -> Elements | None:
    if output.expected is None:
        return None
    own = output.expected_dtype is None
    kind = stored(output.dtype) if own else np.dtype(output.expected_dtype)
    elements = np.frombuffer(shared_part(body, output.expected), kind)
    return Elements(elements, output.dtype if own else None)


def _go_through(
    ours: Elements,
    theirs: Elements | None,
    missing: Unwritten,
    summed: _SummaryInPieces | None,
    comparer: Comparer | None,
    meter: PrecisionMeter | None = None,
) -> None:
    """Pass every element once to the summary, the comparer and the meter."""
    for part in pieces(ours.elements.size, STRETCH):
        actual = ours.numbers(part)
        if summed is not None:
            summed.add(actual)
        if comparer is not None and theirs is not None:
            stored_elements = ours.elements[part]
            expected = theirs.numbers(part)
            comparer.add(part.start, actual, expected, missing.of(part), stored_elements)
            if meter is not None:
                for piece in pieces(actual.size, PIECE):
                    meter.add(actual[piece], expected[piece])


def summary(actual: Array, dtype: str, unwritten: Array | None = None) -> dict[str, Any]:
    """Return shape, dtype and statistics of the finite elements.

    `unwritten` is a flat mask of the unwritten elements, or None if all were written.
    """
    summed = _SummaryInPieces()
    _go_through(Elements(actual.reshape(-1), dtype), None, _NOTHING_MISSING, summed, None)
    return summed.result(actual.shape, dtype, unwritten)


def comparison(
    actual: Array,
    expected: Array,
    tolerance: Tolerance,
    dtype: str | None = None,
    expected_dtype: str | None = None,
    missing: Unwritten = _NOTHING_MISSING,
) -> dict[str, Any]:
    """Return whether two arrays of one shape match, with their largest differences.

    An array holds stored elements if its Triton type is given, else numbers. Skips elements that
    neither side wrote; `compared` counts the rest.
    """
    ours = Elements(actual.reshape(-1), dtype)
    theirs = Elements(expected.reshape(-1), expected_dtype)
    comparer = Comparer(actual.shape, scaled(tolerance, theirs.parts()))
    _go_through(ours, theirs, missing, None, comparer)
    return comparer.result()


def numbers_of(elements: Array, dtype: str | None) -> Array:
    """Return stored elements of a Triton type as numbers; without a type, return them unchanged."""
    return elements if dtype is None else readable(elements, dtype)


class _SummaryInPieces:
    """Statistics of the finite elements so far. The rounding of the mean depends on the pieces."""

    def __init__(self) -> None:
        self._count = self._nan = self._inf = 0
        self._total = 0.0
        self._extremes: list[Any] = []

    def add(self, numbers: Array) -> None:
        """Add more elements."""
        if not numbers.size:
            return
        numbers = numbers.astype(np.uint8) if numbers.dtype == np.bool_ else numbers
        extremes = [numbers.min(), numbers.max()]  # NaN if an element is NaN
        if not all(map(np.isfinite, extremes)):
            self._nan += int(np.isnan(numbers).sum())
            self._inf += int(np.isinf(numbers).sum())
            numbers = numbers[np.isfinite(numbers)]
            extremes = [numbers.min(), numbers.max()] if numbers.size else []
        if numbers.size:
            self._count += numbers.size
            self._total += float(numbers.sum(dtype=np.float64))
            self._extremes += [extreme.item() for extreme in extremes]

    def result(self, shape: Sequence[int], dtype: str, unwritten: Array | None) -> dict[str, Any]:
        """Return statistics, shape and dtype. `unwritten` is a flat mask, or None."""
        count, extremes = self._count, self._extremes
        return {
            "shape": list(shape),
            "dtype": dtype,
            "min": written_number(min(extremes)) if count else None,
            "max": written_number(max(extremes)) if count else None,
            "mean": written_number(self._total / count) if count else None,
            "nan": self._nan,
            "inf": self._inf,
            "unwritten": 0 if unwritten is None else int(unwritten.sum()),
        }


def _values(actual: Array, dtype: str | None) -> Any:
    """Return the elements as nested lists, or None for more than `_MAX_VALUES`."""
    if actual.size > _MAX_VALUES:
        return None
    numbers = numbers_of(actual, dtype)
    integers = numbers.dtype.kind in "iu"
    plain = (
        not integers
        or not numbers.size
        or max(abs(int(numbers.min())), int(numbers.max())) <= MAX_EXACT
    )
    if plain and bool(np.isfinite(numbers).all()):
        return numbers.tolist()
    return _nest(numbers.tolist())


def _nest(values: Any) -> Any:
    return (
        [_nest(value) for value in values]
        if isinstance(values, Sequence)
        else written_number(values)
    )
