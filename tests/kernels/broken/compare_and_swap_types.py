# expect: lowering_failed, line 9, hint tl.int64
# says: cmp type
# with: {"signature": {"x_ptr": "*i64"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    tl.atomic_cas(x_ptr, 0, 1)
# applied 9:     tl.atomic_cas(x_ptr, tl.full((), 0, tl.int64), tl.full((), 1, tl.int64))
