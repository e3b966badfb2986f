"""Operations that NumPy has no single function for, and one that only a GPU has."""

import numpy as np
import pytest

from compiler.target import Target
from tests.integration.launch.child_runs import (
    KERNELS,
    Buffer,
    out,
    run_kernel,
    uniform,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")

EIGHT = Buffer((8,), "fp32", {"kind": "arange"})


def zeros(*shape, dtype="fp32"):
    return Buffer(shape, dtype, {"kind": "zeros"}, output=True)


async def run(device, kernel, arguments, **more):
    return await run_kernel(device, "operations.py", kernel, arguments, **more)


async def test_libdevice(device):
    ran = await run(device, "calls_libdevice", {"x_ptr": EIGHT, "out_ptr": out(8)})
    x = np.arange(8, dtype=np.float32)
    assert np.allclose(ran.output("out_ptr"), np.tanh(x) + x * x, rtol=1e-6)


async def test_inline_assembly_needs_a_gpu_and_says_so_at_its_line(device):
    ran = await run(device, "writes_ptx", {"x_ptr": uniform(1), "out_ptr": out(1)})
    lines = (KERNELS / "operations.py").read_text().splitlines()
    found = ran.failure["diagnostics"][0]
    assert ran.failure["slug"] == "needs_gpu"
    assert "tl.inline_asm_elementwise(" in lines[found["line"] - 1]
    assert "inline assembly, which cannot run on the CPU device" in ran.failure["message"]


async def test_lanes_exchange_floats_in_their_order(device):
    ran = await run(device, "exchanges", {"x_ptr": zeros(1), "out_ptr": out(8)})
    assert ran.output("out_ptr").tolist() == [0, 0, 1, 2, 3, 4, 5, 6]
    assert ran.output("x_ptr").tolist() == [7]


async def test_bf16_is_added_atomically_and_rounded(device):
    values = {"kind": "values", "values": [1, 2, 3, 4, 256, 1, 1, 1]}
    arguments = {"x_ptr": Buffer((8,), "bf16", values), "out_ptr": zeros(2, dtype="bf16")}
    ran = await run(device, "adds_narrow", arguments)
    assert ran.output("out_ptr").astype(float).tolist() == [10, 256]


async def test_a_descriptor_adds_atomically_and_leaves_out_what_is_outside(device):
    ran = await run(device, "adds_through_a_descriptor", {"out_ptr": zeros(4, 8)})
    assert ran.output("out_ptr").sum(1).tolist() == [0, 0, 8, 8]


async def test_methods_of_aggregates(device):
    values = {"kind": "values", "values": [3, 4]}
    arguments = {"x_ptr": Buffer((2,), "i32", values), "out_ptr": out(1, dtype="i32")}
    assert (await run(device, "adds_a_pair", arguments)).output("out_ptr").tolist() == [7]


@pytest.mark.parametrize(("arch", "answer"), [(90, 90), (80, 0)])
async def test_a_kernel_that_asks_for_its_target(device, arch, answer):
    arguments = {"out_ptr": out(1, dtype="i32")}
    ran = await run(device, "asks_for_its_target", arguments, target=Target("cuda", arch, 32))
    assert ran.output("out_ptr").tolist() == [answer]


@pytest.mark.parametrize(
    ("dtype", "integers"),
    [
        ("i32", [2**31 - 1, -(2**31), 0, -1]),
        ("u32", [2**32 - 1, 0, 0, 0]),
        ("i64", [2**63 - 1, -(2**63), -(2**63), -1]),
    ],
)
async def test_floats_beyond_an_integer_s_range_become_its_ends(device, dtype, integers):
    values = {"kind": "values", "values": [1e30, -1e30, "NaN", -1.5]}
    arguments = {"x_ptr": Buffer((4,), "fp32", values), "out_ptr": out(4, dtype=dtype)}
    assert (await run(device, "makes_integers", arguments)).output("out_ptr").tolist() == integers
