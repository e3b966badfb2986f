# expect: compile_error, line 9, hint last stride
# says: needs a constant
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n):
    d = tl.make_tensor_descriptor(x_ptr, [n, n], [1, n], [16, 16])
    tl.store(x_ptr, tl.sum(d.load([0, 0])))
# applied 9:     d = tl.make_tensor_descriptor(x_ptr, [n, n], [n, 1], [16, 16])
