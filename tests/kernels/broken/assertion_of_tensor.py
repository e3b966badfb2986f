# expect: compile_error, line 10, hint tl.device_assert
# says: could not be determined at compile-time
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n):
    x = tl.load(x_ptr)
    tl.static_assert(n > 3, f"n is {n:>3}")
    tl.store(x_ptr, x)
# applied 10:     tl.device_assert(n > 3, "n is too small")
