# expect: compile_error, line 14, hint tl.full
# with: {"signature": {"x_ptr": "*fp32", "z_ptr": "*fp32", "N0": "i32", "N1": "i32", "TN1": "i32"}, "constexprs": {"B0": 1, "B1": 32}}
import triton
import triton.language as tl

@triton.jit
def softmax_kernel(x_ptr, z_ptr, N0, N1, TN1, B0: tl.constexpr, B1: tl.constexpr):
    pid_0 = tl.program_id(0)
    x_max = -1e9
    for i in range(0, TN1, B1):
        i_range = tl.arange(0, B1)[None, :] + i
        x = tl.load(x_ptr + TN1 * pid_0 + i_range, i_range < TN1, -1e9)
        chunk_max = tl.max(x, 1)[:, None]
        x_max = tl.where(chunk_max > x_max, chunk_max, x_max)
    tl.store(z_ptr + tl.arange(0, 1), x_max)
# applied 9:     x_max = tl.full((1, 1), -1e9, tl.float32)
# applied 15:     tl.store(z_ptr + tl.arange(0, 1)[:, None], x_max)
