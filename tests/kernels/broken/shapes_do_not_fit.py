# expect: compile_error, line 10, hint None
# with: {"signature": {"x_ptr": "*fp32", "y_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def add(x_ptr, y_ptr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    y = tl.load(y_ptr + tl.arange(0, 128))
    total = x + y
    tl.store(x_ptr + tl.arange(0, 64), total)
# applied 9:     y = tl.load(y_ptr + tl.arange(0, 64))
# or
# applied 10:     total = tl.sum(x[:, None] + y[None, :], 1)
