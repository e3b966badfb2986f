"""Rows of 4-bit values times a vector: words of eight values, a table, a scale for each group."""

import triton
import triton.language as tl


@triton.jit
def gemv_4bit_kernel(
    x_ptr, words_ptr, scale_ptr, table_ptr, out_ptr, n_rows, n_columns,
    ROWS: tl.constexpr, GROUP: tl.constexpr, BLOCK: tl.constexpr,
):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    is_row = rows < n_rows
    words = tl.arange(0, BLOCK // 8)
    values = tl.arange(0, 8)
    groups = tl.arange(0, BLOCK // GROUP)
    total = tl.zeros((ROWS,), tl.float32)
    for start in range(0, n_columns, BLOCK):
        word = start // 8 + words
        inside = is_row[:, None] & (word < n_columns // 8)[None, :]
        at = rows.to(tl.int64)[:, None] * (n_columns // 8) + word[None, :]
        packed = tl.load(words_ptr + at, mask=inside, other=0)
        codes = (packed[:, :, None] >> (values * 4)[None, None, :]) & 15
        weights = tl.load(table_ptr + codes)
        columns = start + words[:, None] * 8 + values[None, :]
        x = tl.load(x_ptr + columns, mask=columns < n_columns, other=0.0).to(tl.float32)
        products = tl.reshape(weights * x[None, :, :], (ROWS, BLOCK // GROUP, GROUP))
        sums = tl.sum(products, 2)
        group = start // GROUP + groups
        inside = is_row[:, None] & (group < n_columns // GROUP)[None, :]
        at = rows.to(tl.int64)[:, None] * (n_columns // GROUP) + group[None, :]
        total += tl.sum(sums * tl.load(scale_ptr + at, mask=inside, other=0.0), 1)
    tl.store(out_ptr + rows, total, mask=is_row)
