# expect: compile_error, line 8, hint directly above
# says: arg_names
# with: {"signature": {"x_ptr": "*fp32", "n": "i32"}, "constexprs": {"BLOCK": 64}}
import triton
import triton.language as tl

@triton.jit
@triton.autotune(configs=[triton.Config({"BLOCK": 64})], key=["n"])
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    tl.store(x_ptr, n)
# applied 7: @triton.autotune(configs=[triton.Config({"BLOCK": 64})], key=["n"])
# applied 8: @triton.jit
