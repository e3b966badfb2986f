"""Arithmetic in bf16 and fp8 uses their values, and rounds to nearest even."""

import ml_dtypes
import numpy as np
import pytest

from tests.integration.launch.child_runs import Buffer, out, run_kernel, uniform

pytestmark = pytest.mark.asyncio(loop_scope="session")

BF16 = ml_dtypes.bfloat16


def made(*shape, seed):
    wide = np.random.Generator(np.random.Philox(seed)).uniform(0, 1, shape)
    return wide.astype(BF16).astype(np.float32)


def rounded(values):
    return values.astype(BF16).astype(np.float32)


async def run(device, kernel, arguments, *, fp_fusion=True, **constexprs):
    ran = await run_kernel(
        device, "narrow.py", kernel, arguments, constexprs=constexprs, fp_fusion=fp_fusion
    )
    assert ran.findings == []
    return ran


async def test_arithmetic_rounds_after_every_operation(device):
    arguments = {
        "x_ptr": uniform(32, dtype="bf16"), "y_ptr": uniform(32, dtype="bf16", seed=2),
        "z_ptr": out(32, dtype="bf16"),
    }  # fmt: skip
    ran = await run(device, "arithmetic", arguments, fp_fusion=False, N=32)
    x, y = made(32, seed=1), made(32, seed=2)
    chosen = np.where(x > 0.5, rounded(rounded(x * y) - 1), -y)
    expected = rounded(chosen + np.maximum(x, y))
    assert np.array_equal(ran.output("z_ptr").astype(np.float32), expected)


async def test_sums(device):
    arguments = {"x_ptr": uniform(32, dtype="bf16"), "z_ptr": out(33, dtype="bf16")}
    ran = await run(device, "sums", arguments, N=32)
    sums = rounded(np.cumsum(made(32, seed=1)))
    # a scan rounds after each sum, a reduction at its end
    assert ran.output("z_ptr").astype(np.float32) == pytest.approx([*sums, sums[-1]], rel=2**-6)


async def test_a_dot(device):
    arguments = {
        "x_ptr": uniform(16, 16, dtype="bf16"), "y_ptr": uniform(16, 16, dtype="bf16", seed=2),
        "z_ptr": out(16, 16),
    }  # fmt: skip
    ran = await run(device, "dot", arguments, N=16)
    assert np.allclose(ran.output("z_ptr"), made(16, 16, seed=1) @ made(16, 16, seed=2), rtol=1e-5)


@pytest.mark.parametrize(
    ("source", "target", "values", "expected"),
    [
        ("fp32", "bf16", [0.2, 1.00390625, 1.01171875, -3e38], [0.2002, 1.0, 1.015625, -3e38]),
        ("bf16", "i32", [1.5, -2.75, 1e6, 0], [1, -2, 999424, 0]),
        ("i32", "bf16", [1, -2, 257, 1000003], [1, -2, 256, 999424]),
        ("fp32", "fp8e4nv", [0.3, 17.0, 1e6, -0.001], [0.3125, 16, 448, -0.001953125]),
        ("fp8e5", "fp32", [0.3, 17.0, 1e9, 0], [0.3125, 16, 57344, 0]),
        ("fp16", "bf16", [0.2, 1, 2, 3], [0.2002, 1, 2, 3]),
    ],
)
async def test_conversions(device, source, target, values, expected):
    init = {"kind": "values", "values": values}
    arguments = {"x_ptr": Buffer((4,), source, init), "z_ptr": out(4, dtype=target)}
    ran = await run(device, "convert", arguments, N=4)
    assert ran.output("z_ptr").astype(np.float64) == pytest.approx(expected, rel=1e-2)
    assert ran.output("z_ptr")[:2].astype(np.float32) == pytest.approx(expected[:2], rel=1e-4)


async def test_numbers_are_printed_and_not_their_bits(device):
    arguments = {"x_ptr": Buffer((1,), "bf16", {"kind": "full", "value": 1.5})}
    ran = await run(device, "show", arguments)
    assert ran.outcome.stdout.split()[-1] == b"1.5"


async def test_atomic_additions(device):
    values = {"kind": "full", "value": 1.00390625}
    arguments = {
        "x_ptr": Buffer((1,), "bf16", {"kind": "full", "value": 1}),
        "z_ptr": Buffer((1,), "bf16", values, output=True),
    }
    ran = await run_kernel(device, "narrow.py", "add_atomically", arguments)
    assert ran.output("z_ptr").astype(np.float32).tolist() == [2]
