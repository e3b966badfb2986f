# expect: compile_error, line 9, hint while n > 0
# says: could not end
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n):
    while True:
        n -= 1
        tl.store(x_ptr, n)
# applied 9:     while n > 0:
# or
# applied 9:     for i in tl.static_range(4):
