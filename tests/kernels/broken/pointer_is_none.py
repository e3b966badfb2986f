# expect: compile_error, line 9, hint is not None
# says: b_ptr is None
# with: {"signature": {"x_ptr": "*fp32"}, "constexprs": {"b_ptr": null}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, b_ptr):
    tl.store(x_ptr, tl.load(b_ptr + 3))
# applied with: {"signature": {"x_ptr": "*fp32", "b_ptr": "*fp32"}}
# or
# applied 9:     if b_ptr is not None:
# applied 9+:         tl.store(x_ptr, tl.load(b_ptr + 3))
