"""A faulty kernel stops before its bad access, and the finding has its place."""

import pytest

from tests.integration.launch.child_runs import (
    KERNELS,
    Buffer,
    View,
    out,
    run_kernel,
    uniform,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")

ARANGE = {"kind": "arange"}


async def found(device, kernel, arguments, *, grid=(1,), **constexprs):
    run = await run_kernel(device, "faulty.py", kernel, arguments, grid=grid, constexprs=constexprs)
    (finding,) = run.findings
    assert run.result["finished"] is False
    return finding


def line_of(text):
    lines = (KERNELS / "faulty.py").read_text().splitlines()
    (number,) = [n for n, line in enumerate(lines, 1) if text in line]
    return number


async def test_a_load_without_mask_reads_past_the_end(device):
    arguments = {
        "x_ptr": uniform(100), "y_ptr": uniform(100), "out_ptr": out(100), "n": 100,
    }  # fmt: skip
    finding = await found(device, "reads_past_the_end", arguments, grid=(4,), BLOCK=32)
    message = finding.pop("message")
    assert finding == {
        "kind": "out_of_bounds",
        "access": "read",
        "argument": "y_ptr",
        "index": [100],
        "file": "user.py",
        "line": line_of("y = tl.load(y_ptr + offsets)"),
        "column": 9,
        "program": [3, 0, 0],
        "diagnostics": None,
        "measure": None,
        "scope": None,
        "seeds": None,
        "case": None,
    }
    assert message.startswith(
        "program (3, 0, 0) reads y_ptr[100], 1 element past its end: it has 100 elements. "
        "28 lanes of the block do so."
    )


async def test_a_store_without_mask_writes_past_the_end_and_nothing_is_written(device):
    arguments = {"x_ptr": uniform(40), "out_ptr": out(40), "n": 40}
    run = await run_kernel(
        device, "faulty.py", "writes_past_the_end", arguments, grid=(2,), constexprs={"BLOCK": 32}
    )
    (finding,) = run.findings
    assert (finding["access"], finding["argument"]) == ("write", "out_ptr")
    assert (finding["index"], finding["program"]) == ([40], [1, 0, 0])
    assert finding["line"] == line_of("def writes_past_the_end") + 3
    assert set(run.stage("output:out_ptr")[32 * 4 :]) == {0xFF}


async def test_a_negative_index(device):
    arguments = {"x_ptr": uniform(32), "out_ptr": out(32), "n": 32}
    finding = await found(device, "looks_behind", arguments, BLOCK=32)
    assert (finding["argument"], finding["index"]) == ("x_ptr", [-1])
    assert "reads x_ptr[-1], 1 element before its start" in finding["message"]


async def test_elements_that_share_memory_are_said_to(device):
    """torch's expand makes such tensors: x_ptr[1] exists for the shape, but not for a pointer."""
    arguments = {
        "x_ptr": Buffer((32,), "fp32", ARANGE, strides=(0,), elements=1),
        "out_ptr": out(32),
    }
    text = """import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out_ptr + lanes, tl.load(x_ptr + lanes))
"""
    run = await run_kernel(device, text, "kernel", arguments, constexprs={"BLOCK": 32})
    assert (
        "past its end: it has 32 elements with strides [0], in 1 element of memory."
        in (run.findings[0]["message"])
    )


async def test_what_is_around_a_view_is_not_its_own(device):
    arguments = {
        "x_ptr": Buffer((64,), "fp32", ARANGE, output=True),
        "part_ptr": View("x_ptr", (32,), offset=16),
        "out_ptr": out(32),
    }
    text = """import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, part_ptr, out_ptr, SHIFT: tl.constexpr):
    lanes = tl.arange(0, 32)
    tl.store(out_ptr + lanes, tl.load(part_ptr + lanes + SHIFT))
"""
    runs = [
        await run_kernel(device, text, "kernel", arguments, constexprs={"SHIFT": shift})
        for shift in (-1, 0, 1)
    ]
    indices = [[finding["index"] for finding in run.findings] for run in runs]
    assert indices == [[[-1]], [], [[32]]]
    assert (
        "part_ptr[32], 1 element past its end: it has 32 elements" in runs[2].findings[0]["message"]
    )
    assert "Offsets must not be negative" in runs[0].findings[0]["message"]


async def test_a_mask_that_is_off_by_one(device):
    arguments = {"x_ptr": uniform(40), "out_ptr": out(40), "n": 40}
    finding = await found(device, "masks_one_too_many", arguments, grid=(2,), BLOCK=32)
    assert (finding["access"], finding["index"], finding["program"]) == ("read", [40], [1, 0, 0])
    assert finding["message"].endswith(
        "Its mask includes one lane too many: use < instead of <=, or correct the argument that "
        "bounds it if that exceeds the size of x_ptr."
    )


async def test_a_mask_that_compares_with_another_size(device):
    arguments = {"x_ptr": uniform(100), "out_ptr": out(10), "n": 100}
    finding = await found(device, "masks_by_another_size", arguments, BLOCK=128)
    assert (finding["argument"], finding["index"]) == ("out_ptr", [10])
    assert "compare each offset with the size of out_ptr" in finding["message"]


ROWS = """    rows = tl.program_id(0) * B + tl.arange(0, B)
    cols = tl.arange(0, B)
    where = rows[:, None] * n_cols + cols[None, :]
"""
ADVICE = {
    "the comparison that another access makes of its variable": (
        "    cols = tl.arange(0, B)\n"
        "    x = tl.load(x_ptr + cols)\n"
        "    tl.store(out_ptr + cols, x, mask=cols < n_cols)\n",
        "Give tl.load a mask that keeps cols inside x_ptr, such as mask=cols < n_cols.",
    ),
    "its variable alone, where nothing bounds it": (
        "    idx = tl.arange(0, B)\n    tl.store(out_ptr, tl.sum(tl.load(x_ptr + idx)))\n",
        "Give tl.load a mask that keeps idx inside x_ptr.",
    ),
    "nothing, where it has no variable": (
        "    tl.store(out_ptr, tl.sum(tl.load(x_ptr + tl.arange(0, B))))\n",
        "Give tl.load a mask that keeps offsets inside x_ptr.",
    ),
    "rows and columns of the variable that is made of them": (
        f"{ROWS}    x = tl.load(x_ptr + where)\n"
        "    tl.store(out_ptr + where, x, mask=(rows[:, None] < n) & (cols[None, :] < n_cols))\n",
        "such as mask=(rows[:, None] < n) & (cols[None, :] < n_cols).",
    ),
    "what the mask lacks, though it is true in all lanes": (
        f"{ROWS}    x = tl.load(x_ptr + where, mask=cols[None, :] < 16)\n"
        "    tl.store(out_ptr + where, x, mask=rows[:, None] < n)\n",
        "Its mask does not exclude this offset: add rows[:, None] < n.",
    ),
    "the size, where the mask has no <=": (
        "    i = tl.arange(0, B)\n    tl.load(x_ptr + i * 0 + 30 + n, mask=i < 1)\n",
        "Its mask does not exclude this offset: compare each offset with the size of x_ptr.",
    ),
}


@pytest.mark.parametrize("what", ADVICE)
async def test_the_advice_for_a_mask_names(what, device):
    text, words = ADVICE[what]
    source = (
        "import triton\nimport triton.language as tl\n\n@triton.jit\n"
        f"def kernel(x_ptr, out_ptr, n, n_cols, B: tl.constexpr):\n{text}"
    )
    arguments = {"x_ptr": uniform(40), "out_ptr": out(40), "n": 10, "n_cols": 4}
    run = await run_kernel(device, source, "kernel", arguments, constexprs={"B": 64})
    assert run.findings[0]["message"].endswith(words)


async def test_a_descriptor_of_more_than_there_is(device):
    arguments = {"x_ptr": uniform(8, 32), "out_ptr": out(32)}
    finding = await found(device, "describes_too_much", arguments)
    assert (finding["argument"], finding["index"]) == ("x_ptr", [8, 0])
    assert "give it the shape and strides of x_ptr" in finding["message"]


async def test_an_atomic_beyond_the_end(device):
    arguments = {
        "x_ptr": Buffer((16,), "i32", ARANGE),
        "counts_ptr": Buffer((4, 3), "i32", {"kind": "zeros"}, output=True),
    }
    finding = await found(device, "counts_beyond", arguments, BLOCK=16)
    assert (finding["access"], finding["argument"]) == ("write", "counts_ptr")
    assert finding["index"] == [4, 0]
    assert "atomically updates counts_ptr[4, 0]" in finding["message"]


async def test_a_compare_and_swap_beyond_the_end(device):
    arguments = {"flag_ptr": Buffer((3,), "i32", {"kind": "zeros"}, output=True)}
    finding = await found(device, "swaps_beyond", arguments)
    assert (finding["argument"], finding["index"]) == ("flag_ptr", [3])
    advice = "tl.atomic_cas takes no mask: put it under an `if` that keeps its offsets inside "
    assert finding["message"].endswith(f"{advice}flag_ptr.")


async def test_a_row_too_many_is_named_in_the_argument_s_own_shape(device):
    arguments = {"out_ptr": out(5, 10), "n_rows": 5, "n_columns": 10}
    finding = await found(device, "stores_in_rows", arguments, grid=(6,), BLOCK=16)
    assert (finding["index"], finding["program"]) == ([5, 0], [5, 0, 0])
    assert "its shape is [5, 10]" in finding["message"]


async def test_a_helper_s_access_is_found_at_the_helper_s_line(device):
    arguments = {"x_ptr": uniform(32), "out_ptr": out(32)}
    finding = await found(device, "reads_in_a_helper", arguments, BLOCK=32)
    assert finding["line"] == line_of("return tl.load(pointer + offsets)")
    assert (finding["argument"], finding["index"]) == ("x_ptr", [32])


async def test_an_invented_address_belongs_to_no_argument(device):
    arguments = {"x_ptr": Buffer((1,), "i64", {"kind": "full", "value": 4096}), "out_ptr": out(1)}
    finding = await found(device, "reads_wild", arguments)
    assert (finding["kind"], finding["argument"], finding["index"]) == (
        "illegal_access",
        None,
        None,
    )
    assert "address 0x1000, which belongs to no argument" in finding["message"]


async def test_an_address_between_elements_is_misaligned(device):
    arguments = {"x_ptr": uniform(4), "out_ptr": out(1)}
    finding = await found(device, "reads_between", arguments)
    assert (finding["kind"], finding["argument"]) == ("misaligned_access", "x_ptr")
    assert "reads 4 bytes at byte 2 of x_ptr" in finding["message"]


async def test_a_read_between_the_elements_of_an_input_reads_unwritten_memory(device):
    arguments = {"x_ptr": Buffer((4, 3), "fp32", ARANGE, strides=(4, 1), elements=16)}
    arguments |= {"out_ptr": out(16)}
    text = """import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, out_ptr, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out_ptr + lanes, tl.load(x_ptr + lanes))
"""
    for lanes, findings in ((2, []), (8, [[3]])):
        run = await run_kernel(
            device, text, "kernel", arguments, constexprs={"N": lanes}, checks=["initcheck"]
        )
        assert [finding["index"] for finding in run.findings] == findings


async def test_a_read_of_unwritten_memory_is_found_when_asked_for(device):
    run = await run_kernel(
        device, "faulty.py", "accumulates", {"out_ptr": out(8)}, constexprs={"BLOCK": 8},
        checks=["initcheck"],
    )  # fmt: skip
    (finding,) = run.findings
    assert (finding["kind"], finding["argument"], finding["index"]) == (
        "uninitialized", "out_ptr", [0],
    )  # fmt: skip
    assert run.result["finished"] is True


async def test_a_changed_input_is_reported(device):
    arguments = {"x_ptr": Buffer((8,), "fp32", {"kind": "ones"}), "out_ptr": out(8)}
    run = await run_kernel(
        device, "faulty.py", "changes_its_input", arguments, constexprs={"BLOCK": 8}
    )
    assert run.result["modified"] == [{"argument": "x_ptr", "elements": 1, "first_index": [5]}]
