# expect: compile_error, line 9, hint loop
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n):
    for i in range(n):
        if i > 3:
            return
        tl.store(x_ptr + i, 1.0)
# applied 8:     i = 0
# applied 8+:     while (i < n) & (i <= 3):
# applied 9:
# applied 10:
# applied 11:         tl.store(x_ptr + i, 1.0)
# applied 11+:         i += 1
