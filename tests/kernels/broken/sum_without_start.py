# expect: compile_error, line 10, hint acc = 0.0
# says: acc is not defined
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n):
    for i in range(n):
        acc += i
    tl.store(x_ptr, acc)
# applied 9:     acc = 0.0
# applied 9+:     for i in range(n):
