"""Comparing outputs on a device gives the result of the comparing child."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from launch.buffers.element_types import stored
from launch.messages import Tolerance
from launch.reference import comparison as child
from launch.reference.difference import Unwritten
from programs.replay import device_comparison
from programs.replay.device_comparison import DeviceUnwritten, compare_on_device
from programs.replay.operators import DTYPES

FLOATS = ["fp16", "bf16", "fp32", "fp64", "fp8e4nv", "fp8e4b8", "fp8e5", "fp8e5b16"]
INTEGERS = ["i1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
SHAPES = [(), (0,), (1,), (7,), (40, 50), (3, 70, 9)]
MAX_SUMMED = 1e300
"""The sum of larger numbers may or may not overflow, depending on the pieces."""
Bits = tuple[torch.Tensor | None, torch.Tensor | None]


def by_the_child(
    actual: torch.Tensor, expected: torch.Tensor, dtype: str, tolerance: Tolerance, bits: Bits
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the child's result for the same elements."""
    ours, theirs = (_array(one, dtype) for one in (actual, expected))
    missing = Unwritten(*(None if one is None else one.numpy() for one in bits))
    with np.errstate(all="ignore"):
        found = child.comparison(ours, theirs, tolerance, dtype, dtype, missing)
        return child.summary(ours, dtype, missing.actual), found


def _array(tensor: torch.Tensor, dtype: str) -> Any:
    octets = tensor.contiguous().reshape(-1).view(torch.uint8).numpy()
    return octets.view(stored(dtype)).reshape(tuple(tensor.shape))


def assert_alike(
    actual: torch.Tensor,
    expected: torch.Tensor,
    dtype: str,
    tolerance: Tolerance,
    bits: Bits = (None, None),
) -> dict[str, Any]:
    """Compare both ways; return the comparison."""
    missing = DeviceUnwritten(*bits)
    summary, found = compare_on_device(actual, expected, dtype, tolerance, missing)
    summary_there, found_there = by_the_child(actual, expected, dtype, tolerance, bits)
    mean, mean_there = summary.pop("mean"), summary_there.pop("mean")
    assert summary == summary_there
    largest = max(abs(float(summary[name] or 0)) for name in ("min", "max"))
    if largest < MAX_SUMMED:
        assert mean == mean_there or mean == pytest.approx(mean_there, abs=1e-9 * largest)
    assert found == found_there
    return found


def pair(shape: tuple[int, ...], dtype: str, chance: np.random.Generator) -> list[torch.Tensor]:
    """Return elements of any bits, and others that are mostly the same."""
    size = DTYPES[dtype].itemsize
    octets = chance.integers(0, 256, (*shape, size), dtype=np.uint8)
    if dtype == "i1":
        octets %= 2
    other = octets.copy()
    changed = chance.random(shape) < chance.choice([0.0, 0.02, 0.5])
    other[changed, 0] ^= 1
    return [
        torch.tensor(one.reshape(-1)).view(DTYPES[dtype]).reshape(shape) for one in (octets, other)
    ]


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_elements_of_any_bits_come_to_what_the_child_says(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = np.random.default_rng(3)
    for shape in SHAPES * 3:
        monkeypatch.setattr(device_comparison, "STRETCH", int(chance.choice([7, 100, 1 << 20])))
        tolerance = Tolerance(
            rtol=float(chance.choice([0.0, 1e-2])),
            atol=float(chance.choice([0.0, 1e-3])),
            equal_nan=bool(chance.integers(2)),
            max_mismatched_ratio=float(chance.choice([0.0, 0.1])),
        )
        actual, expected = pair(shape, dtype, chance)
        bits: list[torch.Tensor | None] = [
            torch.from_numpy(chance.random(actual.numel()) < 0.1) if chance.integers(2) else None
            for _ in range(2)
        ]
        assert_alike(actual, expected, dtype, tolerance, (bits[0], bits[1]))


def test_ordinary_numbers_that_are_close_match() -> None:
    actual = torch.randn(100, 30)
    near = actual * (1 + 1e-6)

    assert assert_alike(actual, near, "fp32", Tolerance(rtol=1e-5, atol=0.0))["matches"]
    assert not assert_alike(actual, near, "fp32", Tolerance(rtol=1e-8, atol=0.0))["matches"]


def test_an_unwritten_element_matches_nothing() -> None:
    actual = torch.ones(4, 8)
    missing = torch.zeros(32, dtype=torch.bool)
    missing[9] = True

    found = assert_alike(actual, actual, "fp32", Tolerance(), (missing, None))

    assert not found["matches"]
    assert found["first_mismatch"]["index"] == [1, 1]
    assert found["unwritten"] == 1


def test_the_first_mismatch_of_a_later_stretch_is_at_its_own_index(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(device_comparison, "STRETCH", 10)
    actual = torch.zeros(5, 9)
    expected = actual.clone()
    expected[3, 4] = 1.0

    found = assert_alike(actual, expected, "fp32", Tolerance())

    assert found["first_mismatch"] == {"index": [3, 4], "actual": 0.0, "expected": 1.0}


def test_large_integers_are_compared_exactly() -> None:
    actual = torch.tensor([2**62 + 1, -(2**63)])

    found = assert_alike(actual, torch.tensor([2**62, 2**63 - 1]), "i64", Tolerance())

    assert found["max_abs_error"] == str(2**64 - 1)


def test_outputs_in_other_strides_are_compared_in_the_order_of_their_indices() -> None:
    actual, expected = torch.randn(6, 8).t(), torch.randn(8, 6)

    assert_alike(actual, expected, "fp32", Tolerance())


def test_a_single_element_is_compared_whatever_its_stride() -> None:
    one = torch.arange(6)[1::3][:1]

    _, found = compare_on_device(one, one.clone(), "i64", Tolerance())

    assert found["matches"]


def test_a_complex_number_is_compared_by_its_parts() -> None:
    actual = torch.complex(torch.randn(5), torch.randn(5))
    expected = actual.clone()
    expected[2] += 1j

    summary, found = compare_on_device(actual, expected, "complex64", Tolerance())

    assert summary["shape"] == [5, 2]
    assert summary["dtype"] == "fp32"
    assert found["first_mismatch"]["index"] == [2, 1]
