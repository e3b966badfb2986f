"""Comparisons of outputs with expectations, on numbers that one can check by hand."""

import ml_dtypes
import numpy as np
import pytest

from launch.messages import Tolerance
from launch.reference.comparison import STRETCH, comparison, summary
from launch.reference.difference import Unwritten

EXACT = Tolerance()


def compared(actual, expected, dtype=np.float64, **tolerance):
    return comparison(np.array(actual, dtype), np.array(expected, dtype), Tolerance(**tolerance))


def test_equal_arrays_match_without_any_tolerance():
    assert compared([1, 2], [1, 2]) == {
        "matches": True, "max_abs_error": 0.0, "max_rel_error": 0.0, "compared": 2, "mismatched": 0,
        "nonfinite_mismatched": 0, "unwritten": 0, "first_mismatch": None, "mismatch_map": None,
        "zeros_match": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("expected", "atol", "zeros_match"),
    [
        ([1e-4, -1e-4], 1e-2, True),
        ([1e-4, 1e-1], 1e-2, False),
        ([0, 0], 0, True),
        ([0, np.nan], 1, False),
        ([1e-4] * 20_000 + [1], 1e-2, False),
    ],
)
def test_it_is_said_whether_zeros_would_match_too(expected, atol, zeros_match):
    found = compared(expected, expected, atol=atol, equal_nan=True)

    assert found["matches"]
    assert found["zeros_match"] is zeros_match
    assert compared(np.zeros(len(expected)), expected, atol=atol)["matches"] is zeros_match


@pytest.mark.parametrize(("factor", "matches"), [(1.0, True), (0.0, False), (1.005, True)])
def test_an_atol_of_rms_is_in_units_of_what_is_expected(factor, matches):
    softmax = np.full((16, 8192), 1 / 8192)

    found = compared(softmax * factor, softmax, atol=1e-2, atol_scale="rms")

    assert found["matches"] is matches
    assert compared(softmax * factor, softmax, atol=1e-2)["matches"], "absolute tells nothing"
    assert not found["zeros_match"]


def test_what_is_not_finite_does_not_count_for_the_rms():
    found = compared([2.0, np.inf], [1.0, np.inf], atol=0.5, atol_scale="rms")

    assert found["mismatched"] == 1


def test_errors_are_the_largest_and_the_mismatch_the_first():
    found = compared([[1, 2, 3], [4, 5, 9]], [[1, 2.5, 3], [4, 4, 8]])
    assert found["max_abs_error"] == 1
    assert found["max_rel_error"] == 0.25
    assert found["mismatched"] == 3
    assert found["first_mismatch"] == {"index": [0, 1], "actual": 2.0, "expected": 2.5}


@pytest.mark.parametrize(
    ("atol", "rtol", "matches"), [(0.5, 0, True), (0.4, 0, False), (0.4, 0.01, True)]
)
def test_tolerance_is_absolute_plus_relative_to_the_reference(atol, rtol, matches):
    assert compared([10.5], [10], atol=atol, rtol=rtol)["matches"] is matches


@pytest.mark.parametrize(
    ("actual", "expected", "equal_nan", "matches"),
    [
        (np.nan, np.nan, False, False),
        (np.nan, np.nan, True, True),
        (np.inf, np.inf, False, True),
        (np.inf, -np.inf, False, False),
        (np.nan, 1, True, False),
        (1, np.inf, True, False),
    ],
)
def test_elements_that_are_not_finite(actual, expected, equal_nan, matches):
    found = compared([0, actual], [0, expected], equal_nan=equal_nan, atol=1e9, rtol=1e9)
    assert found["matches"] is matches
    assert found["nonfinite_mismatched"] == (0 if matches else 1)
    assert found["max_abs_error"] == 0


def test_a_few_mismatches_may_be_allowed_but_never_one_that_is_not_finite():
    expected = np.zeros(10)
    wrong = np.zeros(10)
    wrong[3] = 1
    assert comparison(wrong, expected, Tolerance(max_mismatched_ratio=0.1))["matches"] is True
    assert comparison(wrong, expected, Tolerance(max_mismatched_ratio=0.09))["matches"] is False
    wrong[3] = np.nan
    assert comparison(wrong, expected, Tolerance(max_mismatched_ratio=1))["matches"] is False


def test_numbers_that_json_lacks_are_words():
    found = compared([np.nan], [-np.inf])
    assert found["first_mismatch"] == {"index": [0], "actual": "NaN", "expected": "-Infinity"}


def test_integers_are_compared_exactly_beyond_2_to_the_53():
    found = compared([2**62 + 1], [2**62], np.int64)
    assert found["mismatched"] == 1
    assert found["max_abs_error"] == 1
    assert found["first_mismatch"]["actual"] == str(2**62 + 1)


def test_the_widest_integers_of_both_signs():
    lowest, highest = np.array([-(2**63)]), np.array([2**63 - 1])
    assert comparison(lowest, highest, EXACT)["max_abs_error"] == str(2**64 - 1)
    unsigned = np.array([2**64 - 1], np.uint64)
    assert comparison(unsigned, np.array([-1]), EXACT)["mismatched"] == 1
    assert comparison(unsigned, unsigned, EXACT)["matches"] is True


def test_booleans():
    assert compared([True, False], [True, True], np.bool_)["mismatched"] == 1


def test_a_low_precision_output_against_a_float64_reference():
    actual = np.array([1.0, 3.140625], ml_dtypes.bfloat16).astype(np.float32)
    found = comparison(actual, np.array([1.0, np.pi]), Tolerance(rtol=1e-2))
    assert found["matches"] is True
    assert found["max_abs_error"] == pytest.approx(np.pi - 3.140625)


def test_nothing_to_compare():
    found = compared([], [])
    assert (found["matches"], found["compared"]) == (True, 0)


def test_elements_that_neither_side_wrote_are_not_compared():
    ours, theirs = np.array([True, True, False]), np.array([True, False, False])
    found = comparison(
        np.array([1, 2, 3]), np.array([9, 2, 3]), EXACT, missing=Unwritten(ours, theirs)
    )
    assert (found["compared"], found["mismatched"], found["unwritten"]) == (2, 1, 1)
    assert found["max_abs_error"] == 0
    assert found["first_mismatch"]["index"] == [1]


def test_the_share_that_may_be_off_is_of_what_is_compared():
    half = np.arange(8) >= 4
    found = comparison(
        np.zeros(8), np.ones(8), Tolerance(max_mismatched_ratio=0.5), missing=Unwritten(half, half)
    )
    assert (found["compared"], found["matches"]) == (4, False)


def test_a_summary_is_of_the_finite_elements():
    elements = np.array([[1, -2], [np.nan, np.inf]], np.float32)
    assert summary(elements, "fp32") == {
        "shape": [2, 2], "dtype": "fp32", "min": -2.0, "max": 1.0, "mean": -0.5, "nan": 1, "inf": 1,
        "unwritten": 0,
    }  # fmt: skip


def test_a_summary_counts_unwritten_elements():
    elements = np.full(12, 0xFF, np.uint8).view(np.float32)
    found = summary(elements, "fp32", np.array([True, False, True]))
    assert (found["unwritten"], found["nan"], found["min"]) == (2, 3, None)


def test_a_summary_of_big_integers_is_exact():
    found = summary(np.array([2**62 + 1, 0], np.int64), "i64")
    assert (found["min"], found["max"]) == (0, str(2**62 + 1))


def test_summaries_of_pieces_equal_those_of_whole_arrays():
    elements = np.zeros(2 * STRETCH + 3, np.float16)
    elements[[5, STRETCH + 1, -1]] = [-2, np.nan, 40]
    found = summary(elements, "fp16")
    assert (found["min"], found["max"], found["nan"], found["inf"]) == (-2, 40, 1, 0)
    assert found["mean"] == 38 / (2 * STRETCH + 2)
    different = comparison(elements, np.zeros_like(elements), Tolerance())
    assert (different["mismatched"], different["nonfinite_mismatched"]) == (3, 1)
    assert different["first_mismatch"] == {"index": [5], "actual": -2, "expected": 0}
