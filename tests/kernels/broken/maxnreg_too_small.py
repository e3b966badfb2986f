# expect: assembler_failed, line 12, hint maxnreg is too small for this: give
# says: Insufficient registers
# with: {"signature": {"x_ptr": "*fp16"}, "options": {"maxnreg": 24}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    rows = tl.arange(0, 64)
    block = x_ptr + rows[:, None] * 64 + rows[None, :]
    x = tl.load(block)
    product = tl.dot(x, x)
    tl.store(block, product)
# applied with: {"signature": {"x_ptr": "*fp16"}, "options": {"maxnreg": 64}}
# or
# applied with: {"signature": {"x_ptr": "*fp16"}}
