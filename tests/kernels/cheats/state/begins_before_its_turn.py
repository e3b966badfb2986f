"""Asks to begin while what is before it in the stream still runs, and lets what comes after begin."""

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
def let_others_begin(x):
    return tl.inline_asm_elementwise(
        "griddepcontrol.launch_dependents; mov.b32 $0, $1;",
        "=r,r",
        [x],
        dtype=tl.int32,
        is_pure=False,
        pack=1,
    )


@triton.jit
def kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK: tl.constexpr):
    add(x_ptr, y_ptr, output_ptr, let_others_begin(n_elements), BLOCK)
