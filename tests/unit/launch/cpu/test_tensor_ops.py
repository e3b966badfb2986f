"""Tensor operations on a batch of programs; some programs share one tensor."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from compiler.ttir_to_numpy.runtime import tensor_ops as of_one
from compiler.ttir_to_numpy.runtime.scaled_dot import dot_scaled
from launch.cpu import tensor_ops

RANDOM = np.random.default_rng(2)


def larger(value: Any, index: Any, other: Any, at: Any) -> Any:
    """Return the larger value and its index."""
    is_first = value > other
    return np.where(is_first, value, other), np.where(is_first, index, at)


@pytest.mark.parametrize("function", ["reduce", "scan"])
def test_tensors_of_all_programs_and_of_each_are_combined_together(function: str) -> None:
    values, index = RANDOM.standard_normal((3, 8, 2)), np.arange(16).reshape(1, 8, 2)
    more = (False,) if function == "scan" else ()

    found = getattr(tensor_ops, function)(larger, 0, *more, values, index)

    for program in range(3):
        wanted = getattr(of_one, function)(larger, 0, *more, values[program], index[0])
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one[program], other)


@pytest.mark.parametrize("function", ["reduce", "scan"])
def test_a_combine_function_may_use_a_value_of_each_program(function: str) -> None:
    values, factor = RANDOM.standard_normal((1, 8)), np.array([1.0, 2.0, 3.0])
    more = (False,) if function == "scan" else ()

    found = getattr(tensor_ops, function)(lambda a, b: a * factor + b, 0, *more, values)

    for program in range(3):
        wanted = getattr(of_one, function)(
            lambda a, b, program=program: a * factor[program] + b, 0, *more, values[0]
        )
        np.testing.assert_array_equal(found[program], wanted)


@pytest.mark.parametrize("precision", ["ieee", "tf32", "tf32x3", "bf16x3", "bf16x6"])
def test_products_are_the_same_as_those_of_one_program(precision: str) -> None:
    a = RANDOM.standard_normal((3, 16, 8)).astype(np.float32)
    b = RANDOM.standard_normal((1, 8, 16)).astype(np.float32)
    c = np.zeros((1, 16, 16), np.float32)

    found = of_one.dot(a, b, c, precision)

    for program in range(3):
        wanted = of_one.dot(a[program], b[0], c[0], precision)
        np.testing.assert_allclose(found[program], wanted, rtol=1e-6, atol=1e-6)
    bits = {"tf32": 3e-2, "bf16x3": 1e-3}.get(precision, 1e-5)
    np.testing.assert_allclose(found, a.astype(np.float64) @ b, atol=bits)


def test_bytes_are_multiplied_exactly() -> None:
    a = RANDOM.integers(-128, 128, (2, 16, 512)).astype(np.int8)
    b = RANDOM.integers(-128, 128, (2, 512, 16)).astype(np.int8)
    c = np.full((1, 16, 16), 2**31 - 1, np.int32)

    found = of_one.dot(a, b, c)

    exact = a.astype(np.int64) @ b.astype(np.int64) + (2**31 - 1)
    np.testing.assert_array_equal(found, (exact + 2**31) % 2**32 - 2**31)


@pytest.mark.parametrize("packed", [True, False])
def test_fp4_is_scaled_in_blocks(packed: bool) -> None:
    """FP4 packs two elements in a byte, along the inner or the outer axis."""
    sizes = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    nibbles = RANDOM.integers(0, 16, (2, 32, 64))
    exact = np.where(nibbles & 8, -1, 1) * sizes[nibbles & 7]
    low, high = (
        (nibbles[..., ::2], nibbles[..., 1::2]) if packed else (nibbles[:, ::2], nibbles[:, 1::2])
    )
    a = (low | high << 4).astype(np.uint8).view(np.int8)
    b = RANDOM.standard_normal((1, 64, 16)).astype(ml_dtypes.bfloat16)
    scale = RANDOM.integers(120, 132, (1, 32, 2)).astype(np.uint8).view(np.int8)
    c = np.ones((1, 32, 16), np.float32)

    found = dot_scaled(a, b, c, kinds=("e2m1", "bf16"), scales=(scale, None), packed=(packed, True))

    exponents = scale.view(np.uint8).astype(int) - 127
    wanted = (exact * np.repeat(2.0**exponents, 32, -1)) @ b.astype(float) + 1
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-3)
