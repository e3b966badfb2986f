# expect: compile_error, line 9, hint .to(tl.uint64)
# says: out of range
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr, n + 18446744073709551615)
# applied 9:     tl.store(x_ptr, n.to(tl.uint64) + 18446744073709551615)
