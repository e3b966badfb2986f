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
# applied 8:     parts = 0.0
# applied 10:         parts += tl.load(x_ptr + i)
# applied 11:     tl.store(x_ptr, parts)
