# expect: compile_error, line 10, hint acc
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}, "constexprs": {"BLOCK": 64}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    acc = 0
    for i in range(n):
        acc += tl.load(x_ptr + i * BLOCK + tl.arange(0, BLOCK))
    tl.store(x_ptr + tl.arange(0, BLOCK), acc)
# applied 8:     acc = tl.full((64,), 0, tl.float32)
