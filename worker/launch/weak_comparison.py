"""The finding `zeros_match`: a comparison that an output of nothing but zeros would pass, too.

Where every expected value lies within the tolerance of zero, a kernel that writes zeros is as good
as one that computes: KernelBench#165 has one that multiplies by 0 and passes as a softmax.
"""

from launch.messages import Finding
from launch.request.launch_record import Comparison

KIND = "zeros_match"


def weak_comparison(argument: str, comparison: Comparison | None) -> Finding | None:
    """Return what is to be said of a comparison that matches, None where it says enough."""
    if comparison is None or not comparison.matches or not comparison.zeros_match:
        return None
    tolerance = f"atol {comparison.atol:g}" if comparison.atol else "any tolerance"
    message = (
        f"An output of zeros would match {argument}, too: every value that was expected is within "
        f"{tolerance} of zero. Give it other inputs, a smaller `atol`, or `atol_scale: rms`."
    )
    return Finding(kind=KIND, message=message, argument=argument)
