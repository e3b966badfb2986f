# expect: compile_error, line 9, hint tl.cdiv
# says: triton.cdiv runs on the host
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n):
    for i in range(triton.cdiv(n, 16)):
        tl.store(x_ptr, i)
# applied 9:     for i in range(tl.cdiv(n, 16)):
