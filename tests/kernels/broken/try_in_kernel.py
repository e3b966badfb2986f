# expect: compile_error, line 8, hint try
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    try:
        tl.store(x_ptr, 1.0)
    except ValueError:
        pass
# applied 8:     tl.device_assert(x_ptr is not None, "no pointer")
# applied 9:     tl.store(x_ptr, 1.0)
# applied 10:
# applied 11:
