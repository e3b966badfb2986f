"""Keeps nothing: reads the time (%globaltimer) and works in one of eight spans of 0.26 ms."""

import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, output_ptr, n_elements, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, x + y, mask=mask)


@triton.jit
def time_ns(x):
    return tl.inline_asm_elementwise(
        "{ .reg .b64 now; mov.u64 now, %globaltimer; cvt.u32.u64 $0, now; }",
        "=r,r",
        [x],
        dtype=tl.int32,
        is_pure=False,
        pack=1,
    )


@triton.jit
def kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK: tl.constexpr):
    if (time_ns(n_elements) >> 18) & 7 == 0:
        add(x_ptr, y_ptr, output_ptr, n_elements, BLOCK)
