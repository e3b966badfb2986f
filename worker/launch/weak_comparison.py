"""The finding `zeros_match`: an output of zeros would pass the comparison too.

If every expected value is within the tolerance of zero, the comparison cannot distinguish a kernel
that writes zeros: one of KernelBench#165 multiplies by 0 and passes as a softmax.
"""

from launch.messages import Finding
from launch.request.launch_record import Comparison

KIND = "zeros_match"


def weak_comparison(argument: str, comparison: Comparison | None) -> Finding | None:
    """Return the finding for a comparison that zeros would pass, None for other comparisons."""
    if comparison is None or not comparison.matches or not comparison.zeros_match:
        return None
    tolerance = f"atol {comparison.atol:g}" if comparison.atol else "any tolerance"
    message = (
        f"An output of zeros would match {argument} too: every expected value is within "
        f"{tolerance} of zero. Choose other inputs, a smaller `atol`, or `atol_scale: rms`."
    )
    return Finding(kind=KIND, message=message, argument=argument)
