# with: {"signature": {"desc": "tensordesc<fp16[64,32]>", "flag": "i1", "pair": ["*fp32", "i8"], "half": "fp16", "y_ptr": "*kfp32", "wide": "i64"}, "constexprs": {}}
import triton
import triton.language as tl


@triton.jit
def kernel(desc, flag, pair, half, y_ptr, wide):
    block = desc.load([0, 0])
    total = tl.sum(tl.sum(block.to(tl.float32), 1), 0)
    pointer, small = pair
    value = total + half.to(tl.float32) + tl.load(y_ptr) + small
    if flag:
        tl.store(pointer + wide, value)
