"""Correct kernels give NumPy's results on the CPU device."""

import numpy as np
import pytest

from tests.integration.launch.child_runs import (
    Buffer,
    Descriptor,
    View,
    out,
    run_kernel,
    uniform,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")


def made(*shape, seed):
    """Return the elements of `uniform(...)`, by the recipe that the API documents."""
    generator = np.random.Generator(np.random.Philox(seed))
    return generator.uniform(0, 1, shape).astype(np.float32)


async def puzzle(device, kernel, arguments, constexprs, grid=(1,)):
    return await run_kernel(
        device, "puzzles.py", kernel, arguments, constexprs=constexprs, grid=grid
    )


async def test_a_constant_is_added_by_one_program(device):
    arguments = {"x_ptr": uniform(32), "z_ptr": out(32), "N0": 32}
    run = await puzzle(device, "add_ten", arguments, {"B0": 32})
    assert run.findings == []
    assert np.array_equal(run.output("z_ptr"), made(32, seed=1) + 10)


async def test_a_constant_is_added_by_programs_the_last_of_which_is_masked(device):
    arguments = {"x_ptr": uniform(200), "z_ptr": out(200), "N0": 200}
    run = await puzzle(device, "add_ten_in_blocks", arguments, {"B0": 32}, grid=(7,))
    assert run.findings == []
    assert np.array_equal(run.output("z_ptr"), made(200, seed=1) + 10)


async def test_an_outer_sum(device):
    arguments = {
        "x_ptr": uniform(32), "y_ptr": uniform(32, seed=2), "z_ptr": out(32, 32), "N0": 32,
        "N1": 32,
    }  # fmt: skip
    run = await puzzle(device, "outer_sum", arguments, {"B0": 32, "B1": 32})
    assert np.array_equal(
        run.output("z_ptr"), made(32, seed=1)[None, :] + made(32, seed=2)[:, None]
    )


@pytest.mark.parametrize(
    ("kernel", "combine"),
    [
        ("outer_sum_in_blocks", np.add),
        ("outer_product_relu", lambda x, y: np.maximum(x * y, 0)),
    ],
)
async def test_a_grid_of_two_dimensions(device, kernel, combine):
    arguments = {
        "x_ptr": uniform(100), "y_ptr": uniform(90, seed=2), "z_ptr": out(90, 100), "N0": 100,
        "N1": 90,
    }  # fmt: skip
    run = await puzzle(device, kernel, arguments, {"B0": 32, "B1": 32}, grid=(4, 3))
    assert run.findings == []
    expected = combine(made(100, seed=1)[None, :], made(90, seed=2)[:, None])
    assert np.array_equal(run.output("z_ptr"), expected)


async def test_a_gradient(device):
    arguments = {
        "x_ptr": uniform(90, 100), "y_ptr": uniform(90, seed=2), "dz_ptr": uniform(90, 100, seed=3),
        "dx_ptr": out(90, 100), "N0": 100, "N1": 90,
    }  # fmt: skip
    run = await puzzle(
        device, "product_relu_gradient", arguments, {"B0": 32, "B1": 32}, grid=(4, 3)
    )
    assert run.findings == []
    x, y, dz = made(90, 100, seed=1), made(90, seed=2)[:, None], made(90, 100, seed=3)
    assert np.array_equal(run.output("dx_ptr"), np.where(x * y > 0, dz, 0) * y)


async def test_a_softmax_in_chunks(device):
    arguments = {"x_ptr": uniform(4, 200), "z_ptr": out(4, 200), "N0": 4, "N1": 32, "TN1": 200}
    run = await puzzle(device, "long_softmax", arguments, {"B0": 1, "B1": 32}, grid=(4,))
    assert run.findings == []
    powers = np.exp(made(4, 200, seed=1).astype(np.float64))
    assert np.allclose(run.output("z_ptr"), powers / powers.sum(1, keepdims=True), rtol=1e-5)


async def test_a_convolution(device):
    arguments = {
        "x_ptr": uniform(4, 8, 8), "k_ptr": uniform(4, 4, seed=2), "z_ptr": out(4, 8, 8), "N0": 4,
        "N1": 32, "H": 8, "W": 8,
    }  # fmt: skip
    constexprs = {"KH": 4, "KW": 4, "B0": 1, "B1": 32}
    run = await puzzle(device, "convolution", arguments, constexprs, grid=(4,))
    assert run.findings == []
    padded = np.pad(made(4, 8, 8, seed=1), ((0, 0), (0, 3), (0, 3)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (4, 4), axis=(1, 2))
    expected = (windows * made(4, 4, seed=2)).sum(axis=(3, 4))
    assert np.allclose(run.output("z_ptr"), expected, rtol=1e-5)


async def test_a_vector_add_of_many_programs(device):
    arguments = {
        "x_ptr": uniform(98432), "y_ptr": uniform(98432, seed=2), "output_ptr": out(98432),
        "n_elements": 98432,
    }  # fmt: skip
    run = await run_kernel(
        device,
        "vector_add.py",
        "add_kernel",
        arguments,
        constexprs={"BLOCK_SIZE": 1024},
        grid=(97,),
    )
    assert run.findings == []
    assert np.array_equal(run.output("output_ptr"), made(98432, seed=1) + made(98432, seed=2))


async def test_a_matmul_of_a_transposed_half_matrix(device):
    arguments = {
        "a_ptr": uniform(48, 40, dtype="fp16"),
        "b_ptr": uniform(40, 56, dtype="fp16", seed=2, strides=(1, 40)),
        "c_ptr": out(48, 56, dtype="fp16"),
        "M": 48, "N": 56, "K": 40, "stride_am": 40, "stride_ak": 1, "stride_bk": 1,
        "stride_bn": 40, "stride_cm": 56, "stride_cn": 1,
    }  # fmt: skip
    run = await run_kernel(
        device, "matmul.py", "matmul_kernel", arguments, grid=(2, 2),
        constexprs={"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 16},
    )  # fmt: skip
    assert run.findings == []
    a = made(48, 40, seed=1).astype(np.float16).astype(np.float32)
    b = made(40, 56, seed=2).astype(np.float16).astype(np.float32)
    assert np.allclose(run.output("c_ptr"), a @ b, rtol=2e-3)


async def test_a_softmax_of_bfloat16(device):
    arguments = {
        "output_ptr": out(8, 781, dtype="fp32"), "input_ptr": uniform(8, 781, dtype="bf16"),
        "input_row_stride": 781, "n_cols": 781,
    }  # fmt: skip
    source = SOFTMAX_OF_BF16
    run = await run_kernel(
        device, source, "softmax_kernel", arguments, constexprs={"BLOCK_SIZE": 1024}, grid=(8,)
    )
    assert run.findings == []
    assert np.allclose(run.output("output_ptr").sum(1), 1, atol=1e-3)


SOFTMAX_OF_BF16 = """import triton
import triton.language as tl

@triton.jit
def softmax_kernel(output_ptr, input_ptr, input_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE)
    x = tl.load(input_ptr + tl.program_id(0) * input_row_stride + lanes, lanes < n_cols, 0.0)
    powers = tl.where(lanes < n_cols, tl.exp(x.to(tl.float32)), 0)
    y = powers / tl.sum(powers, axis=0)
    tl.store(output_ptr + tl.program_id(0) * n_cols + lanes, y, mask=lanes < n_cols)
"""


async def test_a_fused_softmax(device):
    arguments = {
        "output_ptr": out(8, 781), "input_ptr": uniform(8, 781), "input_row_stride": 781,
        "n_cols": 781,
    }  # fmt: skip
    run = await run_kernel(
        device,
        "softmax.py",
        "softmax_kernel",
        arguments,
        constexprs={"BLOCK_SIZE": 1024},
        grid=(8,),
    )
    assert run.findings == []
    powers = np.exp(made(8, 781, seed=1).astype(np.float64))
    assert np.allclose(run.output("output_ptr"), powers / powers.sum(1, keepdims=True), rtol=1e-5)


async def test_aliases_see_each_other_s_writes(device):
    arguments = {
        "x_ptr": Buffer((64,), init={"kind": "arange"}, output=True),
        "z_ptr": View("x_ptr", (32,), offset=32, output=True),
        "N0": 32,
    }
    run = await puzzle(device, "add_ten", arguments, {"B0": 32})
    assert run.output("x_ptr").tolist() == [*range(32), *range(10, 42)]
    assert run.output("z_ptr").tolist() == [*range(10, 42)]


DESCRIPTOR = """import triton
import triton.language as tl

@triton.jit
def double_block(x, pair, z_ptr, WIDTH: tl.constexpr):
    block = x.load([0, 16])
    rows = tl.arange(0, 8)[:, None]
    columns = tl.arange(0, 16)[None, :]
    y_ptr, factor = pair
    y = tl.load(y_ptr + columns)
    tl.store(z_ptr + rows * WIDTH + columns, block * factor + y)
"""


async def test_tuples_and_tensor_descriptors_are_arguments(device):
    arguments = {
        "x": Descriptor(Buffer((8, 32), init={"kind": "arange"}), [8, 16]),
        "pair": (Buffer((16,), init={"kind": "ones"}), 2),
        "z_ptr": out(8, 16),
    }
    run = await run_kernel(device, DESCRIPTOR, "double_block", arguments, constexprs={"WIDTH": 16})
    expected = np.arange(8 * 32, dtype=np.float32).reshape(8, 32)[:, 16:] * 2 + 1
    assert np.array_equal(run.output("z_ptr"), expected)


async def test_two_runs_are_compared_when_asked(device):
    arguments = {"x_ptr": uniform(32), "z_ptr": out(32), "N0": 32}
    run = await run_kernel(
        device, "puzzles.py", "add_ten", arguments, constexprs={"B0": 32}, checks=["determinism"]
    )
    assert run.result["deterministic"] is True


async def test_a_trace_holds_the_accesses_of_one_program(device):
    arguments = {"x_ptr": uniform(40), "z_ptr": out(40), "N0": 40}
    run = await run_kernel(
        device, "puzzles.py", "add_ten_in_blocks", arguments, constexprs={"B0": 32}, grid=(2,),
        trace={"programs": [[1, 0, 0]], "max_accesses": 10},
    )  # fmt: skip
    trace = run.trace()
    assert trace["truncated"] is False
    load, store = trace["accesses"]
    assert (load["op"], load["argument"], load["line"]) == ("load", "x_ptr", 17)
    assert (store["op"], store["argument"], store["line"]) == ("store", "z_ptr", 18)
    assert load["program"] == [1, 0, 0]
    assert load["indices"] == [[i] for i in range(32, 40)] + [None] * 24
    assert load["mask"] == [True] * 8 + [False] * 24


async def test_a_trace_has_accesses_whose_lanes_are_all_masked(device):
    arguments = {"x_ptr": uniform(40), "z_ptr": out(40), "N0": 0}
    run = await run_kernel(
        device, "puzzles.py", "add_ten_in_blocks", arguments, constexprs={"B0": 32}, trace={}
    )
    load, store = run.trace()["accesses"]
    assert (load["argument"], store["argument"]) == ("x_ptr", "z_ptr")
    assert load["mask"] == [False] * 32
    assert load["indices"] == [None] * 32


async def test_a_trace_ends_with_the_program_whose_load_is_out_of_bounds(device):
    arguments = {"x_ptr": uniform(40), "z_ptr": out(40), "N0": 44}
    run = await run_kernel(
        device, "puzzles.py", "add_ten_in_blocks", arguments, constexprs={"B0": 32}, grid=(2,),
        trace={"programs": [[1, 0, 0]], "max_accesses": 10},
    )  # fmt: skip
    load, store = run.trace()["accesses"]
    assert (store["op"], store["argument"]) == ("store", "z_ptr")
    assert (load["op"], load["argument"], load["line"]) == ("load", "x_ptr", 17)
    assert load["indices"] == [[i] for i in range(32, 44)] + [None] * 20


async def test_a_trace_is_cut_where_it_was_said(device):
    arguments = {"x_ptr": uniform(40), "z_ptr": out(40), "N0": 40}
    run = await run_kernel(
        device, "puzzles.py", "add_ten_in_blocks", arguments, constexprs={"B0": 32}, grid=(2,),
        trace={"programs": [], "max_accesses": 3},
    )  # fmt: skip
    assert run.trace()["truncated"] is True
    assert [access["step"] for access in run.trace()["accesses"]] == [0, 1, 2]


async def test_functions_types_defaults_further_files_and_a_tuned_kernel_that_was_not_cut(device):
    helpers = "import triton\n\n@triton.jit\ndef twice(x):\n    return x + x\n"
    arguments = {"x_ptr": Buffer((5,), init={"kind": "arange"}), "z_ptr": out(5), "n": 5}
    run = await run_kernel(
        device, "chosen.py", "apply", arguments, files={"helpers.py": helpers},
        constexprs={"N": 8, "FUNCTION": {"function": "square"}, "TYPE": {"dtype": "fp16"}},
    )  # fmt: skip
    assert run.output("z_ptr").tolist() == [3, 5, 11, 21, 35]
