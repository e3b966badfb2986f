# expect: compile_error, line 10, hint triton.jit
# says: its message cannot be made
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

def g(): pass
@triton.jit
def kernel(x_ptr):
    tl.static_assert(False, f"{g}")
    tl.store(x_ptr, 1)
# applied 7: @triton.constexpr_function
# applied 7+: def g(): pass
# applied 10:     tl.static_assert(True, f"{g}")
