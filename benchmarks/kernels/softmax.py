"""Realistic softmax of rows."""

import triton
import triton.language as tl


@triton.jit
def softmax_kernel(
    output_ptr, input_ptr, input_stride, output_stride, n_columns,
    BLOCK: tl.constexpr, SALT: tl.constexpr,
):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n_columns
    values = tl.load(input_ptr + row * input_stride + columns, mask=mask, other=-float("inf"))
    values = values.to(tl.float32) * SALT
    numerator = tl.exp(values - tl.max(values, axis=0))
    result = numerator / tl.sum(numerator, axis=0)
    tl.store(output_ptr + row * output_stride + columns, result, mask=mask)


@triton.jit
def online_softmax_kernel(
    output_ptr, input_ptr, stride, n_columns, BLOCK: tl.constexpr, SALT: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    input_ptr += row * stride
    output_ptr += row * stride
    largest = tl.full((BLOCK,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n_columns, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        values = tl.load(input_ptr + columns, mask=columns < n_columns, other=-float("inf"))
        values = values.to(tl.float32) * SALT
        larger = tl.maximum(largest, values)
        total = total * tl.exp(largest - larger) + tl.exp(values - larger)
        largest = larger
    row_max = tl.max(largest, axis=0)
    row_sum = tl.sum(total * tl.exp(largest - row_max), axis=0)
    for start in range(0, n_columns, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < n_columns
        values = tl.load(input_ptr + columns, mask=mask, other=-float("inf")).to(tl.float32) * SALT
        tl.store(output_ptr + columns, tl.exp(values - row_max) / row_sum, mask=mask)
