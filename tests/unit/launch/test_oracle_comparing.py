"""Agreement between a GPU and the CPU device."""

from typing import Any

import numpy as np

from tests.gpu.oracle.comparing import agreement, is_exact


def compared(gpu: Any, here: Any, dtype: str = "fp32", ir: str = "arith.addf") -> Any:
    case = {"id": "made.up", "allocations": [{"name": "z", "dtype": dtype}]}
    kind = {"fp32": np.float32, "i32": np.int32}[dtype]
    before, theirs, ours = (np.array(one, kind) for one in ([9] * len(gpu), gpu, here))
    return agreement(case, "cpu", ir, {"z": before}, {"z": theirs}, {"z": ours})


def test_equal_bits_agree_and_nan_equals_nan() -> None:
    found = compared([1.0, np.nan], [1.0, -np.nan])

    assert (found.state, found.of) == ("bits", 2)


def test_a_difference_within_the_default_tolerance_is_reported() -> None:
    found = compared([1.0, 2.0], [1.0, 2.0001])

    assert (found.state, found.differing) == ("tolerance", 0)
    assert 0 < found.worst < 1


def test_a_difference_beyond_it_names_the_worst_element() -> None:
    found = compared([1.0, 2.0, np.inf], [1.1, 3.0, np.inf])

    assert (found.state, found.differing) == ("differs", 2)
    assert (found.first["element"], found.first["here"]) == (1, "3.0")


def test_integers_have_no_tolerance() -> None:
    assert compared([1_000_000], [1_000_001], "i32").state == "differs"


def test_unchanged_elements_are_not_counted() -> None:
    assert compared([9.0, 1.0], [9.0, 1.0]).of == 1


def test_sums_roots_and_products_that_are_added_need_not_be_exact() -> None:
    assert is_exact("%0 = arith.addf\n%1 = tt.load")
    assert not is_exact("%0 = arith.mulf\n%1 = arith.addf")
    assert not is_exact("%0 = math.sqrt %x")
    assert not is_exact('%0 = "tt.reduce"\n%1 = arith.addf')
