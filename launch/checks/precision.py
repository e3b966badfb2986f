"""The finding `precision_downgrade`: a kernel computes with less precision than it could.

It needs a cause in the kernel's IR and a difference from a more precise reference of the size that
such a cause produces. It does not change the verdict.
"""

import math
from collections.abc import Sequence

from launch.checks.precision_measure import MANTISSA_BITS, Measured
from launch.messages import Cause, CauseKind, Finding, OutputOrder, Tolerance

KIND = "precision_downgrade"
_REFERENCE_BITS = {"float16": 11, "float32": 24, "float64": 53}
"""Mantissa bits of the NumPy dtypes that a reference may return."""
_MIN_ROUNDINGS = 2.0
"""Smaller differences may come from rounding to the output's type alone."""
_FAINTEST = 7
"""Bits: an error this much smaller than one rounding of the cause has another reason.

The error of a sum of many partial sums is smaller than the error of each of them.
"""
_MAX_VALUE = {
    CauseKind.ROUNDED: 3,
    CauseKind.TF32: 3,
    CauseKind.IMPRECISE_DOT: 3,
}
_MAX_OF_SUMS = 5
"""Bits: an error this much larger than one rounding is a bug. Sums accumulate more rounding."""
_FAR_ABOVE = (32.0, 7)
"""The factor of an error that is far above the reference's, and the bits that must be wrong."""
_FAR_ABOVE_IN_HALVES = (4.0, 1)
"""The same of an output whose own rounding is most of the error."""
_WRONG = 0.1
"""A relative error that no loss of precision explains."""
_MIN_SPREAD = 0.2
"""If only a few elements are far off, the kernel is wrong there, not imprecise."""
_NAMES = {
    "f64": "fp64", "f32": "fp32", "f16": "fp16", "tf32": "TF32", "f8E4M3FN": "fp8e4nv",
    "f8E5M2": "fp8e5", "f8E4M3FNUZ": "fp8e4b8", "f8E5M2FNUZ": "fp8e5b16",
    "f8E4M3B11FNUZ": "fp8e4b15",
}  # fmt: skip
_WHAT = {
    CauseKind.DOT_ACCUMULATOR: (
        "tl.dot accumulates in {0}",
        "Accumulate in fp32: pass out_dtype=tl.float32 and an fp32 accumulator.",
    ),
    CauseKind.ACCUMULATOR: (
        "values are added up in {0}",
        "Keep the sum in tl.float32 and convert it once, at the end.",
    ),
    CauseKind.REDUCTION: (
        "values are reduced in {0}",
        "Reduce them in fp32: tl.sum(x.to(tl.float32), ...).",
    ),
    CauseKind.ATOMIC: (
        "programs add to {0} in memory, and each addition is rounded",
        "Add to a buffer of fp32 instead.",
    ),
    CauseKind.ROUNDED: (
        "values are rounded to {0} and computed with",
        "Compute with the original values and convert only the stored result.",
    ),
    CauseKind.TF32: (
        "tl.dot multiplies fp32 as TF32, with 10 bits of mantissa",
        'For fp32 products, write tl.dot(a, b, input_precision="ieee"), or "tf32x3".',
    ),
    CauseKind.IMPRECISE_DOT: (
        "tl.dot adds products of fp8 with less precision than fp32",
        "Pass max_num_imprecise_acc=0 to add them up in fp32.",
    ),
}


def reference_bits(output: OutputOrder, causes: Sequence[Cause] = ()) -> int:
    """Return an upper bound for the mantissa bits of an output's expected elements.

    `causes` are those of the reference, if it is a kernel. The result is 0 for other than floats.
    """
    bits = MANTISSA_BITS.get(output.dtype, 0)
    if output.expected_dtype is not None:
        bits = _REFERENCE_BITS.get(output.expected_dtype, 0)
    if output.expected_bits is not None:
        bits = min(bits, output.expected_bits)
    return min([bits, *(cause.bits for cause in causes)])


def downgrade(
    name: str,
    dtype: str,
    measured: Measured | None,
    causes: Sequence[Cause],
    bits: int,
    tolerance: Tolerance,
) -> Finding | None:
    """Return the finding for the output `name`, None without evidence of a precision loss.

    `bits` are the reference's mantissa bits: it must be more precise than the kernel.
    """
    if measured is None or measured.spread < _MIN_SPREAD:
        return None
    if measured.roundings < _MIN_ROUNDINGS:
        return None
    if measured.reference_is_rounded:
        bits = min(bits, MANTISSA_BITS[dtype])
    shown = [cause for cause in causes if cause.bits < bits and _is_shown_by(cause, measured.error)]
    if not shown:
        return None
    first = shown[0]
    return Finding(
        kind=KIND,
        argument=name,
        file=first.file,
        line=first.line,
        column=first.column,
        message=_message(name, dtype, measured, shown, tolerance),
        measure=_numbers(measured),
    )


def downgrade_by_error(
    name: str, dtype: str, ours: Measured | None, theirs: Measured | None, tolerance: Tolerance
) -> Finding | None:
    """Return the finding that an output is much further from fp64 than its reference is.

    No cause needs to be known. `theirs` is the reference's own error, None if it has none.
    """
    if ours is None or ours.spread < _MIN_SPREAD or ours.roundings < _MIN_ROUNDINGS:
        return None
    bits = MANTISSA_BITS[dtype]
    usual = 0.0 if theirs is None else theirs.error
    factor, least = _FAR_ABOVE if bits >= MANTISSA_BITS["fp32"] else _FAR_ABOVE_IN_HALVES
    if not max(usual * factor, 2.0 ** (least - bits)) < ours.error < _WRONG:
        return None
    known = "no error" if not usual else f"an error of {usual:.1e}"
    message = (
        f"{name} differs from a result in fp64 by a relative error of {ours.error:.1e} (root mean "
        f"square: {-math.log2(ours.error):.1f} of the {bits} bits of {dtype} are right). The "
        f"reference has {known}. {_used(ours, tolerance)}Compute with the reference's precision."
    )
    return Finding(kind=KIND, argument=name, message=message, measure=_numbers(ours))


def _numbers(measured: Measured) -> dict[str, float]:
    """Return the measurements of a finding, rounded to four digits."""
    numbers = {
        "error": measured.error,
        "right_bits": -math.log2(measured.error),
        "roundings": measured.roundings,
        "beyond_one_ulp_ratio": measured.beyond_one_ulp,
        "tolerance_used": measured.tolerance_used,
    }
    return {name: float(f"{value:.4g}") for name, value in numbers.items() if value is not None}


def _is_shown_by(cause: Cause, error: float) -> bool:
    """Return True if a cause can produce an error of this size."""
    most = _MAX_VALUE.get(cause.kind, _MAX_OF_SUMS)
    return 2.0 ** -(cause.bits + _FAINTEST) <= error <= 2.0 ** -(cause.bits - most)


def _message(
    name: str, dtype: str, measured: Measured, causes: Sequence[Cause], tolerance: Tolerance
) -> str:
    what, advice = _WHAT[causes[0].kind]
    others = _others(causes[1:])
    return (
        f"{name} differs from the reference by a relative error of {measured.error:.1e} (root mean "
        f"square: {-math.log2(measured.error):.1f} of the {MANTISSA_BITS[dtype]} bits of {dtype} "
        f"are right; {measured.beyond_one_ulp:.0%} of the elements are off by more than one unit "
        f"in the last place), as {what.format(_named(causes[0]))}{others}. "
        f"{_used(measured, tolerance)}{advice}"
    )


def _others(causes: Sequence[Cause]) -> str:
    """Return the locations of further causes, at most three."""
    others = [
        _WHAT[cause.kind][0].format(_named(cause)) + f" in line {cause.line}"
        for cause in causes[:3]
        if cause.line is not None
    ]
    return f"; also, {'; '.join(others)}" if others else ""


def _used(measured: Measured, tolerance: Tolerance) -> str:
    if measured.tolerance_used is None:
        return ""
    bounds = f"(rtol {tolerance.rtol:g}, atol {tolerance.atol:g})"
    if measured.tolerance_used > 1:
        times = f"{measured.tolerance_used:.2g}"
        return f"The largest difference is {times} times the tolerance {bounds}. "
    return f"That uses {100 * measured.tolerance_used:.2g}% of the tolerance {bounds}. "


def _named(cause: Cause) -> str:
    return _NAMES.get(cause.dtype, cause.dtype)
