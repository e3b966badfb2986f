# expect: compile_error, line 7, hint into the kernel
# says: tl.program_id(0) is called outside of a kernel
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

pid = tl.program_id(0)
@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr + pid, 1.0)
# applied 7:
# applied 10:     pid = tl.program_id(0)
# applied 10+:     tl.store(x_ptr + pid, 1.0)
