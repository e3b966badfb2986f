"""fp32 to fp16 equals NumPy's cast bit by bit, without its slow underflow path."""

from __future__ import annotations

import numpy as np

from launch.cpu.tensor_ops import to_half


def test_every_half_and_what_lies_between_two_of_them() -> None:
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    exact = halves.astype(np.float32)
    bits = exact.view(np.uint32)
    between = [(bits + np.uint32(step)).view(np.float32) for step in (1, 0x7FF, 0x1000, 0x1001)]
    given = np.concatenate([exact, *between])[None]
    numbers = given[~np.isnan(given)]

    with np.errstate(all="ignore"):
        wanted = numbers.astype(np.float16)
        found = to_half(numbers)

    np.testing.assert_array_equal(found.view(np.uint16), wanted.view(np.uint16))
    assert np.isnan(to_half(np.array([np.nan, 1e-8], np.float32))[0])


def test_subnormals_round_to_nearest_even() -> None:
    random = np.random.default_rng(0)
    given = (random.standard_normal(100_000) * 10.0 ** random.uniform(-9, -3, 100_000)).astype(
        np.float32
    )

    with np.errstate(all="ignore"):
        wanted = given.astype(np.float16)

    np.testing.assert_array_equal(to_half(given).view(np.uint16), wanted.view(np.uint16))
