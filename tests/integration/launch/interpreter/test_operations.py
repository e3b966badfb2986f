"""What Triton's interpreter lacks is there all the same, or refused by its name."""

import numpy as np
import pytest

from tests.integration.launch.interpreter.interpreting import (
    KERNELS,
    Buffer,
    interpret,
    out,
    refer,
    uniform,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")

EIGHT = Buffer((8,), "fp32", {"kind": "arange"})


def zeros(*shape, dtype="fp32"):
    return Buffer(shape, dtype, {"kind": "zeros"}, output=True)


async def run(pool, kernel, arguments, **more):
    return await interpret(pool, "operations.py", kernel, arguments, **more)


async def test_libdevice(pool):
    ran = await run(pool, "calls_libdevice", {"x_ptr": EIGHT, "out_ptr": out(8)})
    x = np.arange(8, dtype=np.float32)
    assert np.allclose(ran.output("out_ptr"), np.tanh(x) + x * x, rtol=1e-6)


async def test_libdevice_has_no_halves(pool):
    arguments = {"x_ptr": uniform(1, dtype="fp16"), "out_ptr": out(1)}
    ran = await run(pool, "calls_libdevice_with_halves", arguments)
    assert ran.failure["slug"] == "compile_error"
    assert "tanh of libdevice takes no fp16" in ran.failure["message"]


@pytest.mark.parametrize(
    ("kernel", "line", "named"),
    [
        ("writes_ptx", "tl.inline_asm_elementwise(", "inline assembly (tl.inline_asm_elementwise"),
        ("maps", "tl.map_elementwise(", "tl.map_elementwise"),
        ("calls_what_numpy_lacks", "libdevice.erfinv(", "libdevice's __nv_erfinvf"),
    ],
)
async def test_what_needs_a_gpu_says_so_at_its_line(pool, kernel, line, named):
    ran = await run(pool, kernel, {"x_ptr": uniform(1), "out_ptr": out(1)})
    lines = (KERNELS / "operations.py").read_text().splitlines()
    found = ran.failure["diagnostics"][0]
    assert ran.failure["slug"] == "needs_gpu"
    assert line in lines[found["line"] - 1]
    assert named in found["message"]
    assert "does not run on Triton's CPU interpreter: it needs a GPU" in found["message"]
    assert found["hint"].startswith("Launch it on a device with a GPU")


async def test_a_gluon_kernel_needs_a_gpu(pool):
    text = """from triton.experimental import gluon
from triton.experimental.gluon import language as gl

@gluon.jit
def kernel(out_ptr):
    gl.store(out_ptr, 1)
"""
    ran = await interpret(pool, text, "kernel", {"out_ptr": out(1)})
    assert ran.failure["slug"] == "needs_gpu"
    assert "kernel is a Gluon kernel" in ran.failure["message"]


async def test_lanes_exchange_floats_in_their_order(pool):
    ran = await run(pool, "exchanges", {"x_ptr": zeros(1), "out_ptr": out(8)})
    assert ran.output("out_ptr").tolist() == [0, 0, 1, 2, 3, 4, 5, 6]
    assert ran.output("x_ptr").tolist() == [7]


async def test_bf16_is_added_atomically_and_rounded(pool):
    values = {"kind": "values", "values": [1, 2, 3, 4, 256, 1, 1, 1]}
    arguments = {"x_ptr": Buffer((8,), "bf16", values), "out_ptr": zeros(2, dtype="bf16")}
    ran = await run(pool, "adds_narrow", arguments)
    assert ran.output("out_ptr").astype(float).tolist() == [10, 256]


async def test_a_descriptor_adds_atomically_and_leaves_out_what_is_outside(pool):
    ran = await run(pool, "adds_through_a_descriptor", {"out_ptr": zeros(4, 8)})
    assert ran.output("out_ptr").sum(1).tolist() == [0, 0, 8, 8]


async def test_methods_of_aggregates(pool):
    values = {"kind": "values", "values": [3, 4]}
    arguments = {"x_ptr": Buffer((2,), "i32", values), "out_ptr": out(1, dtype="i32")}
    assert (await run(pool, "adds_a_pair", arguments)).output("out_ptr").tolist() == [7]


@pytest.mark.parametrize(("target", "answer"), [("cuda:90", 90), ("cuda:80", 0), ("hip:gfx942", 0)])
async def test_a_kernel_that_asks_for_its_target(pool, target, answer):
    arguments = {"out_ptr": out(1, dtype="i32")}
    ran = await run(pool, "asks_for_its_target", arguments, target=target)
    assert ran.output("out_ptr").tolist() == [answer]


@pytest.mark.parametrize(
    ("dtype", "integers"),
    [
        ("i32", [2**31 - 1, -(2**31), 0, -1]),
        ("u32", [2**32 - 1, 0, 0, 0]),
        ("i64", [2**63 - 1, -(2**63), -(2**63), -1]),
    ],
)
async def test_floats_beyond_an_integer_s_range_become_its_ends(pool, dtype, integers):
    values = {"kind": "values", "values": [1e30, -1e30, "NaN", -1.5]}
    arguments = {"x_ptr": Buffer((4,), "fp32", values), "out_ptr": out(4, dtype=dtype)}
    assert (await run(pool, "makes_integers", arguments)).output("out_ptr").tolist() == integers


async def test_an_error_that_is_its_own_cause_is_one_error(pool):
    text = """import triton
import triton.language as tl

def act():
    error = ValueError("round and round")
    error.__cause__ = error
    raise error

@triton.jit
def kernel(out_ptr):
    act()
    tl.store(out_ptr, 1.0)
"""
    ran = await interpret(pool, text, "kernel", {"out_ptr": out(1)})
    assert ran.failure["slug"] == "compile_error"
    assert "round and round" in ran.failure["message"]


async def test_of_an_error_that_has_a_cause_the_error_is_told(pool):
    text = """import triton
import triton.language as tl

def act():
    raise ValueError("what was raised") from KeyError("what never was")

@triton.jit
def kernel(out_ptr):
    act()
    tl.store(out_ptr, 1.0)
"""
    ran = await interpret(pool, text, "kernel", {"out_ptr": out(1)})
    assert ran.failure["diagnostics"][0]["message"] == "what was raised"
    assert ran.failure["diagnostics"][0]["line"] == 5


async def test_an_error_of_the_user_s_own_is_no_want_of_memory(pool):
    text = """import triton
import triton.language as tl

class Full(MemoryError):
    def __repr__(self):
        return "Full('of it')"

def act():
    raise Full("of it")

@triton.jit
def kernel(out_ptr):
    act()
    tl.store(out_ptr, 1.0)
"""
    ran = await interpret(pool, text, "kernel", {"out_ptr": out(1)})
    assert ran.failure["slug"] == "compile_error"
    assert ran.failure["diagnostics"][0]["line"] == 9
    text = "class Full(MemoryError): pass\ndef reference(**_):\n    raise Full('of it')"
    ran = await refer(pool, text, {"out_ptr": out(1)})
    assert ran.failure["slug"] == "invalid_reference"
    assert ran.failure["message"] == "line 3: Full: of it"
