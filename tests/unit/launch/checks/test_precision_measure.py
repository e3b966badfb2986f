"""The measure of precision loss, and its thresholds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from launch.checks.precision import downgrade, downgrade_by_error, reference_bits
from launch.checks.precision_measure import Measured, PrecisionMeter
from launch.messages import Cause, CauseKind, OutputOrder, Tolerance

RANDOM = np.random.default_rng(1).normal(size=4096)
AT: dict[str, Any] = {"file": "user.py", "line": 7, "column": 5}
IN_FP16 = Cause(kind=CauseKind.ACCUMULATOR, dtype="f16", bits=11, **AT)
IN_TF32 = Cause(kind=CauseKind.TF32, dtype="tf32", bits=11, **AT)
IN_BF16 = Cause(kind=CauseKind.REDUCTION, dtype="bf16", bits=8)
LOOSE = Tolerance(0.1, 0.1)


def measured(
    actual: Any, expected: Any, dtype: str = "fp32", tolerance: Tolerance = LOOSE
) -> Measured | None:
    meter = PrecisionMeter(dtype, tolerance, np.asarray(actual).size)
    for part in (slice(None, 100), slice(100, None)):
        meter.add(np.asarray(actual)[part], np.asarray(expected)[part])
    return meter.result()


def off(error: float) -> Any:
    """Return random numbers with a relative error of `off`."""
    return RANDOM * (1 + error * np.random.default_rng(2).normal(size=RANDOM.size))


def found(actual: Any, expected: Any, *causes: Cause, dtype: str = "fp32", bits: int = 24) -> Any:
    return downgrade("c", dtype, measured(actual, expected, dtype), causes, bits, LOOSE)


def test_the_error_is_a_share_of_the_whole_output() -> None:
    one = measured(off(1e-3), RANDOM)

    assert one is not None
    assert one.error == pytest.approx(1e-3, rel=0.05)
    assert one.beyond_one_ulp > 0.99


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32"])
def test_rounding_to_the_outputs_type_is_one_rounding(dtype: str) -> None:
    kinds: dict[str, Any] = {"fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp32": np.float32}
    one = measured(RANDOM.astype(kinds[dtype]).astype(np.float64), RANDOM, dtype)

    assert one is not None
    assert one.roundings == pytest.approx(1, rel=0.1)
    assert one.beyond_one_ulp == 0


def test_of_a_large_output_random_pieces_are_measured() -> None:
    meter = PrecisionMeter("fp32", LOOSE, 3 << 20)
    for number in range(192):
        meter.add(np.full(1 << 14, 1.0 + (number % 3 == 0)), np.ones(1 << 14))
    one = meter.result()

    assert one is not None
    assert 0 < one.beyond_one_ulp < 1


def test_bitwise_equal_outputs_show_no_precision_loss() -> None:
    assert measured(RANDOM, RANDOM) is None


@pytest.mark.parametrize("strange", [np.nan, np.inf, -np.inf])
def test_non_finite_elements_are_no_precision_loss(strange: float) -> None:
    with_one = RANDOM.copy()
    with_one[3] = strange

    assert measured(with_one, RANDOM) is None
    assert measured(with_one, with_one) is None


def test_the_tolerance_that_is_used_up_is_that_of_the_worst_element() -> None:
    actual = RANDOM.copy()
    actual[5] += 0.05

    one = measured(actual, RANDOM, tolerance=Tolerance(0, 0.1))

    assert one is not None
    assert one.tolerance_used == pytest.approx(0.5)
    nothing = measured(actual, RANDOM, tolerance=Tolerance(0, 0))
    assert nothing is not None
    assert nothing.tolerance_used is None


def test_a_cause_with_an_error_of_its_size_is_a_finding() -> None:
    finding = found(off(2.0**-12), RANDOM, IN_TF32)

    assert (finding.kind, finding.argument, finding.file, finding.line) == (
        "precision_downgrade", "c", "user.py", 7,
    )  # fmt: skip
    assert set(finding.measure) == {
        "error", "right_bits", "roundings", "beyond_one_ulp_ratio", "tolerance_used",
    }  # fmt: skip
    assert finding.measure["right_bits"] == pytest.approx(12, abs=0.2)
    assert "of the 24 bits of fp32" in finding.message


@pytest.mark.parametrize("error", [2.0**-20, 2.0**-6, 0.3])
def test_an_error_of_another_size_has_another_cause(error: float) -> None:
    assert found(off(error), RANDOM, IN_TF32) is None


def test_without_a_cause_nothing_is_said() -> None:
    assert found(off(2.0**-12), RANDOM) is None


def test_few_elements_that_are_far_off_are_a_mistake() -> None:
    actual = RANDOM.copy()
    actual[:4] *= 1.05

    assert found(actual, RANDOM, IN_TF32) is None


def test_rounding_of_the_output_is_no_loss() -> None:
    rounded = RANDOM.astype(np.float16).astype(np.float64)

    assert found(rounded, RANDOM, IN_FP16, dtype="fp16") is None


def test_a_reference_that_is_rounded_to_the_outputs_type_is_no_better() -> None:
    expected = RANDOM.astype(np.float16).astype(np.float64)
    actual = off(2.0**-9).astype(np.float16).astype(np.float64)

    assert found(actual, expected, IN_FP16, dtype="fp16") is None
    assert found(actual, RANDOM, IN_FP16, dtype="fp16") is not None


def test_the_gravest_fitting_cause_is_named_and_the_others_are_listed() -> None:
    finding = found(off(2.0**-12), RANDOM, IN_FP16, IN_TF32)

    assert finding.message.count("in line 7") == 1
    assert "values are added up in fp16; also, tl.dot multiplies fp32 as TF32" in finding.message


def test_a_cause_without_a_place_has_no_line() -> None:
    finding = found(off(2.0**-9), RANDOM, IN_BF16)

    assert (finding.file, finding.line) == (None, None)
    assert "values are reduced in bf16" in finding.message


@pytest.mark.parametrize(
    ("dtype", "expected_dtype", "causes", "bits"),
    [
        ("fp32", None, (), 24), ("fp16", "float64", (), 53), ("fp16", "float16", (), 11),
        ("bf16", "float32", (), 24), ("fp32", None, (IN_BF16,), 8), ("fp32", "int64", (), 0),
        ("i32", None, (), 0),
    ],
)  # fmt: skip
def test_a_reference_is_as_good_as_its_type_and_its_own_causes(
    dtype: str, expected_dtype: str | None, causes: tuple[Cause, ...], bits: int
) -> None:
    output = OutputOrder(dtype=dtype, shape=[8], actual=(0, 0), expected_dtype=expected_dtype)

    assert reference_bits(output, causes) == bits
    assert reference_bits(replace(output, expected_bits=11), causes) == min(bits, 11)


def test_an_error_far_above_the_reference_s_needs_no_cause() -> None:
    coarse = measured(RANDOM * (1 + 1e-3 * np.sin(1e3 * RANDOM)), RANDOM, "fp32")
    fine = measured(RANDOM.astype(np.float32).astype(np.float64), RANDOM, "fp32")

    assert downgrade_by_error("y", "fp32", coarse, fine, LOOSE) is not None
    assert downgrade_by_error("y", "fp32", coarse, coarse, LOOSE) is None
    assert downgrade_by_error("y", "fp32", fine, None, LOOSE) is None
