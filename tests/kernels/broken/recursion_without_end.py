# expect: compile_error, line 9, hint a loop
# says: cannot call itself
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def power(x, N: tl.constexpr):
    return x * power(x, N - 1)

@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr, power(n, 3))
# applied 9:     if N == 0:
# applied 9+:         return x * 0 + 1
# applied 9+:     else:
# applied 9+:         return x * power(x, N - 1)
# or
# applied 9:     y = x
# applied 9+:     for _ in tl.static_range(N - 1):
# applied 9+:         y *= x
# applied 9+:     return y
