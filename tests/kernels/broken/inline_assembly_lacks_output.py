# expect: compiler_crashed, line 11, hint one constraint
# says: cannot return struct
# with: {"signature": {"x_ptr": "*fp32"}, "constexprs": {"BLOCK": 64}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    y, z = tl.inline_asm_elementwise("mov.b32 $0, $2; mov.b32 $1, $2;", "=r,r", [x], dtype=(tl.float32, tl.float32), is_pure=True, pack=1)
    tl.store(x_ptr + offs, y + z)
# applied 11:     y, z = tl.inline_asm_elementwise("mov.b32 $0, $2; mov.b32 $1, $2;", "=r,=r,r", [x], dtype=(tl.float32, tl.float32), is_pure=True, pack=1)
