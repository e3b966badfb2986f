# expect: out_of_resources, line none, hint shared memory
# with: {"signature": {"x_ptr": "*i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    asm: tl.constexpr = "{ .shared .b8 s[300000]; mov.b32 $0, $1; }"
    y = tl.inline_asm_elementwise(asm, "=r,r", [x], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(x_ptr + tl.arange(0, 64), y)
# applied 9:     asm: tl.constexpr = "{ .shared .b8 s[30000]; mov.b32 $0, $1; }"
