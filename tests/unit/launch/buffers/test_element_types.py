"""Casts are part of the contract: every platform casts a value to the same element."""

import numpy as np
import pytest

from launch.buffers.element_types import STORED, UnknownDtype, cast, readable, stored


@pytest.mark.parametrize(
    ("dtype", "value", "element"),
    [
        ("i8", 300, 44),
        ("i8", 300.7, 127),
        ("i8", -1e9, -128),
        ("i32", -2.9, -2),
        ("i32", float("nan"), 0),
        ("i64", 1e30, 2**63 - 1),
        ("u8", -1, 255),
        ("u8", -1.0, 0),
        ("u64", 2.0**64, 2**64 - 1),
        ("i1", 0.25, 1),
        ("i1", 0, 0),
        ("fp16", 1e6, float("inf")),
        ("fp32", 0.1, float(np.float32(0.1))),
        ("fp64", 0.1, 0.1),
        ("bf16", 1.00390625, 1.0),
        ("fp8e4nv", 1e6, 448.0),
        ("fp8e4nv", -1e6, -448.0),
        ("fp8e5", 1e6, 57344.0),
        ("fp8e5", float("inf"), float("inf")),
        ("fp8e4b8", 1e6, 240.0),
        ("fp8e5b16", 0.3, 0.3125),
    ],
)
def test_a_value_becomes_an_element(dtype, value, element):
    made = cast(np.array([value]), dtype)
    assert made.dtype == stored(dtype)
    assert float(made[0]) == float(element)


@pytest.mark.parametrize("dtype", STORED)
def test_readable_elements_are_exact_and_numpy_s_own(dtype):
    elements = cast(np.array([0.0, 1.0, 2.0]), dtype)
    shown = readable(elements, dtype)
    assert shown.dtype.isbuiltin == 1
    assert shown.astype(np.float64).tolist() == [0, 1, 1 if dtype in {"i1", "u1"} else 2]


def test_a_type_that_numpy_cannot_hold():
    with pytest.raises(UnknownDtype, match="cannot have dtype 'fp8e4b15'"):
        stored("fp8e4b15")
