# expect: compile_error, line 9, hint static_print
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr):
    print(type(tl.program_id(0)))
    tl.store(x_ptr, 1.0)
# applied 9:     x = tl.program_id(0)
# applied 9+:     tl.static_print(x.type)
