"""Explains small mismatches: arithmetic of lower precision, or sums in another order.

Never changes what matches; it only says what a person would otherwise have to work out.
"""

from collections.abc import Mapping

from compiler.compilation import Compilation, amended
from launch.request.launch_record import Comparison, Output, Summary
from store.blobs import Blobs
from worker.launch.run import PreparedRun

_SPACING = {"fp64": 2.0**-52, "fp32": 2.0**-23, "fp16": 2.0**-10, "bf16": 2.0**-7}
"""Between 1 and the next number, of every type whose rounding is told apart from a mistake."""
_MOST_ROUNDINGS = 64
_TF32_SHARE = 2.0**-8
"""Of the largest element: products of 11 bits, summed up, differ by less."""
_DOT, _TF32 = b"tt.dot", b"inputPrecision = tf32"


async def explain(
    outputs: Mapping[str, Output], run: PreparedRun, compilation: Compilation | None, blobs: Blobs
) -> dict[str, Output]:
    """Return `outputs` with a note on every comparison that fails by no more than rounding."""
    failed = [one for one in outputs.values() if one.comparison and not one.comparison.matches]
    is_tf32 = bool(failed) and await _uses_tf32(compilation, blobs)
    return {
        name: _annotate(output, run.bound.outputs[name].dtype, is_tf32=is_tf32)
        for name, output in outputs.items()
    }


async def _uses_tf32(compilation: Compilation | None, blobs: Blobs) -> bool:
    artifact = compilation.artifacts.get("ttir") if compilation is not None else None
    text = await blobs.get(artifact.digest) if artifact is not None else None
    return text is not None and uses_tf32(text)


def uses_tf32(ttir: bytes) -> bool:
    """Whether a line of `ttir` multiplies fp32 as TF32. The text may be anybody's: one pass."""
    at = ttir.find(_DOT)
    while at >= 0:
        end = ttir.find(b"\n", at)
        end = len(ttir) if end < 0 else end
        if ttir.find(_TF32, at, end) >= 0:
            return True
        at = ttir.find(_DOT, end)
    return False


def _annotate(output: Output, dtype: str, *, is_tf32: bool) -> Output:
    comparison = output.comparison
    if comparison is None or comparison.matches or comparison.nonfinite_mismatched:
        return output
    if comparison.note is not None:
        return output
    note = _note(comparison, _scale(output.summary), dtype, is_tf32=is_tf32)
    return amended(output, comparison=amended(comparison, note=note))


def _scale(summary: Summary | None) -> float:
    """Return the largest magnitude of an output, 0 where it is not known."""
    if summary is None:
        return 0.0
    return max(
        (abs(float(one)) for one in (summary.min, summary.max) if one is not None), default=0
    )


def _note(comparison: Comparison, scale: float, dtype: str, *, is_tf32: bool) -> str | None:
    error = float(comparison.max_abs_error or 0)
    if not scale or dtype not in _SPACING:
        return None
    share = error / scale
    roundings = share / _SPACING[dtype]
    least = f"It would match with atol {error:.1e} and the same rtol."
    if roundings <= _MOST_ROUNDINGS:
        return (
            f"The largest difference, {error:.2g}, is {max(1, round(roundings))} times the spacing "
            f"of {dtype} at the output's largest element: what adding in another order, or fusing "
            f"multiplications and additions, gives. {least}"
        )
    if is_tf32 and share <= _TF32_SHARE:
        return (
            f"The largest difference, {error:.2g}, is {share:.1e} of the output's largest element: "
            "tl.dot multiplies fp32 as TF32, with 10 bits of mantissa, and adds in an order of its "
            f'own. Write tl.dot(a, b, input_precision="ieee") for products of fp32. {least}'
        )
    return None
