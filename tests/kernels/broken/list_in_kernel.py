# expect: compile_error, line 10, hint list
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    parts = []
    for i in range(4):
        parts.append(tl.load(x_ptr + i))
    tl.store(x_ptr, parts[0])
