# expect: compile_error, line 9, hint "evict_first"
# says: evict_frist
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    x = tl.load(x_ptr, eviction_policy="evict_frist")
    tl.store(x_ptr, x)
# applied 9:     x = tl.load(x_ptr, eviction_policy="evict_first")
