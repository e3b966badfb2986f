"""Tensor descriptors: made on the host, and made by kernels."""

import ml_dtypes
import numpy as np
import pytest

from tests.gpu.bound import Bound
from worker.gpu.supervisor.launcher_protocol import LaunchEnding

KINDS = {"fp16": np.float16, "fp32": np.float32, "bf16": ml_dtypes.bfloat16, "i32": np.int32}
ROWS, COLUMNS = 96, 64


def tile(outcome, dtype, name="output_ptr"):
    assert outcome.ending is LaunchEnding.OK, outcome
    return (
        np.frombuffer(bytes(outcome.outputs[name]), KINDS[dtype]).reshape(64, 32).astype(np.float64)
    )


def source(dtype):
    count = np.arange(ROWS * COLUMNS) % 128
    return {"kind": "values", "values": count.tolist()}, count.reshape(ROWS, COLUMNS)


def copy_job(dtype, row, column, padding="zero"):
    init, _ = source(dtype)
    bound = Bound().descriptor("source", dtype, [ROWS, COLUMNS], [64, 32], init, padding=padding)
    bound.buffer("output_ptr", dtype, [64, 32], output=True)
    return bound.scalar("row", row, "i32").scalar("column", column, "i32").job(f"copy_tile_{dtype}")


@pytest.mark.parametrize("dtype", KINDS)
def test_a_tile_is_loaded_through_a_tensor_map(launch, dtype):
    _, whole = source(dtype)

    found = tile(launch(copy_job(dtype, 16, 32)), dtype)

    assert np.array_equal(found, whole[16:80, 32:64])


def test_elements_out_of_bounds_are_zero(launch):
    _, whole = source("fp32")

    found = tile(launch(copy_job("fp32", 64, 32)), "fp32")

    assert np.array_equal(found[:32], whole[64:96, 32:64])
    assert (found[32:] == 0).all()


def test_elements_out_of_bounds_are_nan_on_request(launch):
    _, whole = source("fp32")

    found = tile(launch(copy_job("fp32", 64, 32, "nan")), "fp32")

    assert np.array_equal(found[:32], whole[64:96, 32:64])
    assert np.isnan(found[32:]).all()


def test_a_tile_is_stored_through_a_tensor_map(launch):
    init = {"kind": "arange", "start": 0, "step": 0.25}
    bound = Bound().buffer("x_ptr", "fp16", [64, 32], init)
    bound.descriptor("target", "fp16", [64, 32], [64, 32], output=True)

    found = tile(launch(bound.job("store_tile")), "fp16", "target")

    assert np.array_equal(found.reshape(-1), np.arange(2048) * 0.25)


def test_a_kernel_makes_its_own_descriptor_in_scratch_memory(launch):
    init = {"kind": "randint", "seed": 5, "low": 0, "high": 1000}
    bound = Bound().buffer("x_ptr", "fp16", [256, 32], init)
    bound.buffer("output_ptr", "fp16", [256, 32], output=True)
    bound.scalar("rows", 256, "i32").scalar("columns", 32, "i32")

    outcome = launch(bound.job("device_descriptor", (4, 1, 1)))

    assert outcome.ending is LaunchEnding.OK, outcome
    found = np.frombuffer(bytes(outcome.outputs["output_ptr"]), np.float16)
    expected = np.random.Generator(np.random.Philox(5)).integers(0, 1000, 256 * 32)
    assert np.array_equal(found, expected.astype(np.float16))
