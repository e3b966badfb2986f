"""Answers that depend on rounding say nothing about a less exact kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from launch.buffers.allocation import Leaf
from launch.messages import RoundingOrder, Tolerance
from launch.reference.rounding_sensitivity import RoundingSensitive, rounding_sensitive, widened

Array = np.ndarray[Any, Any]


def leaf(dtype: str, *shape: int) -> Leaf:
    return Leaf("z", shape, (1,) * len(shape), 0, 0, dtype, output=True)


def asked(
    function: Callable[[Array], Any],
    x: Any,
    dtype: str = "fp32",
    made: str = "fp32",
    **more: Any,
) -> RoundingSensitive:
    """Evaluate a reference that maps x of type `dtype` to z of type `made`."""
    names = {"fp32": np.float32, "fp16": np.float16, "fp64": np.float64}
    stored = np.asarray(x, names[dtype])
    tolerance = Tolerance(1e-4, 1e-5, **more.pop("compared", {}))
    usual = {"seed": 1, "wide": True, "relative": 1e-5, "tolerances": {"z": tolerance}}
    order = RoundingOrder(**(usual | more))

    def ask(given: Any) -> dict[str, Array]:
        with np.errstate(all="ignore"):
            inputs = stored if given is None else given(stored, dtype)
            return {"z": np.asarray(function(inputs))}

    shape = ask(None)["z"].shape
    return rounding_sensitive(order, ask, [leaf(made, *shape)], [widened(stored, dtype)])


def test_a_reference_gets_float64():
    kinds = []
    asked(lambda x: kinds.append(x.dtype) or x, [1.0])

    assert kinds[1] == np.float64  # the first call learned the shape


def test_outputs_insensitive_to_rounding_are_compared():
    found = asked(lambda x: 2 * x, [1.0, -3.0, 0.0])

    assert found.doubtful["z"].tolist() == [False] * 3
    assert found.expected["z"].tolist() == [2.0, -6.0, 0.0]


def test_small_differences_of_large_numbers_are_uncertain():
    found = asked(lambda x: np.stack([x.sum(), x[0]]), [1e6, 1.0, -1e6])

    assert found.doubtful["z"].tolist() == [True, False]


def test_nan_and_infinity_are_compared_where_meaningful():
    assert asked(np.log, [-1.0, 7.0]).doubtful["z"].tolist() == [True, False]
    same = asked(np.log, [-1.0, 7.0], compared={"equal_nan": True})
    assert same.doubtful["z"].tolist() == [False, False]


def test_more_than_the_output_can_hold_is_infinite():
    found = asked(lambda x: x * 60000.0, [2.0, -2.0, 1.0], made="fp16")

    assert found.expected["z"].tolist() == [np.inf, -np.inf, 60000.0]
    assert not found.doubtful["z"].any()


def test_numbers_near_the_maximum_are_uncertain():
    assert asked(lambda x: x * 65504.0, [1.001], made="fp16").doubtful["z"].tolist() == [True]


def test_ties_say_something_and_roundings_do_not():
    ties = asked(lambda x: x.argmax(keepdims=True), [2.0, 5.0, 5.0], made="i32")
    rounded = asked(lambda x: np.floor(x * (1 / 3)).astype(np.int32), [3.0, 4.0], made="i32")

    assert ties.doubtful["z"].tolist() == [False]
    assert rounded.doubtful["z"].tolist() == [True, False]


def test_only_copies_are_compared_where_all_else_may_overflow():
    largest = float(np.finfo(np.float32).max)

    found = asked(lambda x: np.stack([x.max(), x.mean()]), [largest, 1.0], only_copies=True)

    assert found.doubtful["z"].tolist() == [False, True]


def test_only_what_no_nan_or_infinity_of_an_input_changes_is_compared():
    x = [np.nan, -np.inf, np.inf, 2.0, 3.0]

    found = asked(lambda x: np.stack([*x[3:], x.sum(), x.max(), np.exp(-x[2])]), x,
                  replaces_non_finite=True)  # fmt: skip
    counts = asked(lambda x: np.isfinite(x).astype(np.int32), x, made="i32",
                   replaces_non_finite=True)  # fmt: skip

    assert found.doubtful["z"].tolist() == [False, False, True, True, True]
    assert counts.doubtful["z"].tolist() == [True, True, True, False, False]


def test_a_number_that_gpus_take_for_zero_may_be_zero():
    assert asked(np.log, [1e-40, 7.0]).doubtful["z"].tolist() == [True, False]


def test_the_same_seed_doubts_the_same():
    x = np.random.default_rng(1).normal(size=100)

    first, again = (asked(lambda x: np.cumsum(x) * 1000, x) for _ in range(2))

    assert np.array_equal(first.doubtful["z"], again.doubtful["z"])


def test_a_reference_is_called_seven_times_at_most():
    kinds = []

    asked(lambda x: kinds.append(x.dtype) or x > 1, [1.0, 2.0], made="i1", only_copies=True)

    assert len(kinds) - 1 == 7  # the first call learned the shape
