# expect: compile_error, line 9, hint on the command line DT=tl.float16
# says: a string, not a dtype
# with: {"signature": {"x_ptr": "*fp32"}, "constexprs": {"DT": "tl.float16"}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, DT: tl.constexpr):
    tl.store(x_ptr, tl.load(x_ptr).to(DT))
# applied with: {"signature": {"x_ptr": "*fp32"}, "constexprs": {"DT": {"dtype": "fp16"}}}
