"""Solutions of the lessons, as the hints suggest them: bodies of the kernels."""

MASKED_ADD = """
    offsets = tl.program_id(0) * B0 + tl.arange(0, B0)
    x = tl.load(x_ptr + offsets, mask=offsets < N0)
    tl.store(z_ptr + offsets, x + 10, mask=offsets < N0)
"""
BLOCK_OF_ROWS = """
    i = tl.program_id(0) * B0 + tl.arange(0, B0)[None, :]
    j = tl.program_id(1) * B1 + tl.arange(0, B1)[:, None]
    both = (i < N0) & (j < N1)
"""
VECTORS = """
    x = tl.load(x_ptr + i, mask=i < N0)
    y = tl.load(y_ptr + j, mask=j < N1)
"""

SOLUTIONS = {
    "Puzzle 1": """
    offsets = tl.arange(0, B0)
    x = tl.load(x_ptr + offsets)
    tl.store(z_ptr + offsets, x + 10)
""",
    "Puzzle 2": MASKED_ADD,
    "Puzzle 3": """
    i = tl.arange(0, B0)[None, :]
    j = tl.arange(0, B1)[:, None]
    tl.store(z_ptr + j * N0 + i, tl.load(x_ptr + i) + tl.load(y_ptr + j))
""",
    "Puzzle 4": f"""{BLOCK_OF_ROWS}{VECTORS}
    tl.store(z_ptr + j * N0 + i, x + y, mask=both)
""",
    "Puzzle 5": f"""{BLOCK_OF_ROWS}{VECTORS}
    tl.store(z_ptr + j * N0 + i, tl.maximum(x * y, 0.0), mask=both)
""",
    "Puzzle 6": f"""{BLOCK_OF_ROWS}
    x = tl.load(x_ptr + j * N0 + i, mask=both)
    dz = tl.load(dz_ptr + j * N0 + i, mask=both)
    y = tl.load(y_ptr + j, mask=j < N1)
    tl.store(dx_ptr + j * N0 + i, tl.where(x * y > 0, dz * y, 0.0), mask=both)
""",
    "Puzzle 7": """
    row = tl.program_id(0) * TN1
    highest = -float("inf")
    total = 0.0
    for start in range(0, TN1, B1):
        i = start + tl.arange(0, B1)
        x = tl.load(x_ptr + row + i, mask=i < TN1, other=-float("inf"))
        highest = tl.maximum(highest, tl.max(x, 0))
    for start in range(0, TN1, B1):
        i = start + tl.arange(0, B1)
        x = tl.load(x_ptr + row + i, mask=i < TN1, other=-float("inf"))
        total += tl.sum(tl.exp(x - highest), 0)
    for start in range(0, TN1, B1):
        i = start + tl.arange(0, B1)
        x = tl.load(x_ptr + row + i, mask=i < TN1, other=-float("inf"))
        tl.store(z_ptr + row + i, tl.exp(x - highest) / total, mask=i < TN1)
""",
    "Puzzle 8": """
    image = tl.program_id(0) * H * W
    rows = tl.arange(0, KH)[:, None]
    columns = tl.arange(0, KW)[None, :]
    k = tl.load(k_ptr + rows * KW + columns)
    for i in range(0, H):
        for j in range(0, W):
            inside = (i + rows < H) & (j + columns < W)
            at = x_ptr + image + (i + rows) * W + (j + columns)
            window = tl.load(at, mask=inside, other=0.0)
            tl.store(z_ptr + image + i * W + j, tl.sum(window * k))
""",
    "Puzzle 9": """
    rows = tl.program_id(0) * B0 + tl.arange(0, B0)[:, None]
    columns = tl.program_id(1) * B1 + tl.arange(0, B1)[None, :]
    matrix = tl.program_id(2)
    total = tl.zeros((B0, B1), tl.float32)
    for start in range(0, MID, B0):
        k = start + tl.arange(0, B0)
        x = tl.load(x_ptr + matrix * N0 * MID + rows * MID + k[None, :])
        y = tl.load(y_ptr + matrix * MID * N1 + k[:, None] * N1 + columns)
        total = tl.dot(x, y, total, input_precision="ieee")
    tl.store(z_ptr + matrix * N0 * N1 + rows * N1 + columns, total)
""",
    "Puzzle 10": """
    r = tl.program_id(0) * B0 + tl.arange(0, B0)[:, None]
    columns = tl.program_id(1) * B1 + tl.arange(0, B1)[None, :]
    matrix = tl.program_id(2)
    m = tl.arange(0, B_MID)
    row = m[None, :]
    weight = (tl.load(weight_ptr + r * (MID // 8) + row // 8) >> (row % 8) * 4) & 15
    offset = (tl.load(offset_ptr + r) >> (row // 16) * 4) & 15
    w = tl.load(scale_ptr + r * (MID // 16) + row // 16) * (weight - offset)
    y = tl.load(y_ptr + matrix * MID * N1 + m[:, None] * N1 + columns)
    z = tl.dot(w, y, input_precision="ieee")
    tl.store(z_ptr + matrix * N0 * N1 + r * N1 + columns, z)
""",
    "Kernel 1": """
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(z_ptr + offsets, x + y, mask=mask)
""",
    "Kernel 2": """
    columns = tl.arange(0, BLOCK)
    at = tl.program_id(0) * n_columns + columns
    x = tl.load(x_ptr + at, mask=columns < n_columns, other=-float("inf"))
    e = tl.exp(x - tl.max(x, 0))
    tl.store(z_ptr + at, e / tl.sum(e, 0), mask=columns < n_columns)
""",
    "Kernel 3": """
    rows = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    columns = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        below, across = k[:, None], k[None, :]
        x = tl.load(x_ptr + rows * K + across, mask=(rows < M) & (across < K), other=0.0)
        y = tl.load(y_ptr + below * N + columns, mask=(below < K) & (columns < N), other=0.0)
        total = tl.dot(x, y, total, input_precision="ieee")
    tl.store(z_ptr + rows * N + columns, total, mask=(rows < M) & (columns < N))
""",
}
