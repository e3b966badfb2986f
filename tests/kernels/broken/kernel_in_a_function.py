# expect: unknown_kernel, line none, hint move it to the top level
# says: made no @triton.jit function
import triton
import triton.language as tl

def build(value):
    @triton.jit
    def fill(x_ptr):
        tl.store(x_ptr, value)

    return fill
# applied 6: value = tl.constexpr(1.0)
# applied 7: @triton.jit
# applied 8: def fill(x_ptr):
# applied 9:     tl.store(x_ptr, value)
# applied 10: def build():
# applied with: {"signature": {"x_ptr": "*fp32"}}
