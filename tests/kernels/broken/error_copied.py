# expect: syntax_error, line 11, hint message of an error
# says: invalid syntax
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, 1.0)

ValueError: Did you forget to add @triton.jit ?
# applied 11:
