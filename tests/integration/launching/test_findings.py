"""A faulty kernel is stopped before it touches anything, and told what it did where."""

import pytest

from tests.integration.launching.launch import KERNELS, Buffer, interpret, out, uniform
from worker.outcome import Ending

pytestmark = pytest.mark.asyncio(loop_scope="session")

ARANGE = {"kind": "arange"}


async def found(pool, kernel, arguments, *, grid=(1,), **constexprs):
    run = await interpret(pool, "faulty.py", kernel, arguments, grid=grid, constexprs=constexprs)
    (finding,) = run.findings
    assert run.result["finished"] is False
    return finding


def line_of(text):
    lines = (KERNELS / "faulty.py").read_text().splitlines()
    (number,) = [n for n, line in enumerate(lines, 1) if text in line]
    return number


async def test_a_load_without_mask_reads_past_the_end(pool):
    arguments = {
        "x_ptr": uniform(100), "y_ptr": uniform(100), "out_ptr": out(100), "n": 100,
    }  # fmt: skip
    finding = await found(pool, "reads_past_the_end", arguments, grid=(4,), BLOCK=32)
    message = finding.pop("message")
    assert finding == {
        "kind": "out_of_bounds",
        "access": "read",
        "argument": "y_ptr",
        "index": [100],
        "file": "user.py",
        "line": line_of("y = tl.load(y_ptr + offsets)"),
        "program": [3, 0, 0],
        "excerpt": "    y = tl.load(y_ptr + offsets)",
    }
    assert message.startswith(
        "program (3, 0, 0) reads y_ptr[100], 1 element past its end: it has 100 elements. "
        "28 lanes of the block do so."
    )


async def test_a_store_without_mask_writes_past_the_end_and_nothing_is_written(pool):
    arguments = {"x_ptr": uniform(40), "out_ptr": out(40), "n": 40}
    run = await interpret(
        pool, "faulty.py", "writes_past_the_end", arguments, grid=(2,), constexprs={"BLOCK": 32}
    )
    (finding,) = run.findings
    assert (finding["access"], finding["argument"]) == ("write", "out_ptr")
    assert (finding["index"], finding["program"]) == ([40], [1, 0, 0])
    assert finding["excerpt"] == "    tl.store("
    assert set(run.stage("output:out_ptr")[32 * 4 :]) == {0xFF}


async def test_a_negative_index(pool):
    arguments = {"x_ptr": uniform(32), "out_ptr": out(32), "n": 32}
    finding = await found(pool, "looks_behind", arguments, BLOCK=32)
    assert (finding["argument"], finding["index"]) == ("x_ptr", [-1])
    assert "reads x_ptr[-1], 1 element before its start" in finding["message"]


async def test_an_atomic_beyond_the_end(pool):
    arguments = {
        "x_ptr": Buffer((16,), "i32", ARANGE),
        "counts_ptr": Buffer((4, 3), "i32", {"kind": "zeros"}, output=True),
    }
    finding = await found(pool, "counts_beyond", arguments, BLOCK=16)
    assert (finding["access"], finding["argument"]) == ("write", "counts_ptr")
    assert finding["index"] == [4, 0]
    assert "atomically updates counts_ptr[4, 0]" in finding["message"]


async def test_a_compare_and_swap_beyond_the_end(pool):
    arguments = {"flag_ptr": Buffer((3,), "i32", {"kind": "zeros"}, output=True)}
    finding = await found(pool, "swaps_beyond", arguments)
    assert (finding["argument"], finding["index"]) == ("flag_ptr", [3])


async def test_a_row_too_many_is_named_in_the_argument_s_own_shape(pool):
    arguments = {"out_ptr": out(5, 10), "n_rows": 5, "n_columns": 10}
    finding = await found(pool, "stores_in_rows", arguments, grid=(6,), BLOCK=16)
    assert (finding["index"], finding["program"]) == ([5, 0], [5, 0, 0])
    assert "its shape is [5, 10]" in finding["message"]


async def test_a_helper_s_access_is_found_at_the_helper_s_line(pool):
    arguments = {"x_ptr": uniform(32), "out_ptr": out(32)}
    finding = await found(pool, "reads_in_a_helper", arguments, BLOCK=32)
    assert finding["line"] == line_of("return tl.load(pointer + offsets)")
    assert (finding["argument"], finding["index"]) == ("x_ptr", [32])


async def test_an_invented_address_is_nobody_s(pool):
    arguments = {"x_ptr": Buffer((1,), "i64", {"kind": "full", "value": 4096}), "out_ptr": out(1)}
    finding = await found(pool, "reads_wild", arguments)
    assert (finding["kind"], finding["argument"], finding["index"]) == ("out_of_bounds", None, None)
    assert "address 0x1000, which belongs to no argument" in finding["message"]


async def test_an_address_between_elements_is_misaligned(pool):
    arguments = {"x_ptr": uniform(4), "out_ptr": out(1)}
    finding = await found(pool, "reads_between", arguments)
    assert (finding["kind"], finding["argument"]) == ("misaligned_access", "x_ptr")
    assert "reads 4 bytes at byte 2 of x_ptr" in finding["message"]


async def test_an_assertion_that_fails(pool):
    arguments = {"x_ptr": Buffer((8,), "i32", ARANGE), "out_ptr": out(8, dtype="i32")}
    finding = await found(pool, "asserts", arguments, BLOCK=8)
    assert finding["kind"] == "assertion_failed"
    assert finding["line"] == line_of("tl.device_assert")
    assert "x is too large" in finding["message"]


async def test_a_read_of_what_nobody_wrote_is_found_when_asked(pool):
    run = await interpret(
        pool, "faulty.py", "accumulates", {"out_ptr": out(8)}, constexprs={"BLOCK": 8},
        checks=["initcheck"],
    )  # fmt: skip
    (finding,) = run.findings
    assert (finding["kind"], finding["argument"], finding["index"]) == (
        "uninitialized", "out_ptr", [0],
    )  # fmt: skip
    assert run.result["finished"] is True


async def test_a_changed_input_is_reported(pool):
    arguments = {"x_ptr": Buffer((8,), "fp32", {"kind": "ones"}), "out_ptr": out(8)}
    run = await interpret(
        pool, "faulty.py", "changes_its_input", arguments, constexprs={"BLOCK": 8}
    )
    assert run.result["modified"] == [{"argument": "x_ptr", "elements": 1, "first_index": [5]}]


async def test_what_a_kernel_prints_is_kept(pool):
    arguments = {"x_ptr": Buffer((4,), "i32", ARANGE), "out_ptr": out(4, dtype="i32")}
    run = await interpret(pool, "faulty.py", "prints", arguments, constexprs={"BLOCK": 4})
    assert run.outcome.stdout.split() == b"(0, 0, 0) x is: [0 1 2 3]".split()


async def test_endless_printing_is_cut_and_ends_nothing(pool):
    arguments = {"x_ptr": uniform(1), "out_ptr": out(1), "n": 20_000}
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
