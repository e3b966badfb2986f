# expect: compile_error, line 10, hint return
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def pick(x, n):
    if n > 0:
        return x
    return n

@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr, pick(tl.load(x_ptr), n))
# applied 10:     return n.to(tl.float32)
