"""Default tolerances: the allowed difference between an output and its reference.

An element matches when `|actual - expected| <= atol + rtol * |expected|`.
"""

from launch.messages import Tolerance
from launch.request.element import INTEGER_RANGES

EXACT = Tolerance(0.0, 0.0)
_DEFAULTS = {
    "fp64": Tolerance(1e-10, 1e-12),
    "fp32": Tolerance(1e-4, 1e-5),
    "fp16": Tolerance(1e-2, 1e-3),
    "bf16": Tolerance(2e-2, 1e-2),
    "fp8e4nv": Tolerance(0.125, 2**-6),
    "fp8e4b8": Tolerance(0.125, 2**-6),
    "fp8e4b15": Tolerance(0.125, 2**-6),
    "fp8e5": Tolerance(0.25, 2**-4),
    "fp8e5b16": Tolerance(0.25, 2**-4),
}


def default_tolerance(dtype: str) -> Tolerance:
    """Return the tolerance of outputs of a canonical dtype.

    It allows for another order of summation in the dtype, but not for computing in the next lower
    precision, so that a silent loss of precision shows:

    - fp64: machine epsilon is 2.2e-16; a result that went through fp32 is 6e-8 off.
    - fp32: epsilon is 1.2e-7; sums over a thousand elements differ by about 1e-5, tf32 and fp16
      by 5e-4.
    - fp16: epsilon is 9.8e-4; ten of them, still less than the error of sums in bf16.
    - bf16: epsilon is 7.8e-3; two to three of them, as only the final rounding should be in bf16.
    - fp8: one unit in the last place (2^-3 with three bits of mantissa, 2^-2 with two), because
      values near a rounding boundary may round either way; `atol` covers subnormals.
    - integers and booleans are exact.
    """
    return EXACT if dtype in INTEGER_RANGES else _DEFAULTS[dtype]
