# expect: unknown_kernel, line none, hint move it to the top level
# says: made no @triton.jit function
import triton
import triton.language as tl

def build():
    @triton.jit
    def fill(x_ptr):
        tl.store(x_ptr, 1.0)

    return fill
# applied 6: @triton.jit
# applied 7: def fill(x_ptr):
# applied 8:     tl.store(x_ptr, 1.0)
# applied 9: def build():
# applied with: {"signature": {"x_ptr": "*fp32"}}
