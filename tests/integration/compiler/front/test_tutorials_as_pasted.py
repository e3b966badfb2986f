"""Host code of Triton's tutorials: the file compiles as it was pasted."""

from __future__ import annotations

from tests.integration.compiler.children import Children
from tests.integration.compiler.front.test_launches_of_scripts import TARGET
from tests.integration.compiler.front.test_modules_of_packages import (
    HEAD,
    KERNEL,
    compile_text,
    stored,
)

SOFTMAX = """
import torch
import triton
import triton.language as tl
from triton.runtime import driver

DEVICE = triton.runtime.driver.active.get_active_torch_device()


def is_hip():
    return triton.runtime.driver.active.get_current_target().backend == "hip"


def is_cdna():
    return is_hip() and triton.runtime.driver.active.get_current_target().arch in ("gfx942",)


@triton.jit
def softmax_kernel(output_ptr, input_ptr, input_row_stride, output_row_stride, n_rows, n_cols,
                   BLOCK_SIZE: tl.constexpr, num_stages: tl.constexpr):
    row_start = tl.program_id(0)
    row_step = tl.num_programs(0)
    for row_idx in tl.range(row_start, n_rows, row_step, num_stages=num_stages):
        row_start_ptr = input_ptr + row_idx * input_row_stride
        col_offsets = tl.arange(0, BLOCK_SIZE)
        mask = col_offsets < n_cols
        row = tl.load(row_start_ptr + col_offsets, mask=mask, other=-float("inf"))
        row_minus_max = row - tl.max(row, axis=0)
        numerator = tl.exp(row_minus_max)
        softmax_output = numerator / tl.sum(numerator, axis=0)
        output_row_start_ptr = output_ptr + row_idx * output_row_stride
        tl.store(output_row_start_ptr + col_offsets, softmax_output, mask=mask)


properties = driver.active.utils.get_device_properties(DEVICE.index)
NUM_SM = properties["multiprocessor_count"]
NUM_REGS = properties["max_num_regs"]
SIZE_SMEM = properties["max_shared_mem"]
WARP_SIZE = properties["warpSize"]
target = triton.runtime.driver.active.get_current_target()
kernels = {}


def softmax(x):
    n_rows, n_cols = x.shape
    BLOCK_SIZE = triton.next_power_of_2(n_cols)
    num_warps = 8
    num_stages = 4 if SIZE_SMEM > 200000 else 2
    y = torch.empty_like(x)
    kernel = softmax_kernel.warmup(y, x, x.stride(0), y.stride(0), n_rows, n_cols,
                                   BLOCK_SIZE=BLOCK_SIZE, num_stages=num_stages,
                                   num_warps=num_warps, grid=(1, ))
    kernel._init_handles()
    n_regs = kernel.n_regs
    size_smem = kernel.metadata.shared
    if is_hip():
        NUM_GPRS = NUM_REGS * 2 if is_cdna() else NUM_REGS
        occupancy = min(NUM_GPRS // WARP_SIZE // n_regs, 32) // num_warps
    else:
        occupancy = NUM_REGS // (n_regs * WARP_SIZE * num_warps)
    occupancy = min(occupancy, SIZE_SMEM // size_smem)
    num_programs = min(NUM_SM * occupancy, n_rows)
    kernel[(num_programs, 1, 1)](y, x, x.stride(0), y.stride(0), n_rows, n_cols, BLOCK_SIZE,
                                 num_stages)
    return y


torch.manual_seed(0)
x = torch.randn(1823, 781, device=DEVICE)
y_triton = softmax(x)
y_torch = torch.softmax(x, axis=1)
assert torch.allclose(y_triton, y_torch), (y_triton, y_torch)
"""


def test_the_softmax_tutorial_compiles(children: Children) -> None:
    header = {
        "task": "front",
        "kernel": None,
        "files": {},
        "signature": {
            "output_ptr": "*fp32", "input_ptr": "*fp32", "input_row_stride": "i32",
            "output_row_stride": "i32", "n_rows": "i32", "n_cols": "i32",
        },
        "constexprs": {"BLOCK_SIZE": {"int": "1024"}, "num_stages": {"int": "4"}},
        "options": {"enable_fp_fusion": True},
        "target": TARGET,
        "stop_after": "ttir",
    }  # fmt: skip

    assert b"tt.reduce" in children.run(header, SOFTMAX.encode()).stages["ttir"]


def test_the_warmup_of_the_softmax_tutorial_is_its_launch(children: Children) -> None:
    header = {"task": "launches", "kernel": None, "target": TARGET}

    (launch,) = children.run(header, SOFTMAX.encode()).result["launches"]

    values = {each["name"]: each["value"] or each["type"] for each in launch["parameters"]}
    assert values["input_ptr"] == "*fp32"
    assert values["BLOCK_SIZE"] == {"int": "1024"}
    assert values["num_stages"] == {"int": "4"}
    assert launch["options"] == {"num_warps": 8, "num_stages": 4}


ASKS = "from triton.runtime import driver\nP = driver.active.utils.get_device_properties(0)\n"


def test_a_kernel_that_uses_the_multiprocessors_assumes_a_gpu(children: Children) -> None:
    value = "VALUE = tl.constexpr(float(P['multiprocessor_count']))\n"

    ended = compile_text(children, HEAD + ASKS + value + KERNEL)

    assert float(stored(ended)) == 132
    assert ended.front is not None
    (assumption,) = ended.front["assumptions"]
    assert "a cuda:90 like the H100, with 132 multiprocessors, is assumed" in assumption["message"]


def test_a_property_that_is_not_known_is_refused(children: Children) -> None:
    value = "VALUE = tl.constexpr(float(P['sm_clock_rate']))\n"

    failure = compile_text(children, HEAD + ASKS + value + KERNEL).failure

    assert "the sm_clock_rate of a cuda:90 is not known" in str(failure)
