# expect: compile_error, line 10, hint tl.float32
# says: 'float32' is not one of Triton's dtypes
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    x = tl.load(x_ptr)
    tl.store(x_ptr, x.to('float32'))
# applied 10:     tl.store(x_ptr, x.to(tl.float32))
