# expect: lowering_failed, line 10, hint ".wb"
# says: cache modifier
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    x = tl.load(x_ptr)
    tl.store(x_ptr, x, cache_modifier=".ca")
# applied 10:     tl.store(x_ptr, x, cache_modifier=".wt")
