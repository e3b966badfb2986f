# expect: syntax_error, line 8, hint indented
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    x = tl.load(x_ptr)
      tl.store(x_ptr, x)
# applied 8:     tl.store(x_ptr, x)
# applied with: {"signature": {"x_ptr": "*fp32"}}
