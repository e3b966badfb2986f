# expect: compiler_crashed, line none, hint None
# with: {"signature": {"a_ptr": "*fp32"}, "arch": 101}
import triton
import triton.language as tl

@triton.jit
def kernel(a_ptr):
    t = tl.arange(0, 128)[:, None] * 128 + tl.arange(0, 128)[None, :]
    a = tl.load(a_ptr + t).to(tl.float16)
    tl.store(a_ptr + t, tl.dot(a, a))
# applied with: {"signature": {"a_ptr": "*fp32"}, "arch": 100}
