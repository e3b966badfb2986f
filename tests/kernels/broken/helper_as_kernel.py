# expect: lowering_failed, line 9, hint compile that one
# says: returns a value
# with: {"signature": {"x": "fp32"}, "kernel": "helper"}
import triton
import triton.language as tl

@triton.jit
def helper(x):
    return x * 2
@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, helper(tl.load(x_ptr)))
# applied with: {"signature": {"x_ptr": "*fp32"}, "kernel": "kernel"}
