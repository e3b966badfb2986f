"""Special values for inputs, and inputs that keep their values."""

from __future__ import annotations

from math import prod
from typing import Any

import pytest

from launch.fuzz.special_values import initializer, patterns_of, varied_buffers
from launch.request.initializer import bind_init
from tests.unit.launch.fuzz.subjects import ADD, BLOCKS, given, integers, out, subject


def tried(buffer: dict[str, Any], **more: Any) -> list[str]:
    made = subject({"x_ptr": buffer, "z_ptr": out(8)}, [1], **more)
    x = made.buffers["x_ptr"]
    return list(patterns_of(x, made, prod(x.shape)))


@pytest.mark.parametrize("dtype", ["fp64", "fp32", "bf16", "fp16", "fp8e4nv", "fp8e5"])
def test_each_pattern_is_an_initializer_that_a_request_can_have(dtype: str):
    made = subject({"x_ptr": given(3, 4, dtype=dtype), "z_ptr": out(8)}, [1], equal_nan=True)
    buffer = made.buffers["x_ptr"]

    for pattern in patterns_of(buffer, made, 12):
        written = initializer(pattern, buffer, (3, 4), seed=5)

        bind_init(written, [3, 4], dtype, "/init")
        assert initializer(pattern, buffer, (3, 4), seed=5) == written


def test_large_buffers_have_no_listed_values():
    assert "special" in tried(given(500))
    assert not {"special", "one_hot", "extreme"} & set(tried(given(600)))


def test_an_outlier_is_alone_and_many_magnitudes_repeat():
    made = subject({"x_ptr": given(64), "z_ptr": out(8)}, [1])
    x = made.buffers["x_ptr"]

    outlier = initializer("outlier", x, [64], 1)["values"]
    wide = initializer("wide", x, [64], 1)["values"]

    assert sorted(map(abs, outlier))[-2:] == [pytest.approx(2.5, abs=2), 1e8]
    assert {1e-8, 1.0, 1e8} <= set(map(abs, wide))
    assert len(set(wide)) < 15


def test_integers_stay_within_what_the_request_draws_them_from():
    made = subject({"x_ptr": integers(8, low=-3, high=5), "z_ptr": out(8)}, [1])
    x = made.buffers["x_ptr"]

    assert patterns_of(x, made, 8) == ["other_seed", "few", "lowest", "highest"]
    assert initializer("few", x, [8], 1)["high"] == -1
    assert initializer("lowest", x, [8], 1)["value"] == -3
    assert initializer("highest", x, [8], 1)["value"] == 4


@pytest.mark.parametrize(
    ("buffer", "why"),
    [
        (given(8, kind="zeros", output=True), "changes it in place"),
        (given(8, kind="arange", dtype="i32"), "may be indices"),
        (
            {"shape": [1], "dtype": "fp32", "init": {"kind": "values", "values": [1.5]}},
            "explicit values",
        ),
    ],
)
def test_values_that_the_kernel_may_rely_on_stay(buffer: dict[str, Any], why: str):
    varied, kept = varied_buffers(subject({"x_ptr": buffer, "z_ptr": out(8)}, [1]))

    assert not varied
    assert why in kept[0]


def test_outputs_are_no_inputs():
    varied, kept = varied_buffers(subject(ADD, BLOCKS, BLOCK=128))

    assert [buffer.name for buffer in varied] == ["x_ptr", "y_ptr"]
    assert not kept
