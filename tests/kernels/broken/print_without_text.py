# expect: compile_error, line 10, hint print("x: ", x)
# says: first argument of print
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    x = tl.load(x_ptr)
    print(x)
    tl.store(x_ptr, x)
# applied 10:     print("x: ", x)
