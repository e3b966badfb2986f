import triton
import triton.language as tl


@triton.jit
def softmax_kernel(output_ptr, input_ptr, input_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = input_ptr + tl.program_id(0) * input_row_stride
    lanes = tl.arange(0, BLOCK_SIZE)
    x = tl.load(row + lanes, mask=lanes < n_cols, other=-float("inf"))
    numerator = tl.exp(x - tl.max(x, axis=0))
    y = numerator / tl.sum(numerator, axis=0)
    tl.store(output_ptr + tl.program_id(0) * n_cols + lanes, y, mask=lanes < n_cols)
