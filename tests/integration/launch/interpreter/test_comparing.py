"""The comparing child gets places in one body, and answers in the words of the API."""

import io

import numpy as np
import pytest

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
    outcome = await pool.run("cut", header, body, deadline_s=10, stages=stages)
    assert outcome.ending is Ending.OK, outcome.failure
    answer = outcome.result["outputs"]
    assert answer["z"]["summary"] == {
        "shape": [2, 2], "dtype": "fp32", "min": 1.0, "max": 3.0, "mean": 6.5 / 3, "nan": 0,
        "inf": 1, "unwritten": 0,
    }  # fmt: skip
    assert answer["z"]["comparison"] == {
        "matches": False, "max_abs_error": 0.5, "max_rel_error": 0.25, "compared": 4,
        "mismatched": 1, "nonfinite_mismatched": 0, "unwritten": 0,
        "first_mismatch": {"index": [0, 1], "actual": 2.5, "expected": 2.0},
    }  # fmt: skip
    assert answer["counts"]["comparison"] is None
    assert answer["counts"]["values"] == [1, str(2**60)]
    (tensor,) = outcome.stages
    assert tensor.name == "tensor:z"
    assert np.array_equal(np.load(io.BytesIO(tensor.body), allow_pickle=False), actual)
