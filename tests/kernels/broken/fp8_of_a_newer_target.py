# expect: compile_error, line 8, hint y_ptr: choose another dtype
# says: type fp8e4nv not supported in this architecture
# with: {"arch": 86, "signature": {"x_ptr": "*fp16", "y_ptr": "*fp8e4nv"}, "constexprs": {"BLOCK": 128}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    tl.store(y_ptr + o, tl.load(x_ptr + o).to(tl.float8e4nv))
# applied with: {"arch": 89, "signature": {"x_ptr": "*fp16", "y_ptr": "*fp8e4nv"}, "constexprs": {"BLOCK": 128}}
