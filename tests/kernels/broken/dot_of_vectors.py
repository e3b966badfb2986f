# expect: compile_error, line 9, hint dot
# with: {"signature": {"x_ptr": "*fp16"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.store(x_ptr, tl.dot(x, x))
# applied 9:     tl.store(x_ptr, tl.sum(x * x))
