# expect: compile_error, line 10, hint tl.constexpr((1, 2, 3))
# says: SIZES
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

SIZES = [1, 2, 3]
@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, SIZES[0])
# applied 7: SIZES = tl.constexpr((1, 2, 3))
