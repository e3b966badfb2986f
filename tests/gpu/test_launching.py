"""Correct kernels get every kind of argument and launch as Triton would send it."""

import io
import math

import ml_dtypes
import numpy as np
import pytest

from tests.gpu.bound import ONES, Bound, vector_add, vector_add_expected
from worker.gpu.supervisor.launcher_protocol import LaunchEnding

ARANGE = {"kind": "arange", "start": 0, "step": 1}


def floats(outcome, name="output_ptr", dtype=np.float32):
    assert outcome.ending is LaunchEnding.OK, outcome
    assert outcome.result["findings"] == []
    return np.frombuffer(bytes(outcome.outputs[name]), dtype)


def test_a_vector_add_is_right_to_the_last_bit(launch, figure):
    outcome = launch(vector_add(), after=False)

    assert np.array_equal(floats(outcome), vector_add_expected())
    assert outcome.result["modified_inputs"] == []
    assert outcome.result["resources"]["registers"] > 0
    figure(f"{outcome.result['timings_ms']}")


@pytest.mark.parametrize("build", ["add_cluster", "add_cooperative", "add_pdl"])
def test_launch_attributes_are_honoured(launch, build):
    outcome = launch(vector_add(build))

    assert np.array_equal(floats(outcome), vector_add_expected())


def test_every_width_of_scalar_arrives(launch):
    bound = Bound().buffer("o_ptr", "i64", [9], output=True).buffer("f_ptr", "fp64", [4],
                                                                    output=True)  # fmt: skip
    integers = {"yes": (True, "i1"), "a": (-7, "i8"), "b": (-30_000, "i16"), "c": (-(2**31), "i32"),
                "d": (-(2**62), "i64"), "e": (255, "u8"), "f": (65_535, "u16"),
                "g": (2**32 - 1, "u32"), "h": (2**63 - 1, "u64")}  # fmt: skip
    for name, (value, dtype) in integers.items():
        bound.scalar(name, value, dtype)
    for name, dtype in (("half", "fp16"), ("brain", "bf16"), ("single", "fp32"),
                        ("double", "fp64")):  # fmt: skip
        bound.scalar(name, math.pi, dtype)

    outcome = launch(bound.job("scalars"))

    assert floats(outcome, "o_ptr", np.int64).tolist() == [
        int(value) for value, _ in integers.values()
    ]
    truncated = np.frombuffer(np.float32(math.pi).tobytes()[2:], ml_dtypes.bfloat16)[0]
    assert floats(outcome, "f_ptr", np.float64).tolist() == [
        float(np.float16(math.pi)), float(truncated), float(np.float32(math.pi)), math.pi,
    ]  # fmt: skip


def test_tuples_are_flattened(launch):
    bound = Bound().buffer("p", "fp32", [1], {"kind": "full", "value": 2.5}).scalar("n", 40, "i32")
    bound.group("pair", "p", "n").buffer("output_ptr", "fp32", [1], output=True)

    assert floats(launch(bound.job("tuples"))).tolist() == [42.5]


def test_what_is_updated_in_place_is_returned(launch):
    bound = Bound().buffer("x_ptr", "fp32", [1000], ARANGE, output=True)
    bound.scalar("n_elements", 1000, "i32")

    outcome = launch(bound.job("increment"))

    assert np.array_equal(floats(outcome, "x_ptr"), np.arange(1, 1001, dtype=np.float32))
    assert outcome.result["modified_inputs"] == []


def test_what_is_not_written_stays_poisoned(launch):
    bound = Bound().buffer("output_ptr", "fp32", [8], output=True).scalar("index", 3, "i32")

    outcome = launch(bound.job("store_at"))
    found = floats(outcome)

    assert found[3] == 1.0
    assert np.isnan(np.delete(found, 3)).all()
    assert outcome.unwritten == {"output_ptr": bytes([0b11101111])}


def test_written_values_that_equal_the_poison_count_as_written(launch):
    poison = {"kind": "full", "value": -85}
    bound = Bound().buffer("x_ptr", "i8", [8], poison).buffer("output_ptr", "i8", [8], output=True)
    bound.scalar("n_elements", 5, "i32")

    outcome = launch(bound.job("copy_bytes"))

    assert outcome.outputs["output_ptr"] == bytes([0xAB] * 8)
    assert outcome.unwritten == {"output_ptr": bytes([0b00000111])}


def test_outputs_come_in_logical_order(launch):
    bound = Bound().buffer("x_ptr", "fp32", [2, 3], ARANGE, output=True, strides=[1, 2])
    bound.scalar("n_elements", 6, "i32")

    found = floats(launch(bound.job("increment")), "x_ptr").reshape(2, 3)

    assert np.array_equal(found, np.arange(6, dtype=np.float32).reshape(2, 3) + 1)


def test_an_input_that_is_written_is_reported(launch):
    bound = Bound().buffer("x_ptr", "fp32", [4], ARANGE).buffer("output_ptr", "fp32", [1],
                                                                output=True)  # fmt: skip

    assert launch(bound.job("spoil_input")).result["modified_inputs"] == ["x_ptr"]


def test_an_uploaded_tensor_arrives(launch):
    stream = io.BytesIO()
    np.save(stream, np.array([1, 2, 3], np.float32))
    bound = Bound().upload("x_ptr", "fp32", [3], stream.getvalue(), output=True)
    bound.scalar("n_elements", 3, "i32")

    assert floats(launch(bound.job("increment")), "x_ptr").tolist() == [2, 3, 4]


@pytest.mark.parametrize(
    ("build", "dtype", "kind"),
    [("add_half", "fp16", np.float16), ("double_bf16", "bf16", ml_dtypes.bfloat16)],
)
def test_two_byte_floats_are_doubled(launch, build, dtype, kind):
    bound = Bound().buffer("x_ptr", dtype, [100], ARANGE)
    bound.buffer("output_ptr", dtype, [100], output=True).scalar("n_elements", 100, "i32")

    found = floats(launch(bound.job(build)), dtype=kind)

    assert np.array_equal(found.astype(np.float32), np.arange(100) * 2)


def test_an_empty_grid_runs_nothing(launch):
    bound = Bound().buffer("output_ptr", "fp32", [1], output=True).scalar("index", 0, "i32")

    assert np.isnan(floats(launch(bound.job("store_at", (0, 1, 1)))))


def test_a_kernel_prints_to_stdout(launch):
    outcome = launch(Bound().buffer("x_ptr", "fp32", [1], ONES).job("printing"))

    assert b"x is" in outcome.stdout
    assert b"1.0" in outcome.stdout


def test_equal_runs_are_deterministic(launch):
    assert launch(vector_add(determinism=True)).result["differing"] == []


def test_runs_that_differ_are_not(launch):
    bound = Bound().buffer("counter_ptr", "i32", [1], {"kind": "zeros"}, output=True)
    bound.buffer("output_ptr", "i32", [20_000], output=True)

    outcome = launch(bound.job("tickets", (20_000, 1, 1), determinism=True))

    assert outcome.result["differing"] == ["output_ptr"]


@pytest.mark.parametrize("build", ["matmul", "matmul_much_shared"])
def test_shared_memory_is_as_large_as_the_kernel_needs(launch, build):
    m, n, k = (32, 32, 64) if build == "matmul" else (128, 128, 256)
    small = {"kind": "randint", "seed": 3, "low": -4, "high": 5}
    bound = Bound().buffer("a_ptr", "fp16", [m, k], small).buffer("b_ptr", "fp16", [k, n], small)
    bound.buffer("c_ptr", "fp32", [m, n], output=True).scalar("K", k, "i32")

    outcome = launch(bound.job(build))

    numbers = np.random.Generator(np.random.Philox(3)).integers(-4, 5, m * k).reshape(m, k)
    others = np.random.Generator(np.random.Philox(3)).integers(-4, 5, k * n).reshape(k, n)
    assert np.array_equal(floats(outcome, "c_ptr").reshape(m, n), numbers @ others)


def test_an_answer_larger_than_one_frame_arrives_whole(launch, figure):
    outcome = launch(vector_add(elements=5_000_000), after=False)

    assert np.array_equal(floats(outcome), vector_add_expected(5_000_000))
    assert len(outcome.outputs["output_ptr"]) == 4 * 5_000_000
    figure(f"{outcome.result['timings_ms']}")
