"""Functions of libdevice that NumPy lacks: error functions, gamma, Bessel, and exact small ones.

All compute in fp64, to a few units of its last place; Bessel functions to ten digits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def each(function: Any) -> Any:
    """Return `function` of one float for arrays; where it raises ValueError it is NaN."""

    def guarded(*values: float) -> float:
        try:
            return float(function(*values))
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return np.vectorize(guarded, otypes=[np.float64])


erf_of = np.vectorize(math.erf, otypes=[np.float64])
erfc_of = np.vectorize(math.erfc, otypes=[np.float64])
gamma_of = each(math.gamma)
log_gamma_of = each(math.lgamma)
remainder_of = each(math.remainder)


def erf(value: Any) -> Any:
    """Return the error function."""
    return erf_of(value).astype(np.asarray(value).dtype)[()]


def erfc(value: Any) -> Any:
    """Return one less the error function."""
    return erfc_of(value).astype(np.asarray(value).dtype)[()]


def erfcx(value: Any) -> Any:
    """Return `erfc`, times `exp(x * x)`."""
    x = np.asarray(value, np.float64)
    far = np.maximum(x, 20.0)
    inverse = 1 / (2 * far * far)
    tail = 1 - inverse * (1 - 3 * inverse * (1 - 5 * inverse * (1 - 7 * inverse)))
    near = np.exp(np.minimum(x, 20.0) ** 2) * erfc_of(np.minimum(x, 20.0))
    return np.where(x > 20.0, tail / (far * math.sqrt(math.pi)), near)[()]


def erfcinv(value: Any) -> Any:
    """Return where `erfc` is `value`: Newton's steps on its logarithm."""
    whole = np.asarray(value, np.float64)
    z = np.clip(np.where(whole > 1, 2 - whole, whole), 5e-324, 1.0)
    log = np.log(z)
    x = np.where(z > 0.5, (1 - z) * math.sqrt(math.pi) / 2, np.sqrt(np.maximum(-log - 0.7, 0.1)))
    for _ in range(12):
        tail = np.maximum(erfc_of(x), 5e-324)
        step = (np.log(tail) - log) * tail * np.exp(np.minimum(x * x, 700)) * math.sqrt(math.pi) / 2
        x = np.clip(x + step, 0.0, 27.3)
    x = np.where(whole > 1, -x, x)
    x = np.where(whole == 0, np.inf, np.where(whole == 2, -np.inf, x))
    return np.where((whole >= 0) & (whole <= 2), x, np.nan)[()]


def erfinv(value: Any) -> Any:
    """Return where the error function is `value`."""
    y = np.asarray(value, np.float64)
    small = y * math.sqrt(math.pi) / 2
    for _ in range(6):
        small = small - (erf_of(small) - y) * np.exp(np.minimum(small * small, 50)) * (
            math.sqrt(math.pi) / 2
        )
    far = np.copysign(erfcinv(1 - np.abs(y)), y)
    return np.where(np.abs(y) < 0.4, small, far)[()]


def normal_cdf(value: Any) -> Any:
    """Return the probability of less than `value` in a standard normal distribution."""
    return erfc_of(-np.asarray(value, np.float64) / math.sqrt(2))[()] / 2


def normal_cdf_inverse(value: Any) -> Any:
    """Return the quantile of a standard normal distribution."""
    return -math.sqrt(2) * erfcinv(2 * np.asarray(value, np.float64))


def gamma(value: Any) -> Any:
    """Return the gamma function; NaN at negative whole numbers."""
    x = np.asarray(value, np.float64)
    return np.where(x == 0, np.copysign(np.inf, x), gamma_of(np.where(x == 0, 1.0, x)))[()]


def log_gamma(value: Any) -> Any:
    """Return the logarithm of the gamma function's size; infinite where that is."""
    x = np.asarray(value, np.float64)
    is_pole = (x <= 0) & (np.trunc(x) == x)
    return np.where(is_pole | np.isinf(x), np.inf, log_gamma_of(np.where(is_pole, 1.0, x)))[()]


def bessel_i(order: int, value: Any) -> Any:
    """Return the modified Bessel function of order 0 or 1: its integral over a period."""
    x = np.asarray(value, np.float64)
    size = np.minimum(np.abs(x), 720.0)[..., None]
    angle = (np.arange(400) + 0.5) * (math.pi / 400)
    scaled = (np.exp(size * (np.cos(angle) - 1)) * np.cos(order * angle)).mean(-1)
    result = np.exp(np.minimum(np.abs(x), 720.0)) * scaled
    return np.where(np.isnan(x), np.nan, result * (np.sign(x) if order % 2 else 1.0))[()]


def bessel_asymptote(order: int, size: Any) -> Any:
    """Return Bessel functions of both kinds far from zero (Hankel's expansion)."""
    mu, term = 4.0 * order * order, np.ones_like(size)
    p, q = np.ones_like(size), np.zeros_like(size)
    for k in range(1, 24):
        new = term * (mu - (2 * k - 1) ** 2) / (k * 8 * size)
        term = np.where(np.abs(new) < np.abs(term), new, 0.0)
        if k % 2:
            q = q + (1 if k % 4 == 1 else -1) * term
        else:
            p = p + (1 if k % 4 == 0 else -1) * term
    angle = size - (order / 2 + 0.25) * math.pi
    scale = np.sqrt(2 / (math.pi * size))
    cos, sin = np.cos(angle), np.sin(angle)
    return scale * (p * cos - q * sin), scale * (p * sin + q * cos)


def bessel_j_series(order: int, size: Any) -> Any:
    """Return the Bessel function of the first kind: its series near zero, else its integral."""
    half = np.minimum(size, 1.0) / 2
    term = half ** abs(order) / math.gamma(min(abs(order), 169) + 1)
    near = np.zeros_like(size)
    for k in range(12):
        near = near + term
        term = -term * half * half / ((k + 1) * (k + 1 + abs(order)))
    near = near * (-1.0 if order < 0 and order % 2 else 1.0)
    angle = (np.arange(256) + 0.5) * (math.pi / 256)
    far = np.cos(order * angle - size[..., None] * np.sin(angle)).mean(-1)
    return np.where(size < 1, near, far)


def bessel_y_series(order: int, size: Any) -> Any:
    """Return the Bessel function of the second kind, order 0 or 1, near zero: by its series."""
    half, euler = size / 2, 0.5772156649015329
    total, term, harmonic = np.zeros_like(size), np.ones_like(size), 0.0
    for k in range(60):
        weight = 2 * harmonic + (1 / (k + 1) if order else 0.0)
        total = total + term * weight
        harmonic += 1 / (k + 1)
        term = -term * half * half / ((k + 1) * (k + 1 + order))
    log = 2 / math.pi * (np.log(half) + euler) * bessel_j_series(order, size)
    if order == 0:
        return log - total / math.pi
    return log - total * half / math.pi - 1 / (math.pi * half)


def bessel_j(order: Any, value: Any) -> Any:
    """Return the Bessel function of the first kind and of a whole order."""
    orders, x = np.broadcast_arrays(np.asarray(order), np.asarray(value, np.float64))
    result = np.zeros(x.shape)
    for n in np.unique(orders):
        size = np.abs(x)
        near = bessel_j_series(int(n), np.minimum(size, 60.0 + abs(int(n))))
        far, _ = bessel_asymptote(abs(int(n)), np.maximum(size, 25.0))
        far = far * (-1.0 if n < 0 and n % 2 else 1.0)
        here = np.where(size < 50 + n * n, near, far)
        here = np.where(np.isinf(x), 0.0, here * np.where((x < 0) & bool(n % 2), -1.0, 1.0))
        result = np.where(orders == n, here, result)
    return result[()]


def bessel_y(order: Any, value: Any) -> Any:
    """Return the Bessel function of the second kind and of a whole order, by recurrence."""
    orders, x = np.broadcast_arrays(np.asarray(order), np.asarray(value, np.float64))
    size = np.where(x > 0, x, 1.0)
    kinds = [
        np.where(size < 12, bessel_y_series(n, np.minimum(size, 12.0)),
                 bessel_asymptote(n, np.maximum(size, 12.0))[1])
        for n in (0, 1)
    ]  # fmt: skip
    result = np.where(orders == 0, kinds[0], kinds[1])
    for n in range(1, int(np.max(np.abs(orders), initial=1))):
        kinds = [kinds[1], 2 * n / size * kinds[1] - kinds[0]]
        result = np.where(np.abs(orders) == n + 1, kinds[1], result)
    result = np.where((orders < 0) & (orders % 2 != 0), -result, result)
    result = np.where(np.isposinf(x), 0.0, result)
    return np.where(x > 0, result, np.where(x == 0, -np.inf, np.nan))[()]


def fast_power(a: Any, b: Any) -> Any:
    """Return a power by way of logarithms: NaN of a negative base."""
    return np.exp2(np.multiply(b, np.log2(a)))


def of_half_turns(function: str, value: Any) -> Any:
    """Return "sin" or "cos" of `value` times pi, exact at every half."""
    x = np.remainder(np.asarray(value, np.float64), 2.0)
    quarter = np.rint(2 * x)
    rest = (x - quarter / 2) * math.pi
    turn = (quarter + (function == "cos")) % 4
    sin, cos = np.sin(rest), np.cos(rest)
    return np.where(turn == 0, sin, np.where(turn == 1, cos, np.where(turn == 2, -sin, -cos)))[()]


def exponent(value: Any) -> Any:
    """Return the exponent of floats as floats: -inf of 0, inf of an infinity."""
    x = np.asarray(value, np.float64)
    exponents = np.frexp(x)[1] - 1.0
    return np.where(x == 0, -np.inf, np.where(np.isfinite(x), exponents, np.abs(x)))[()]


def whole_exponent(value: Any) -> Any:
    """Return the exponent of floats as int32: the least one of 0 and of NaN."""
    exponents = exponent(value)
    limits = np.iinfo(np.int32)
    known = np.clip(np.where(np.isnan(exponents), -np.inf, exponents), limits.min, limits.max)
    return known.astype(np.int32)[()]


def length(*parts: Any) -> Any:
    """Return the length of a vector."""
    total: Any = np.float64(0)
    for part in parts:
        total = np.hypot(total, np.asarray(part, np.float64))
    return total


def difference(a: Any, b: Any) -> Any:
    """Return `a - b` where that is positive, else 0; NaN stays."""
    return np.where(np.less_equal(a, b), np.zeros_like(a), np.subtract(a, b))[()]
