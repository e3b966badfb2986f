"""Kernels that fail in the interpreter, print, or do not end."""

import pytest

from tests.integration.launch.interpreter.interpreting import (
    Buffer,
    interpret,
    out,
    uniform,
)
from tests.integration.launch.interpreter.test_findings import ARANGE, found, line_of
from worker.pool.child_outcome import Ending

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_an_assertion_that_fails(pool):
    arguments = {"x_ptr": Buffer((8,), "i32", ARANGE), "out_ptr": out(8, dtype="i32")}
    finding = await found(pool, "asserts", arguments, BLOCK=8)
    assert finding["kind"] == "assertion_failed"
    assert finding["line"] == line_of("tl.device_assert")
    assert "x is too large" in finding["message"]


async def test_a_plain_assert_that_fails(pool):
    text = """import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    assert tl.load(x_ptr) > 5, "too small"
"""
    run = await interpret(pool, text, "kernel", {"x_ptr": uniform(1)})
    (finding,) = run.findings
    assert (finding["kind"], finding["line"]) == ("assertion_failed", 6)
    assert finding["message"] == "program (0, 0, 0): assert failed: too small"


async def test_a_static_assert_that_fails_is_a_failure_at_its_line(pool):
    text = """import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, N: tl.constexpr):
    tl.static_assert(N % 16 == 0, "N must be a multiple of 16")
"""
    arguments = {"x_ptr": uniform(1)}
    run = await interpret(pool, text, "kernel", arguments, constexprs={"N": 8})
    (found, *_) = run.failure["diagnostics"]
    assert (run.failure["slug"], found["line"]) == ("compile_error", 6)
    assert found["message"] == "tl.static_assert failed: N must be a multiple of 16"


async def test_what_a_kernel_prints_is_kept(pool):
    arguments = {"x_ptr": Buffer((4,), "i32", ARANGE), "out_ptr": out(4, dtype="i32")}
    run = await interpret(pool, "faulty.py", "prints", arguments, constexprs={"BLOCK": 4})
    assert run.outcome.stdout.split() == b"(0, 0, 0) x is: [0 1 2 3]".split()


async def test_endless_printing_is_cut_and_ends_nothing(pool):
    arguments = {"x_ptr": uniform(1), "out_ptr": out(1), "n": 2_000}
    run = await interpret(pool, "faulty.py", "prints_without_end", arguments)
    assert run.result["finished"] is True
    assert run.outcome.stdout.endswith(b"... the rest of the output is left out\n")


async def test_an_endless_loop_ends_at_its_deadline(pool):
    arguments = {"x_ptr": Buffer((1,), "fp32", {"kind": "zeros"}), "out_ptr": out(1)}
    run = await interpret(pool, "faulty.py", "never_ends", arguments, deadline_s=0.5)
    assert run.outcome.ending is Ending.DEADLINE


async def test_an_unknown_name_is_a_failure_at_its_line(pool):
    arguments = {"x_ptr": uniform(8), "out_ptr": out(8)}
    run = await interpret(pool, "faulty.py", "misspells", arguments, constexprs={"BLOCK": 8})
    assert run.failure["slug"] == "compile_error"
    (found, *_) = run.failure["diagnostics"]
    assert found["line"] == line_of("x = tl.load(x_ptr + offset)")
    assert "'offset' is not defined" in found["message"]


async def test_shapes_that_do_not_fit_are_a_failure_at_their_line(pool):
    run = await interpret(
        pool, "faulty.py", "adds_shapes", {"x_ptr": uniform(32), "out_ptr": out(64)}
    )
    (found, *_) = run.failure["diagnostics"]
    assert found["line"] == line_of("x + tl.arange(0, 64)")
    assert "incompatible dimensions" in found["message"]


async def test_a_kernel_that_is_not_there(pool):
    run = await interpret(pool, "faulty.py", "asert", {})
    assert run.failure["slug"] == "unknown_kernel"
    assert "Did you mean 'asserts'?" in run.failure["message"]


async def test_a_parameter_without_value(pool):
    run = await interpret(pool, "faulty.py", "asserts", {"x_ptr": uniform(8), "out_ptr": out(8)})
    assert run.failure["slug"] == "missing_constexpr"
    assert "'BLOCK' has no value" in run.failure["message"]
