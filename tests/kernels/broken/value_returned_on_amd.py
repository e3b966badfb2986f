# expect: lowering_failed, line 9, hint tl.store
# says: the kernel returns a value
# with: {"signature": {"x_ptr": "*fp32"}, "target": {"backend": "hip", "arch": "gfx942", "warp_size": 64}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    return tl.load(x_ptr) * 2
# applied 9:     tl.store(x_ptr, tl.load(x_ptr) * 2)
