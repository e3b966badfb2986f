# expect: compile_error, line 7, hint leave this out
# says: 'Float' is not defined
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

def size(x: Float):
    return x.numel()

N = size(1)

@triton.jit
def kernel(x_ptr, SIZE: tl.constexpr = N):
    tl.store(x_ptr, SIZE)
# applied 7: def size(x):
# applied 8:     return x
