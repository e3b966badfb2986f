# expect: compile_error, line 10, hint tl.device_print("name: ", value)
# says: f-string
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n):
    x = tl.load(x_ptr)
    tl.device_print(f"x {n}", x)
    tl.store(x_ptr, x)
# applied 10:     tl.device_print("x: ", x)
