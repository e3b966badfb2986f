# expect: compile_error, line 9, hint //
# says: invalid operands
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr + n / 2, 1.0)
# applied 9:     tl.store(x_ptr + n // 2, 1.0)
# or
# applied 9:     tl.store(x_ptr + (n / 2).to(tl.int32), 1.0)
