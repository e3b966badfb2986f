# expect: compile_error, line 9, hint 'num_stages'
# says: num_stage
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n):
    for i in tl.range(0, n, num_stage=3):
        tl.store(x_ptr, i)
# applied 9:     for i in tl.range(0, n, num_stages=3):
