# expect: compile_error, line 10, hint type
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n):
    value = 0
    if n > 3:
        value = tl.load(x_ptr)
    tl.store(x_ptr, value)
# applied 8:     value = tl.full((), 0, tl.float32)
# or
# applied 10:         value = tl.load(x_ptr).to(tl.int32)
