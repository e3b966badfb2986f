# expect: compile_error, line 22, hint comma
# with: {"signature": {"x_ptr": "*fp32", "y_ptr": "*fp32", "z_ptr": "*fp32", "N0": "i32", "N1": "i32", "N2": "i32", "MID": "i32"}, "constexprs": {"B0": 16, "B1": 16, "B2": 1}}
import triton
import triton.language as tl

@triton.jit
def dot_kernel(x_ptr, y_ptr, z_ptr, N0, N1, N2, MID, B0: tl.constexpr, B1: tl.constexpr, B2: tl.constexpr):
    r = tl.program_id(0) * B0
    rows = tl.arange(0, B0) [:, None]
    c = tl.program_id(1) * B1
    cols = tl.arange(0, B1)[None, :]
    mids = tl.arange(0, B0)
    b = tl.program_id(2)
    bid = b * N0 * N1
    z = 0
    for i in range(0, MID, B0):
        x_val = tl.load(
            x_ptr
            + bid
            + (r + rows) * MID
            # the comma is missing at the end of the next line
            + (mids + i)
            (i + mids < MID) & (rows + r < N0), 0
        )
        z = z + x_val
    tl.store(z_ptr + rows * N1 + cols, z)
# applied 15:     z = tl.zeros((16, 16), tl.float32)
# applied 22:             + (mids + i),
