"""Initial contents that the GPU draws itself."""

import numpy as np
import pytest

from launch.buffers.allocation import leaf_of, memory_of
from worker.gpu.inputs.uniform_draw import UniformDraw

COUNT = 1001


def described(dtype="fp32", count=COUNT, **init):
    init = {"kind": "uniform", "seed": 7} | init
    return {"name": "x_ptr", "dtype": dtype, "elements": count, "init": init, "body": None}


def layout(shape, strides, offset=0):
    return leaf_of(
        "x_ptr",
        {"shape": shape, "strides": strides, "offset": offset, "allocation": 0, "dtype": "fp32",
         "output": False},
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["fp16", "fp32", "fp64"])
def test_a_draw_is_what_the_host_makes(dtype):
    asked = described(dtype, low=-0.3, high=1.7)
    draw = UniformDraw.of(asked, layout([COUNT], [1]))

    numbers = np.random.Generator(np.random.Philox(key=np.array(draw.key, np.uint64))).random(
        draw.count
    )
    made = (draw.low + draw.width * numbers).astype(f"f{draw.item_bytes}")

    np.testing.assert_array_equal(made, memory_of(asked, None, b""))


@pytest.mark.parametrize(
    "asked",
    [
        described(kind="normal"),
        described("bf16"),
        described("i32"),
        described(low=1, high=0),
        described(low=-1e308, high=1e308),
        described(count=0),
        described() | {"init": None},
    ],
    ids=["normal", "bf16", "i32", "low above high", "too wide", "nothing", "poison"],
)
def test_all_else_is_made_by_the_host(asked):
    assert UniformDraw.of(asked, None) is None


def test_numbers_with_gaps_between_them_are_made_by_the_host():
    assert UniformDraw.of(described(count=20), layout([10], [2])) is None
    assert UniformDraw.of(described(count=20), layout([10], [1], offset=10)) is None
