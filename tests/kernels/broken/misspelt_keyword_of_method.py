# expect: compile_error, line 9, hint 'bitcast'
# says: tensor.to() got an unexpected keyword argument 'bitcst'
# with: {"signature": {"x_ptr": "*fp32", "y_ptr": "*i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, y_ptr):
    tl.store(y_ptr, tl.load(x_ptr).to(tl.int32, bitcst=True))
# applied 9:     tl.store(y_ptr, tl.load(x_ptr).to(tl.int32, bitcast=True))
