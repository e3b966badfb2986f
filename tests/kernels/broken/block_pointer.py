# expect: compile_error, line 8, hint tensor descriptor
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n):
    block = tl.make_block_ptr(x_ptr, shape=(n,), strides=(1,), offsets=(0,), block_shape=(64,), order=(0,))
    tl.store(block, tl.load(block) + 1)
# applied 8:     block = tl.make_tensor_descriptor(x_ptr, shape=[n], strides=[1], block_shape=[64])
# applied 9:     block.store([0], block.load([0]) + 1)
