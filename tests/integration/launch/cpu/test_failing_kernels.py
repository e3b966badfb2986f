"""Kernels that fail on the CPU device, print, or do not end."""

import pytest

from tests.integration.launch.child_runs import (
    Buffer,
    out,
    run_kernel,
    uniform,
)
from tests.integration.launch.cpu.test_findings import ARANGE, found, line_of
from worker.pool.child_outcome import Ending

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_an_assertion_that_fails(device):
    arguments = {"x_ptr": Buffer((8,), "i32", ARANGE), "out_ptr": out(8, dtype="i32")}
    finding = await found(device, "asserts", arguments, BLOCK=8)
    assert finding["kind"] == "assertion_failed"
    assert finding["line"] == line_of("tl.device_assert")
    assert "x is too large" in finding["message"]


async def test_a_plain_assert_that_fails(device):
    text = """import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    assert tl.load(x_ptr) > 5, "too small"
"""
    run = await run_kernel(device, text, "kernel", {"x_ptr": uniform(1)})
    (finding,) = run.findings
    assert (finding["kind"], finding["line"]) == ("assertion_failed", 6)
    assert finding["message"] == "program (0, 0, 0): tl.device_assert failed: too small"


async def test_what_a_kernel_prints_is_kept(device):
    arguments = {"x_ptr": Buffer((4,), "i32", ARANGE), "out_ptr": out(4, dtype="i32")}
    run = await run_kernel(device, "faulty.py", "prints", arguments, constexprs={"BLOCK": 4})
    assert run.outcome.stdout.split() == b"(0, 0, 0) x is: [0 1 2 3]".split()


async def test_endless_printing_is_cut_and_ends_nothing(device):
    arguments = {"x_ptr": uniform(1), "out_ptr": out(1), "n": 2_000}
    run = await run_kernel(device, "faulty.py", "prints_without_end", arguments)
    assert run.result["finished"] is True
    assert run.outcome.stdout.endswith(b"... the rest of the output is left out\n")


async def test_an_endless_loop_ends_at_its_deadline(device):
    arguments = {"x_ptr": Buffer((1,), "fp32", {"kind": "zeros"}), "out_ptr": out(1)}
    run = await run_kernel(device, "faulty.py", "never_ends", arguments, deadline_s=0.5)
    assert run.outcome.ending is Ending.DEADLINE
