# expect: compile_error, line 9, hint removed in Triton 3.9
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    offsets = tl.arange(0, 64)
    x = tl.load(x_ptr + offsets, boundary_check=(0,))
    tl.store(x_ptr + offsets, x)
# applied 9:     x = tl.load(x_ptr + offsets, mask=offsets < 64)
