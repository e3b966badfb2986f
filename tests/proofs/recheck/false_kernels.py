"""Kernels that a prover once called proved, and are not; each with its mistake."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class FalseKernel:
    """A kernel, its contract, and the one check of its last access that does not hold."""

    name: str
    body: str
    signature: dict[str, str]
    contract: str
    check: str
    constexprs: dict[str, Any] = field(default_factory=dict)
    access: int = -1


_TWO = {"y_ptr": "*fp32", "n": "i32", "m": "i32"}
_LOADED = {"x_ptr": "*fp32", **_TWO}
FALSE_KERNELS = [
    FalseKernel(
        "an empty loop before a store",
        """def kernel(y_ptr, n, m):
    acc = n + 100
    for i in range(n, 0):
        acc += tl.minimum(i, m)
    tl.store(y_ptr + acc, 1.0)
""",
        _TWO, "y_ptr: n\n", "bounds",
    ),
    FalseKernel(
        "a race after an empty loop",
        """def kernel(y_ptr, n, m):
    acc = n + 100
    for i in range(n, 0):
        acc += tl.minimum(i, m)
    tl.store(y_ptr, acc)
""",
        {"y_ptr": "*i32", "n": "i32", "m": "i32"}, "y_ptr: 1\ngrid: n\n", "race",
    ),
    FalseKernel(
        "the last turn of a loop that may be empty",
        """def kernel(x_ptr, y_ptr, n, m):
    s = 0.0
    for i in range(m, n):
        s += tl.load(x_ptr + tl.minimum(i, n - 1))
    tl.store(y_ptr + (n - m - 1), s)
""",
        _LOADED, "x_ptr: n\ny_ptr: n\n", "bounds",
    ),
    FalseKernel(
        "a maximum that is one of its operands only in a loop",
        """def kernel(x_ptr, y_ptr, n, m, B: tl.constexpr):
    s = 0.0
    for t in range(m, n):
        s += tl.load(x_ptr + tl.minimum(t, n - 1))
    o = tl.arange(0, B)
    tl.store(y_ptr + o + tl.maximum(n, m) - n, s, mask=o < 1)
""",
        _LOADED, "x_ptr: n\ny_ptr: 1\n", "bounds", {"B": 4},
    ),
    FalseKernel(
        "a tail that may have no elements",
        """def kernel(x_ptr, y_ptr, n, B: tl.constexpr):
    full = n // B
    acc = 0.0
    for i in range(full * B, n, B):
        w = tl.minimum(n - i, B)
        o = i + tl.arange(0, B)
        acc += tl.sum(tl.load(x_ptr + o, mask=tl.arange(0, B) < w, other=0.0))
    tl.store(y_ptr + n - full * B - 1, acc)
""",
        {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"},
        "x_ptr: n\ny_ptr: n\nn <= 1000000\n", "bounds", {"B": 64},
    ),
    FalseKernel(
        "a loop in a branch whose step may be negative",
        """def kernel(x_ptr, y_ptr, n, m):
    acc = n + 5
    if m > 0:
        acc = 0
        for i in range(0, n, m):
            acc += 1
    tl.store(y_ptr + acc, 1.0)
""",
        _LOADED, "any m\nm <= 1000\nm >= 0 - 1000\nn <= 10000\nx_ptr: n\ny_ptr: n + 1\n", "bounds",
    ),
    FalseKernel(
        "a product that wraps in the first turn",
        """def kernel(y_ptr):
    off = tl.full((), 0, tl.int64)
    for i in range(-3000000, 0, 1000000):
        tl.store(y_ptr + off, 1.0)
        off += (i * 1000).to(tl.int64) - i.to(tl.int64) * 1000
""",
        {"y_ptr": "*fp32"}, "y_ptr: 1\n", "overflow",
    ),
    FalseKernel(
        "a product joined with a bit",
        """def kernel(y_ptr, n, m):
    tl.store(y_ptr + ((n * m) | 1), 1.0)
""",
        _TWO, "y_ptr: n * m + 2\n", "overflow",
    ),
    FalseKernel(
        "the rows of a tensor joined with lanes",
        """def kernel(y_ptr, n, m, B: tl.constexpr):
    base = tl.program_id(0) * m * B
    tl.store(y_ptr + (base | tl.arange(0, B)), 1.0)
""",
        _TWO, "y_ptr: n * m * B + n * m * B\ngrid: n\n", "overflow", {"B": 128},
    ),
    FalseKernel(
        "tokens joined with lanes, at one size only",
        """def kernel(y_ptr, n, m, B: tl.constexpr):
    t = tl.program_id(0)
    b = tl.program_id(1)
    o = (t * m + b * B) | tl.arange(0, B)
    tl.store(y_ptr + o, 1.0)
""",
        _TWO, "y_ptr: 2 * n * m\nm % B == 0\nm <= 16384\ngrid: n, m // B\n", "overflow", {"B": 64},
    ),
    FalseKernel(
        "a product where a load has no lane",
        """def kernel(t_ptr, y_ptr, n, m, p):
    v = tl.load(t_ptr + tl.program_id(0), mask=tl.program_id(0) < p, other=n * m)
    tl.store(y_ptr + v, 1.0, mask=tl.program_id(0) >= p)
""",
        {"t_ptr": "*i32", **_TWO, "p": "i32"},
        "t_ptr: p\nvalues t_ptr: 0 .. n\ny_ptr: n * m + n + 1\ngrid: 2 * p\n", "overflow",
    ),
    FalseKernel(
        "values beyond their type in a buffer that is not read",
        """def kernel(t_ptr, y_ptr, n, m):
    off = n + 7
    if n < 100:
        off = tl.load(t_ptr).to(tl.int32)
    tl.store(y_ptr + off, 1.0)
""",
        {"t_ptr": "*i8", **_TWO},
        "t_ptr: max(100 - n, 0)\nvalues t_ptr: n .. n + m\nm <= 8\n"
        "y_ptr: n + 7 + min(1, max(256 - n, 0))\n",
        "bounds",
    ),
    FalseKernel(
        "a store behind loops that run rarely",
        """def kernel(y_ptr, n, m, s, B: tl.constexpr):
    count = tl.num_programs(0)
    v = 1 + n * 0
    for a in range(0, tl.cdiv(n, 4), 3):
        v += 2
    for b in range(-1, v, -1):
        for c in range(m, n, m):
            tl.store(y_ptr + ((b >> 3) | m), 1.0)
    tl.store(y_ptr + tl.cdiv(n - s, count), 1.0)
""",
        {**_TWO, "s": "i32"}, "y_ptr: m\ns <= n\ngrid: max(n // B, 1)\n", "bounds", {"B": 4},
    ),
]  # fmt: skip
