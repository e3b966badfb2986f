# expect: compile_error, line 9, hint tl.
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    head = x[:32]
    tl.store(x_ptr + tl.arange(0, 32), head)
# applied 9:     head, _ = tl.split(tl.trans(tl.reshape(x, (2, 32))))
# or
# applied 9:     head = tl.gather(x, tl.arange(0, 32), 0)
