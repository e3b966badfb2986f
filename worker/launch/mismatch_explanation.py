"""Explains small mismatches: arithmetic of lower precision, or sums in another order.

The notes never change whether an output matches. For a loss of precision they refer to the finding
`precision_downgrade`.
"""

from collections.abc import Collection, Mapping

from compiler.compilation import amended
from launch.request.launch_record import Comparison, Output, Summary
from worker.launch.run import PreparedRun

_SPACING = {"fp64": 2.0**-52, "fp32": 2.0**-23, "fp16": 2.0**-10, "bf16": 2.0**-7}
"""The distance from 1 to the next number, for types whose rounding errors are explained."""
_MAX_ROUNDINGS = 64
_NAN_BESIDE_NAN = (
    "The first mismatch is NaN in both the output and the reference: NaN is not equal to NaN, as "
    "with torch.allclose. Choose inputs for which the reference returns numbers."
)


def explain(
    outputs: Mapping[str, Output], run: PreparedRun, downgraded: Collection[str]
) -> dict[str, Output]:
    """Return `outputs` with a note on each comparison that fails only by rounding.

    `downgraded` are the outputs with a finding `precision_downgrade`.
    """
    return {
        name: _annotate(output, run.bound.outputs[name].dtype, is_downgraded=name in downgraded)
        for name, output in outputs.items()
    }


def _annotate(output: Output, dtype: str, *, is_downgraded: bool) -> Output:
    comparison = output.comparison
    if comparison is None:
        return output
    explained = annotated(comparison, output.summary, dtype, is_downgraded=is_downgraded)
    return amended(output, comparison=explained)


def annotated(
    comparison: Comparison, summary: Summary | None, dtype: str, *, is_downgraded: bool
) -> Comparison:
    """Return a comparison of an output of `dtype`, with a note on rounding alone, or on NaN."""
    if comparison.matches or comparison.note is not None:
        return comparison
    if comparison.nonfinite_mismatched:
        first = comparison.first_mismatch
        are_nan = first is not None and str(first.actual) == str(first.expected) == "NaN"
        return amended(comparison, note=_NAN_BESIDE_NAN) if are_nan else comparison
    note = _note(comparison, _scale(summary), dtype, is_downgraded=is_downgraded)
    return amended(comparison, note=note)


def _scale(summary: Summary | None) -> float:
    """Return the largest magnitude of an output, 0 if unknown."""
    if summary is None:
        return 0.0
    return max(
        (abs(float(bound)) for bound in (summary.min, summary.max) if bound is not None), default=0
    )


def _note(comparison: Comparison, scale: float, dtype: str, *, is_downgraded: bool) -> str | None:
    error = float(comparison.max_abs_error or 0)
    # five percent more, so that rounding the printed number does not make it too small
    least = (
        f"It would match with atol {1.05 * error:.1e} and the same rtol (the request's tolerance)."
    )
    if is_downgraded:
        return f"The kernel loses precision: see the finding precision_downgrade. {least}"
    if not scale or dtype not in _SPACING:
        return None
    roundings = error / scale / _SPACING[dtype]
    if roundings > _MAX_ROUNDINGS:
        return None
    return (
        f"The largest difference, {error:.2g}, is {max(1, round(roundings))} times the spacing "
        f"of {dtype} at the output's largest element. Summation in another order, or fused "
        f"multiplication and addition, causes such differences. {least}"
    )
