# expect: compile_error, line 9, hint tl.static_range(3)
# says: cannot run over (1, 2, 3)
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n):
    for i in (1, 2, 3):
        tl.store(x_ptr + i, i)
# applied 9:     values = (1, 2, 3)
# applied 9+:     for k in tl.static_range(3):
# applied 10:         tl.store(x_ptr + values[k], values[k])
