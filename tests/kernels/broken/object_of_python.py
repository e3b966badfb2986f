# expect: compile_error, line 11, hint numbers
# says: c is a C
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

class C: pass
c = tl.constexpr(C())
@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, c)
# applied 8: c = tl.constexpr(3)
