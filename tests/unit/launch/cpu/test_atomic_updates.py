"""Batched atomics leave the same memory as atomics executed one after the other."""

import ml_dtypes
import numpy as np
import pytest

from compiler.ttir_to_numpy.runtime.memory import ATOMICS
from launch.cpu import atomic_updates

RANDOM = np.random.default_rng(7)
INTEGERS = ("add", "and", "or", "xor", "max", "min", "umax", "umin", "xchg")
CASES = [(kind, np.int32) for kind in INTEGERS] + [
    (kind, dtype)
    for kind in ("add", "max", "min", "xchg")
    for dtype in (np.float32, np.float16, np.float64)
]
CASES += [("add", ml_dtypes.bfloat16), ("xchg", ml_dtypes.bfloat16), ("add", np.int64)]


def one_by_one(kind, elements, index, values):
    before = []
    for at, value in zip(index, values, strict=True):
        before.append(elements[at])
        elements[at] = ATOMICS[kind](elements[at], value)
    return np.array(before, elements.dtype)


@pytest.mark.parametrize("places", [5, 1, 1000], ids=["many meet", "all meet", "few meet"])
@pytest.mark.parametrize(("kind", "dtype"), CASES, ids=lambda case: getattr(case, "__name__", case))
def test_an_update(kind, dtype, places):
    elements = (RANDOM.standard_normal(places) * 1000).astype(dtype)
    index = RANDOM.integers(0, places, 60)
    values = (RANDOM.standard_normal(60) * 1000).astype(dtype)
    wanted = elements.copy()
    with np.errstate(over="ignore"):
        before = one_by_one(kind, wanted, index, values)
        quick, fetched = elements.copy(), elements.copy()
        atomic_updates.update(kind, quick, index, values)
        met = atomic_updates.fetch_and_update(kind, fetched, index, values)
    assert quick.tobytes() == fetched.tobytes() == wanted.tobytes()
    assert met.tobytes() == before.tobytes()


def test_no_lanes_change_nothing():
    elements, none = np.ones(3, np.float32), np.zeros(0, np.int64)
    met = atomic_updates.fetch_and_update("add", elements, none, np.zeros(0, np.float32))
    assert (met.size, elements.tolist()) == (0, [1, 1, 1])


def test_an_operation_that_there_is_not():
    with pytest.raises(atomic_updates.UnknownAtomic, match="'nand'"):
        atomic_updates.update(
            "nand", np.zeros(1, np.int32), np.zeros(1, int), np.zeros(1, np.int32)
        )


def test_the_first_lane_that_meets_what_it_expects_swaps():
    elements = np.zeros(2, np.int32)
    lanes, wanted = np.array([0, 0, 1, 0]), np.array([0, 0, 0, 7], np.int32)
    met = atomic_updates.compare_and_swap(elements, lanes, wanted, np.array([7, 8, 9, 5], np.int32))
    assert (met.tolist(), elements.tolist()) == ([0, 7, 0, 7], [5, 9])


def test_bits_are_compared_and_not_numbers():
    elements = np.array([-0.0, np.nan], np.float32)
    wanted = np.array([0.0, np.nan], np.float32)
    atomic_updates.compare_and_swap(elements, np.array([0, 1]), wanted, np.ones(2, np.float32))
    assert elements.tobytes() == np.array([-0.0, 1.0], np.float32).tobytes()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
@pytest.mark.parametrize("kind", ["max", "min"])
def test_zeros_that_meet_keep_their_order(kind, dtype):
    held = np.array([0.0, -0.0, 0.0, -0.0, -1.0, np.nan], dtype)
    index = np.array([0, 1, 2, 3, 4, 4, 5, 5, 4])
    values = np.array([-0.0, 0.0, 0.0, -0.0, -0.0, 0.0, -0.0, 0.0, -0.0], dtype)
    wanted, quick, fetched = held.copy(), held.copy(), held.copy()

    with np.errstate(invalid="ignore"):
        before = one_by_one(kind, wanted, index, values)
        atomic_updates.update(kind, quick, index, values)
        met = atomic_updates.fetch_and_update(kind, fetched, index, values)

    is_max = kind == "max"
    assert np.signbit(wanted).tolist() == [not is_max, not is_max, False, True, *[not is_max] * 2]
    assert quick.tobytes() == fetched.tobytes() == wanted.tobytes()
    assert met.tobytes() == before.tobytes()
