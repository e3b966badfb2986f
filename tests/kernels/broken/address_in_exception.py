# expect: compile_error, line 8, hint none
# says: '<function g>'
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

def g(): pass
raise_it = int(str(g))
@triton.jit
def kernel(x_ptr, N: tl.constexpr = raise_it):
    tl.store(x_ptr, N)
