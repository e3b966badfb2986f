# expect: compile_error, line 9, hint one name after the other
# says: several names at once
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    a = b = tl.load(x_ptr)
    tl.store(x_ptr, a + b)
# applied 9:     a = tl.load(x_ptr)
# applied 9+:     b = a
