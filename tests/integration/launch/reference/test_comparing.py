"""The comparing child gets offsets into one body, and answers in the API's words."""

import io

import numpy as np
import pytest

from worker.pool import pool as pools
from worker.pool.child_outcome import Ending

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_outputs_are_summed_up_compared_and_written_as_asked(pool):
    actual = np.array([[1, 2.5], [3, np.inf]], np.float32)
    expected = np.array([[1, 2], [3, np.inf]])
    counts = np.array([1, 2**60], np.int64)
    body = actual.tobytes() + expected.tobytes() + counts.tobytes()
    outputs = {
        "z": {
            "dtype": "fp32", "shape": [2, 2], "actual": [0, 16], "expected": [16, 32],
            "expected_dtype": "float64", "tolerance": {"rtol": 1e-5}, "returned": "tensor",
        },
        "counts": {
            "dtype": "i64", "shape": [2], "actual": [48, 16], "returned": "values",
        },
    }  # fmt: skip
    header = {"task": "compare", "outputs": outputs}
    stages = ("tensor:z",)
    outcome = await pool.run("parse", header, body, deadline_s=10, stages=stages)
    assert outcome.ending is Ending.OK, outcome.failure
    answer = outcome.result["outputs"]
    assert answer["z"]["summary"] == {
        "shape": [2, 2], "dtype": "fp32", "min": 1.0, "max": 3.0, "mean": 6.5 / 3, "nan": 0,
        "inf": 1, "unwritten": 0,
    }  # fmt: skip
    assert answer["z"]["comparison"] == {
        "matches": False, "max_abs_error": 0.5, "max_rel_error": 0.25, "compared": 4,
        "mismatched": 1, "nonfinite_mismatched": 0, "unwritten": 0, "zeros_match": False,
        "first_mismatch": {"index": [0, 1], "actual": 2.5, "expected": 2.0},
        "mismatch_map": {"rows": 2, "columns": 2, "mismatched": [[0, 1], [0, 0]]},
    }  # fmt: skip
    assert answer["counts"]["comparison"] is None
    assert answer["counts"]["values"] == [1, str(2**60)]
    (tensor,) = outcome.stages
    assert tensor.name == "tensor:z"
    assert np.array_equal(np.load(io.BytesIO(tensor.body), allow_pickle=False), actual)


@pytest.mark.parametrize("unwritten", [0, 1])
async def test_only_what_a_reference_wrote_is_its_nan(pool, unwritten):
    actual, expected = np.zeros(2, np.float32), np.full(2, np.nan, np.float32)
    body = actual.tobytes() + expected.tobytes() + bytes([unwritten << 7])
    output = {
        "dtype": "fp32", "shape": [2], "actual": [0, 8], "expected": [8, 8],
        "expected_unwritten": [16, 1],
    }  # fmt: skip
    header = {"task": "compare", "outputs": {"z": output}}
    outcome = await pool.run("parse", header, body, deadline_s=10)
    assert outcome.result["outputs"]["z"]["expects_only_nan"] is not bool(unwritten)


async def compared(pool, actual, expected, returned="summary"):
    body = actual.tobytes() + expected.tobytes()
    half = len(body) // 2
    output = {
        "dtype": "fp32", "shape": list(actual.shape), "actual": [0, half],
        "expected": [half, half], "expected_dtype": "float32", "returned": returned,
    }  # fmt: skip
    header = {"task": "compare", "outputs": {"z": output}}
    return await pool.run("parse", header, body, deadline_s=20)


async def test_only_requested_summaries_are_made(pool):
    zeros = np.zeros(4, np.float32)
    answer = (await compared(pool, zeros, zeros, "none")).result["outputs"]["z"]
    assert (answer["summary"], answer["comparison"]["matches"]) == (None, True)


async def test_one_process_compares_for_one_launch_after_the_other_alike(pool, monkeypatch):
    generator = np.random.default_rng(3)
    sides = [
        (generator.normal(0, 1, size).astype(np.float32), generator.normal(0, 1, size))
        for size in (5, 100_000, 0, 5, 300)
    ]
    sides = [(actual, expected.astype(np.float32)) for actual, expected in sides]
    ordered = []
    order = pool._zygote.order
    monkeypatch.setattr(pool._spares, "_order", lambda name: ordered.append(name) or order(name))
    in_one = [await compared(pool, *both) for both in sides]
    ordered_for_one = len(ordered)
    monkeypatch.setattr(pools, "KEPT_TASKS", frozenset())
    each_alone = [await compared(pool, *both) for both in sides]

    assert [one.result["outputs"] for one in in_one] == [o.result["outputs"] for o in each_alone]
    assert ordered_for_one <= 1
    assert len(ordered) >= len(sides) - 1


async def test_what_lacks_memory_costs_the_next_nothing(pool):
    """A comparison that needs too much memory ends its own process only."""
    small = np.ones(3, np.float32)
    before = await compared(pool, small, small)
    huge = {"z": {"dtype": "fp32", "shape": [1 << 40], "actual": [0, 4], "returned": "summary"}}
    failed = await pool.run("parse", {"task": "compare", "outputs": huge}, bytes(4), deadline_s=20)
    after = await compared(pool, small, small)

    assert failed.ending is Ending.FAILURE
    assert after.result["outputs"] == before.result["outputs"]
