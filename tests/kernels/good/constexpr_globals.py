# with: {"signature": {"x_ptr": "*fp16"}, "hints": {"x_ptr": ["divisible_by_16"]}}
import triton
import triton.language as tl

BLOCK = tl.constexpr(128)
SCALE = tl.constexpr(1.5)
TYPE = tl.float32


@triton.jit
def kernel(x_ptr, OTHER: tl.constexpr = 3, NAME: tl.constexpr = "plus"):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets).to(TYPE)
    if NAME == "plus":
        x = x + OTHER
    tl.store(x_ptr + offsets, (x * SCALE).to(tl.float16))
