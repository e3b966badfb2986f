# expect: compile_error, line 11, hint tl.gather
# says: cannot be indexed with i
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    i = tl.program_id(0)
    x = tl.load(x_ptr + tl.arange(0, 16))
    tl.store(x_ptr, x[i])
# applied 11:     tl.store(x_ptr + tl.arange(0, 1), tl.gather(x, tl.zeros((1,), tl.int32) + i, 0))
# or
# applied 11:     tl.store(x_ptr, tl.load(x_ptr + i))
