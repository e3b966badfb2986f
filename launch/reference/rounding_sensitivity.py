"""Runs a reference in float64 and finds the results that cannot judge a kernel that rounds.

A result is doubtful if slightly different rounding of the inputs changes it noticeably: then a
correct kernel may be as far off. Doubtful elements are not compared.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from compiler.diagnostic import Failure
from launch.buffers.allocation import Leaf
from launch.buffers.element_types import Array, is_float, largest_finite, readable, stored
from launch.messages import RoundingOrder, Tolerance

Perturb = Callable[[Array, str], Array]
"""Converts stored elements of a Triton type to numbers."""
Answer = dict[str, Array]
"""A reference's results by output."""
Evaluate = Callable[[Perturb | None], Answer]
"""Calls a reference; without a `Perturb` its inputs have their usual types."""
_NUDGES = 4
_SHARE = 0.25
"""Fraction of the tolerance by which nudges may move a result, as a root mean square."""
_NEAR = 0.02
"""Values this close to the largest finite number (as a fraction) may round to infinity."""
_BEND, _BEND_OF_FP64 = 5e-7, 1e-15
"""A few units in the last place of fp32, in which kernels calculate, and of fp64."""


@dataclass(frozen=True)
class RoundingSensitive:
    """Expected elements by output, and masks of the doubtful ones."""

    expected: Answer
    doubtful: Mapping[str, Array]
    scales: Mapping[str, float]
    """The root mean square of the finite elements, by output."""


def rounding_sensitive(
    order: RoundingOrder, ask: Evaluate, outputs: Sequence[Leaf], inputs: Sequence[Array]
) -> RoundingSensitive:
    """Return a reference's results, in float64 if `order.wide`, and masks of doubtful elements.

    `ask` calls the reference with inputs from its `Perturb`; `inputs` are widened. Raises `Failure`
    if the reference fails.
    """
    wide = ask(widened if order.wide else None)
    source = np.random.Generator(np.random.Philox(order.seed))
    nudged = [_tried(ask, nudge) for nudge in _nudges(order, source)]
    are_exact = any(not is_float(leaf.dtype) for leaf in outputs)
    as_ever = _tried(ask, None) if are_exact or order.only_copies else None
    alike = [as_ever, _tried(ask, _bent)] if are_exact else []
    if order.replaces_non_finite:
        alike += nudged
    if order.only_copies:
        nudged.append(as_ever)  # intermediate results that overflow here also overflow in kernels
    copies = _magnitudes(inputs) if order.only_copies else None
    expected, doubtful, scales = {}, {}, {}
    for leaf in outputs:
        if leaf.name in wide:
            answer, name = wide[leaf.name], leaf.name
            tolerance = order.tolerances[name]
            if is_float(leaf.dtype):
                others = _named(nudged, name)
                doubtful[name] = _in_doubt(answer, others, leaf.dtype, tolerance, copies)
                answer = _overflowing(answer, leaf.dtype)
            else:
                doubtful[name] = _differing(answer, _named(alike, name))
            expected[name], scales[name] = answer, _scale(answer)
    return RoundingSensitive(expected, doubtful, scales)


def _named(answers: Sequence[Answer | None], name: str) -> list[Array]:
    return [each[name] for each in answers if each is not None and name in each]


def _tried(ask: Evaluate, perturb: Perturb | None) -> Answer | None:
    try:
        return ask(perturb)
    except Failure:
        return None  # the reference rejects these inputs or their dtypes


def widened(elements: Array, dtype: str) -> Array:
    """Return stored elements as numbers, floats as float64."""
    numbers = readable(elements, dtype)
    return numbers.astype(np.float64) if is_float(dtype) else numbers


def _nudging(order: RoundingOrder, source: np.random.Generator) -> Perturb:
    """Return a conversion that moves each element a little, at random.

    Subnormal numbers become 0, because GPUs may flush them.
    """

    def converted(elements: Array, dtype: str) -> Array:
        numbers = widened(elements, dtype)
        if not is_float(dtype):
            return numbers
        limits: Any = ml_dtypes.finfo
        least = limits(stored(dtype)).smallest_normal
        amounts = source.choice([-1.0, 1.0], numbers.shape) * source.uniform(
            0.5, 1.5, numbers.shape
        )
        nudged = numbers * (1.0 + order.relative * amounts)
        nudged = np.where(np.abs(numbers) < float(least), 0.0, nudged)
        return nudged if order.wide else nudged.astype(readable(elements, dtype).dtype)

    return converted


def _nudges(order: RoundingOrder, source: np.random.Generator) -> list[Perturb]:
    nudges = [_nudging(order, source) for _ in range(_NUDGES)]
    if not order.replaces_non_finite:
        return nudges
    small, large = np.exp2(source.uniform([-2, 4], [1, 7])).tolist()
    finite = [small, -small, large, -large]  # no sign and no size has the effect of an infinity
    return [_replacing(nudge, by) for nudge, by in zip(nudges, finite, strict=True)]


def _replacing(nudge: Perturb, finite: float) -> Perturb:
    """Return a conversion that also replaces NaN and infinities."""

    def converted(elements: Array, dtype: str) -> Array:
        numbers = nudge(elements, dtype)
        return np.where(np.isfinite(numbers), numbers, finite) if is_float(dtype) else numbers

    return converted


def _bent(elements: Array, dtype: str) -> Array:
    """Return inputs moved by a few units in the last place; equal ones stay equal, order stays."""
    numbers = widened(elements, dtype)
    if not is_float(dtype):
        return numbers
    amount = _BEND_OF_FP64 if dtype == "fp64" else _BEND
    with np.errstate(all="ignore"):
        phase = np.sin(3.7 * np.log(np.abs(numbers)))
    return np.where(np.isfinite(phase), numbers * (1.0 + amount * phase), numbers)


def _in_doubt(
    answer: Array, nudged: Sequence[Array], dtype: str, tolerance: Tolerance, copies: Array | None
) -> Array:
    numbers = np.asarray(answer, np.float64)
    size = np.abs(numbers)
    largest = largest_finite(dtype)
    doubt = np.isfinite(numbers) & (size > (1 - _NEAR) * largest)
    if not dtype.startswith("fp8"):  # fp8 conversions may saturate instead
        doubt &= (size < (1 + _NEAR) * largest) & (size != largest)
    if not tolerance.equal_nan:
        doubt |= np.isnan(numbers)
    doubt |= _are_off(numbers, [np.asarray(other, np.float64) for other in nudged], tolerance)
    if copies is not None:
        doubt |= ~np.isin(size, copies)
    return doubt


def _are_off(numbers: Array, others: Sequence[Array], tolerance: Tolerance) -> Array:
    """Return a mask of results that nudged inputs move too far."""
    off = np.zeros(numbers.shape, np.bool_)
    squares = np.zeros(numbers.shape)
    for other in others:
        if other.shape != numbers.shape:
            return np.ones(numbers.shape, np.bool_)
        finite = np.isfinite(numbers) & np.isfinite(other)
        same = (numbers == other) | (np.isnan(numbers) & np.isnan(other))
        off |= ~finite & ~same
        with np.errstate(all="ignore"):
            squares += np.where(finite, (numbers - other) ** 2, 0.0)
    with np.errstate(all="ignore"):
        allowed = _SHARE * (tolerance.atol + tolerance.rtol * np.abs(numbers))
        is_far = np.sqrt(squares / max(1, len(others))) > allowed
    off |= is_far & np.isfinite(numbers)
    return off


def _magnitudes(inputs: Sequence[Array]) -> Array:
    """Return all magnitudes in floating-point inputs, to recognise copied elements.

    Excludes 0, which many calculations give.
    """
    magnitudes = [np.abs(each[each != 0]).reshape(-1) for each in inputs if each.dtype.kind == "f"]
    return np.concatenate(magnitudes) if magnitudes else np.empty(0)


def _overflowing(answer: Array, dtype: str) -> Array:
    """Return an answer with infinities where elements overflow the output's dtype."""
    if answer.dtype.kind != "f" or dtype.startswith("fp8"):
        return answer
    with np.errstate(all="ignore"):
        return np.where(np.abs(answer) > largest_finite(dtype), np.copysign(np.inf, answer), answer)


def _differing(answer: Array, others: Sequence[Array]) -> Array:
    """Return a mask of exact results that differ in another precision."""
    doubt = np.zeros(answer.shape, np.bool_)
    for other in others:
        doubt |= answer != other if other.shape == answer.shape else True
    return doubt


def _scale(answer: Array) -> float:
    numbers = np.asarray(answer, np.float64)
    finite = numbers[np.isfinite(numbers)]
    if not finite.size:
        return 0.0
    largest = float(np.abs(finite).max())
    if not largest:
        return 0.0
    return min(float(np.sqrt(np.mean((finite / largest) ** 2))) * largest, 1e300)
