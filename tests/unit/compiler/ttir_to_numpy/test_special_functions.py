"""Functions that NumPy lacks, compared with known values."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from compiler.ttir_to_numpy.runtime import special_functions as special

INF, NAN = math.inf, math.nan
KNOWN: list[tuple[Callable[..., object], tuple[float, ...], float]] = [
    (special.erfcinv, (1e-300,), 26.209469960516124),
    (special.erfcinv, (0.1,), 1.1630871536766743),
    (special.erfcinv, (1.5,), -0.4769362762044699),
    (special.erfinv, (0.5,), 0.4769362762044699),
    (special.erfinv, (-0.999999,), -3.4589107372795),
    (special.erfinv, (1e-9,), 8.862269254527581e-10),
    (special.erfcx, (3.0,), 0.1790011511813899),
    (special.erfcx, (50.0,), 0.011281536265323772),
    (special.normal_cdf, (-8.0,), 6.22096057427178e-16),
    (special.normal_cdf_inverse, (0.001,), -3.090232306167813),
    (special.gamma, (-1.5,), 2.3632718012073544),
    (special.log_gamma, (1e5,), 1051287.7089736538),
    (special.bessel_j, (0, 1.0), 0.7651976865579666),
    (special.bessel_j, (1, 1e-8), 5e-9),
    (special.bessel_j, (5, 51.0), 0.021361209950052594),
    (special.bessel_j, (0, 1000.0), 0.02478668615242880),
    (special.bessel_y, (0, 0.9), 0.005628306635205559),
    (special.bessel_y, (1, 11.9), -0.03471149833403061),
    (special.bessel_y, (5, 11.9), -0.2233058626638331),
    (special.bessel_i, (0, 5.0), 27.239871823604442),
    (special.bessel_i, (1, -3.0), -3.953370217402609),
    (special.difference, (3.0, 1.0), 2.0),
    (special.difference, (1.0, 3.0), 0.0),
    (special.length, (2.0, 3.0, 6.0), 7.0),
    (special.remainder_of, (7.0, 4.0), -1.0),
]


@pytest.mark.parametrize(("function", "arguments", "wanted"), KNOWN)
def test_known_values(
    function: Callable[..., object], arguments: tuple[float, ...], wanted: float
) -> None:
    values = [a if isinstance(a, int) else np.full(3, a) for a in arguments]

    found = function(*values)

    np.testing.assert_allclose(found, np.full(3, wanted), rtol=2e-10)


@pytest.mark.parametrize(
    ("function", "values", "wanted"),
    [
        (special.gamma, [0.0, -0.0, -1, INF, -INF, NAN, 200], [INF, -INF, NAN, INF, NAN, NAN, INF]),
        (special.log_gamma, [0.0, -1, INF, -INF, NAN], [INF, INF, INF, INF, NAN]),
        (special.erfcinv, [0.0, 2, 1, 3, NAN], [INF, -INF, 0, NAN, NAN]),
        (special.erfinv, [1.0, -1, 0, 2, NAN], [INF, -INF, 0, NAN, NAN]),
        (special.exponent, [0.0, 0.75, INF, -INF, NAN], [-INF, -1, INF, INF, NAN]),
        (special.whole_exponent, [0.0, 8, INF, NAN], [-(2**31), 3, 2**31 - 1, -(2**31)]),
        (lambda x: special.bessel_y(1, x), [0.0, -1, INF, NAN], [-INF, NAN, 0, NAN]),
        (lambda x: special.bessel_j(1, x), [0.0, INF, NAN], [0, 0, NAN]),
        (lambda x: special.bessel_i(0, x), [0.0, 1000, NAN], [1, INF, NAN]),
        (lambda x: special.of_half_turns("sin", x), [0.5, 1, 1e6 + 0.5], [1, 0, 1]),
        (lambda x: special.of_half_turns("cos", x), [0.5, 1, -2], [0, -1, 1]),
    ],
)
def test_at_the_edges(
    function: Callable[..., object], values: list[float], wanted: list[float]
) -> None:
    found = function(np.array(values))

    np.testing.assert_allclose(found, wanted, atol=1e-15)
