# expect: compile_error, line 10, hint the int32 with these bits is -0x10000: write `bits & -0x10000`
# says: Scalar 4294901760 is out of range for type int32
# with: {"signature": {"x_ptr": "*fp32", "y_ptr": "*fp32"}, "constexprs": {"BLOCK": 128}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    bits = tl.load(x_ptr + tl.arange(0, BLOCK)).to(tl.int32, bitcast=True)
    bits = bits & 0xFFFF0000
    tl.store(y_ptr + tl.arange(0, BLOCK), bits.to(tl.float32, bitcast=True))
# applied 10:     bits = bits & -0x10000
# or
# applied 10:     bits = bits.to(tl.uint32, bitcast=True) & 0xFFFF0000
