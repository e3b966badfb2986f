"""Poison distinguishes unwritten elements from those that a kernel wrote."""

import numpy as np
import pytest

from launch.buffers.element_types import STORED, is_float, poisoned, readable, stored, unwritten
from launch.messages import Tolerance
from launch.reference.comparison import comparison
from launch.reference.difference import Unwritten

LOOSE = Tolerance(rtol=1e300, atol=1e300, equal_nan=True, max_mismatched_ratio=1)


@pytest.mark.parametrize("dtype", STORED)
def test_memory_is_poisoned_in_every_type(dtype):
    memory = poisoned(5, stored(dtype))
    assert unwritten(memory).tolist() == [True] * 5
    memory[2] = 0
    assert unwritten(memory).tolist() == [True, True, False, True, True]


@pytest.mark.parametrize("dtype", [name for name in STORED if is_float(name)])
def test_an_unwritten_float_is_nan(dtype):
    assert np.isnan(readable(poisoned(3, stored(dtype)), dtype)).all()


def test_an_ordinary_nan_was_written():
    assert not unwritten(np.array([np.nan, 1], np.float32)).any()


@pytest.mark.parametrize(("dtype", "answer"), [("i32", -1), ("i64", -1), ("u8", 255), ("i8", -1)])
def test_an_answer_of_all_ones_was_written(dtype, answer):
    assert not unwritten(np.full(3, answer, stored(dtype))).any()


@pytest.mark.parametrize(
    ("dtype", "expected"), [("i1", True), ("i32", -1), ("i64", -1), ("u8", 255), ("i8", 0)]
)
def test_a_kernel_that_writes_nothing_matches_nothing(dtype, expected):
    numbers = np.full(3, expected, np.bool_ if dtype == "i1" else np.int64)
    memory = poisoned(3, stored(dtype))
    found = comparison(memory, numbers, LOOSE, dtype, missing=Unwritten(unwritten(memory)))
    assert (found["matches"], found["mismatched"], found["unwritten"]) == (False, 3, 3)


def test_an_unwritten_boolean_is_shown_as_its_byte():
    memory = poisoned(1, stored("i1"))
    found = comparison(memory, np.array([True]), LOOSE, "i1", missing=Unwritten(unwritten(memory)))
    assert found["first_mismatch"] == {"index": [0], "actual": 0xAB, "expected": True}


def test_any_byte_but_zero_is_true():
    found = comparison(
        np.array([0, 1, 2], np.uint8), np.array([False, True, True]), Tolerance(), "i1"
    )
    assert found["matches"]
