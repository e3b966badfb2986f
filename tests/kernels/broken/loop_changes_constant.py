# expect: compile_error, line 12, hint `step = step + 0`
# says: Loop carried variable step changed type, was tensor but is now constexpr
# with: {"signature": {"x_ptr": "*i32", "y_ptr": "*i32"}, "constexprs": {"step": 1, "other": 1}}
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, step, y_ptr, other):
    for i in range(8):
        tl.store(y_ptr + i, tl.load(x_ptr + i * step))
        x_ptr = y_ptr
        step = other
# applied 8+:     step = step + 0
# or
# applied 7: @triton.jit(do_not_specialize=["step", "other"])
# applied with: {"signature": {"x_ptr": "*i32", "y_ptr": "*i32", "step": "i32", "other": "i32"}}
