# expect: lowering_failed, line 12, hint a.to(tl.float16)
# says: tl.dot of int8 has no form for this target
# with: {"arch": 75, "signature": {"a_ptr": "*i8", "b_ptr": "*i8", "c_ptr": "*i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(a_ptr, b_ptr, c_ptr):
    o = tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
    a = tl.load(a_ptr + o)
    b = tl.load(b_ptr + o)
    c = tl.dot(a, b, out_dtype=tl.int32)
    tl.store(c_ptr + o, c)
# applied 12:     c = tl.dot(a.to(tl.float16), b.to(tl.float16))
# or
# applied with: {"arch": 80, "signature": {"a_ptr": "*i8", "b_ptr": "*i8", "c_ptr": "*i32"}}
