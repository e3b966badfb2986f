"""A fact holds only where its name has a value, and none presupposes that an integer fits."""

from dataclasses import dataclass, field

import pytest

from compiler.proof.binding import SizeLimits
from compiler.proof.obligations import Conclusion
from compiler.proof.prove import KernelProof
from tests.proofs.compiled_ttir import proof_of


@dataclass(frozen=True)
class Kernel:
    """A kernel with an access that fails at some sizes."""

    body: str
    signature: dict[str, str]
    contract: str
    constexprs: dict[str, int] = field(default_factory=dict)

    def proof(self, *checks: str, limits: SizeLimits | None = None) -> KernelProof:
        """Return the answers to checks."""
        return proof_of(self.body, self.signature, self.contract, self.constexprs, limits, checks)

    def last(self, check: str) -> Conclusion:
        """Return the answer about the last access of the text."""
        answer = getattr(self.proof(check).accesses[-1], check)
        assert isinstance(answer, Conclusion)
        return answer


Y = {"y_ptr": "*fp32"}
N_M = {"n": "i32", "m": "i32"}

NOT_RUN = {
    "a minimum in a loop that never runs": Kernel(
        """def kernel(y_ptr, n, m):
    acc = n + 100
    for i in range(n, 0):
        acc += tl.minimum(i, m)
    tl.store(y_ptr + acc, 1.0)
""",
        Y | N_M,
        "y_ptr: n\n",
    ),
    "the last turn of a loop that may be empty": Kernel(
        """def kernel(x_ptr, y_ptr, n, m):
    s = 0.0
    for i in range(m, n):
        s += tl.load(x_ptr + tl.minimum(i, n - 1))
    tl.store(y_ptr + (n - m - 1), s)
""",
        {"x_ptr": "*fp32"} | Y | N_M,
        "x_ptr: n\ny_ptr: n\n",
    ),
    "a maximum that a loop decides, where it runs": Kernel(
        """def kernel(x_ptr, y_ptr, n, m, B: tl.constexpr):
    s = 0.0
    for t in range(m, n):
        s += tl.load(x_ptr + tl.minimum(t, n - 1))
    o = tl.arange(0, B)
    tl.store(y_ptr + o + tl.maximum(n, m) - n, s, mask=o < 1)
""",
        {"x_ptr": "*fp32"} | Y | N_M,
        "x_ptr: n\ny_ptr: 1\n",
        {"B": 4},
    ),
    "a tail that may be empty": Kernel(
        """def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    full = n // BLOCK
    acc = 0.0
    for i in range(full * BLOCK, n, BLOCK):
        w = tl.minimum(n - i, BLOCK)
        o = i + tl.arange(0, BLOCK)
        acc += tl.sum(tl.load(x_ptr + o, mask=tl.arange(0, BLOCK) < w, other=0.0))
    tl.store(y_ptr + n - full * BLOCK - 1, acc)
""",
        {"x_ptr": "*fp32"} | Y | {"n": "i32"},
        "x_ptr: n\ny_ptr: n\nn <= 1000000\n",
        {"BLOCK": 64},
    ),
    "an empty loop in an empty loop": Kernel(
        """def kernel(y_ptr, n, m):
    acc = n
    for i in range(n, 0):
        for j in range(i, -m):
            acc += tl.maximum(i + j, m) + (m - j) // 2
    tl.store(y_ptr + acc, 1.0)
""",
        Y | N_M,
        "y_ptr: n\n",
    ),
    "a loop downwards, in a loop that never runs": Kernel(
        """def kernel(y_ptr, n, m, s, B: tl.constexpr):
    v = 1
    for i in range(0, tl.cdiv(n, 4), 3):
        v += 2
    for i in range(-1, v, -1):
        w = 0
        for j in range(m, n, m):
            w += 1
            tl.store(y_ptr + ((i >> 3) | m), 1.0)
    tl.store(y_ptr + tl.cdiv(n - s, tl.num_programs(0)), 1.0)
""",
        Y | N_M | {"s": "i32"},
        "y_ptr: m\ns <= n\ngrid: max(n // B, 1)\n",
        {"B": 4},
    ),
    "a loop by a step of 0 or less, in a branch not taken": Kernel(
        """def kernel(y_ptr, n, s):
    acc = n + 5
    if s > 0:
        acc = 0
        for i in range(0, n, s):
            acc += 1
    tl.store(y_ptr + acc, 1.0)
""",
        Y | {"n": "i32", "s": "i32"},
        "any s\ns <= 1000\ns >= 0 - 1000\nn <= 1000000\ny_ptr: n + 1\n",
    ),
    "a quotient in a branch not taken": Kernel(
        """def kernel(y_ptr, n, s):
    acc = n
    if s > 0:
        acc = n // (2 * s)
    tl.store(y_ptr + acc, 1.0)
""",
        Y | {"n": "i32", "s": "i32"},
        "any s\ns <= 1000\ns >= 0 - 1000\nn <= 1000000\ny_ptr: n\n",
    ),
    "a remainder in a branch not taken": Kernel(
        """def kernel(y_ptr, n, s):
    acc = n
    if s > 0:
        acc = n % s
    tl.store(y_ptr + acc, 1.0)
""",
        Y | {"n": "i32", "s": "i32"},
        "any s\ns <= 1000\ns >= 0 - 1000\nn <= 1000000\ny_ptr: n\n",
    ),
    "a minimum in a branch not taken": Kernel(
        """def kernel(y_ptr, n, m):
    acc = n
    if m < n:
        acc = tl.minimum(m, n - 1)
    tl.store(y_ptr + acc, 1.0)
""",
        Y | N_M,
        "y_ptr: n\n",
    ),
    "a while loop that never runs": Kernel(
        """def kernel(x_ptr, y_ptr, n, m):
    i = m
    while i < n:
        tl.store(x_ptr + tl.minimum(i, n - 1), 1.0)
        i += 1
    tl.store(y_ptr + tl.maximum(n, m) - n, 1.0)
""",
        {"x_ptr": "*fp32"} | Y | N_M,
        "x_ptr: n\ny_ptr: 1\n",
    ),
    "values of a load that does not run, of a narrow type": Kernel(
        """def kernel(t_ptr, y_ptr, n, m):
    off = n + 7
    if n < 100:
        off = tl.load(t_ptr).to(tl.int32)
    tl.store(y_ptr + off, 1.0)
""",
        {"t_ptr": "*i8"} | Y | N_M,
        "t_ptr: max(100 - n, 0)\nvalues t_ptr: n .. n + m\nm <= 8\n"
        "y_ptr: n + 7 + min(1, max(256 - n, 0))\n",
    ),
    "masked values of a load that does not run, of a narrow type": Kernel(
        """def kernel(t_ptr, y_ptr, n, m):
    off = n + 7
    if n < 100:
        off = tl.load(t_ptr, mask=m > 0, other=0).to(tl.int32)
    tl.store(y_ptr + off, 1.0)
""",
        {"t_ptr": "*i8"} | Y | N_M,
        "t_ptr: max(100 - n, 0)\nvalues t_ptr: n .. n + m\nm <= 8\n"
        "y_ptr: n + 7 + min(1, max(256 - n, 0))\n",
    ),
    "values below what a narrow type holds": Kernel(
        """def kernel(t_ptr, y_ptr, n):
    off = n
    if n < 100:
        off = tl.load(t_ptr).to(tl.int32) + 128
    tl.store(y_ptr + off, 1.0)
""",
        {"t_ptr": "*i8"} | Y | {"n": "i32"},
        "t_ptr: max(100 - n, 0)\nvalues t_ptr: 0 - n - 28 .. 0 - n - 20\n"
        "y_ptr: n + 128 * min(1, max(101 - n, 0))\n",
    ),
}


@pytest.mark.parametrize("case", NOT_RUN)
def test_what_does_not_run_proves_no_bounds(case: str) -> None:
    assert NOT_RUN[case].last("bounds").verdict != "proved"


def test_a_loop_that_never_runs_shows_no_race_away() -> None:
    kernel = Kernel(
        """def kernel(y_ptr, z_ptr, n, m):
    acc = n + 100
    for i in range(n, 0):
        acc += tl.minimum(i, m)
    tl.store(y_ptr, acc)
    tl.store(z_ptr + acc, 1)
""",
        {"y_ptr": "*i32", "z_ptr": "*i32"} | N_M,
        "y_ptr: 1\nz_ptr: n\ngrid: n\n",
    )
    races = [one.race for one in kernel.proof("races").accesses]
    assert [one.verdict for one in races if one is not None] == ["refuted", "refuted"]


WRAPPED = {
    "or with a product": Kernel(
        """def kernel(y_ptr, n, m):
    tl.store(y_ptr + ((n * m) | 1), 1.0)
""",
        Y | N_M,
        "y_ptr: n * m + 2\n",
    ),
    "or with the lane of a row": Kernel(
        """def kernel(x_ptr, y_ptr, rows, stride, B: tl.constexpr):
    base = tl.program_id(0) * stride * B
    offs = base | tl.arange(0, B)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs))
""",
        {"x_ptr": "*fp32"} | Y | {"rows": "i32", "stride": "i32"},
        "x_ptr: 2 * rows * stride * B\ny_ptr: 2 * rows * stride * B\ngrid: rows\n",
        {"B": 128},
    ),
    "or with the lane of a token": Kernel(
        """def kernel(x_ptr, y_ptr, tokens, dim, B: tl.constexpr):
    o = (tl.program_id(0) * dim + tl.program_id(1) * B) | tl.arange(0, B)
    tl.store(y_ptr + o, tl.load(x_ptr + o))
""",
        {"x_ptr": "*fp32"} | Y | {"tokens": "i32", "dim": "i32"},
        "x_ptr: 2 * tokens * dim\ny_ptr: 2 * tokens * dim\ndim % B == 0\ndim <= 16384\n"
        "grid: tokens, dim // B\n",
        {"B": 64},
    ),
    "xor with a product": Kernel(
        """def kernel(y_ptr, n, m):
    tl.store(y_ptr + ((n * m) ^ 1), 1.0)
""",
        Y | N_M,
        "y_ptr: n * m + 2\n",
    ),
    "and of products": Kernel(
        """def kernel(y_ptr, n, m):
    tl.store(y_ptr + ((n * m) & (n * m)), 1.0)
""",
        Y | N_M,
        "y_ptr: n * m + 2\n",
    ),
    "a minimum with a product": Kernel(
        """def kernel(y_ptr, n, m):
    tl.store(y_ptr + tl.minimum(n * m, 5), 1.0)
""",
        Y | N_M,
        "y_ptr: n * m + 6\n",
    ),
    "a choice of a product": Kernel(
        """def kernel(y_ptr, n, m):
    tl.store(y_ptr + tl.where(n * m > n, n, n * m), 1.0)
""",
        Y | N_M,
        "y_ptr: n * m + n + 1\n",
    ),
    "what a load gives where its mask is false": Kernel(
        """def kernel(t_ptr, y_ptr, n, m, p):
    v = tl.load(t_ptr + tl.program_id(0), mask=tl.program_id(0) < p, other=n * m)
    tl.store(y_ptr + v, 1.0, mask=tl.program_id(0) >= p)
""",
        {"t_ptr": "*i32"} | Y | N_M | {"p": "i32"},
        "t_ptr: p\nvalues t_ptr: 0 .. n\ny_ptr: n * m + n + 1\ngrid: 2 * p\n",
    ),
    "what a loop adds in its first turn": Kernel(
        """def kernel(y_ptr):
    off = tl.full((), 0, tl.int64)
    for i in range(-3000000, 0, 1000000):
        tl.store(y_ptr + off, 1.0)
        a = (i * 1000).to(tl.int64)
        b = i.to(tl.int64) * 1000
        off += a - b
""",
        Y,
        "y_ptr: 1\n",
    ),
    "what a loop adds in a turn whose access is masked": Kernel(
        """def kernel(y_ptr):
    off = tl.full((), 0, tl.int64)
    for i in range(-3000000, 3000000, 1000000):
        tl.store(y_ptr + off, 1.0, mask=i >= 0)
        a = (i * 1000).to(tl.int64)
        b = i.to(tl.int64) * 1000
        off += a - b
""",
        Y,
        "y_ptr: 1\n",
    ),
    "what a loop adds in a turn whose access does not run": Kernel(
        """def kernel(y_ptr):
    off = tl.full((), 0, tl.int64)
    for i in range(-3000000, 3000000, 1000000):
        if i >= 0:
            tl.store(y_ptr + off, 1.0)
        a = (i * 1000).to(tl.int64)
        b = i.to(tl.int64) * 1000
        off += a - b
""",
        Y,
        "y_ptr: 1\n",
    ),
    "what a loop adds in a branch of its first turn": Kernel(
        """def kernel(y_ptr, n, m):
    off = tl.full((), 0, tl.int64)
    for i in range(0, 5):
        tl.store(y_ptr + off, 1.0)
        added = tl.full((), 0, tl.int64)
        if i == 0:
            added = (n * m).to(tl.int64) - n.to(tl.int64) * m
        off += added
""",
        Y | N_M,
        "y_ptr: 1\n",
    ),
    "what a loop adds before its access is masked": Kernel(
        """def kernel(y_ptr, n):
    off = tl.full((), 0, tl.int64)
    for i in range(0, n):
        tl.store(y_ptr + off, 1.0, mask=i * 1000 >= 2147483000)
        off += (i * 1000).to(tl.int64) - i.to(tl.int64) * 1000
""",
        Y | {"n": "i32"},
        "y_ptr: 1\n",
    ),
    "a value that a loop narrows and widens": Kernel(
        """def kernel(y_ptr, n):
    off = 0
    for i in range(0, n):
        tl.store(y_ptr + off, 1.0)
        off = (off + 256).to(tl.int8).to(tl.int32) - 256
""",
        Y | {"n": "i32"},
        "y_ptr: 1\n",
    ),
    "bits that a loop adds in each turn": Kernel(
        """def kernel(y_ptr, n, m):
    c = m
    for i in range(m, n):
        c += n | 3
    tl.store(y_ptr, 1.0, mask=m <= c)
""",
        Y | N_M,
        "y_ptr: 1\n",
    ),
    "a value that a loop carries and multiplies": Kernel(
        """def kernel(y_ptr, n, m):
    c = m
    for i in range(0, n):
        c = c * 1103515245 + 12345
    tl.store(y_ptr, 1.0, mask=c > 7)
""",
        Y | N_M,
        "y_ptr: 1\n",
    ),
    "what an inner loop adds in a turn of an outer one": Kernel(
        """def kernel(y_ptr):
    off = tl.full((), 0, tl.int64)
    for i in range(-3000000, 0, 1000000):
        for j in range(0, 2):
            tl.store(y_ptr + off, 1.0)
            off += (i * 1000).to(tl.int64) - i.to(tl.int64) * 1000
""",
        Y,
        "y_ptr: 1\n",
    ),
    "a product below an unsigned minimum": Kernel(
        """def kernel(y_ptr, n, m):
    tl.store(y_ptr, 1.0, mask=tl.minimum(n * m, n) > 3)
""",
        {**Y, "n": "u32", "m": "u32"},
        "y_ptr: 1\n",
    ),
    "what a while loop adds in its first turn": Kernel(
        """def kernel(y_ptr):
    off = tl.full((), 0, tl.int64)
    i = -3000000
    while i < 0:
        tl.store(y_ptr + off, 1.0)
        off += (i * 1000).to(tl.int64) - i.to(tl.int64) * 1000
        i += 1000000
""",
        Y,
        "y_ptr: 1\n",
    ),
}


@pytest.mark.parametrize("case", WRAPPED)
def test_no_integer_fits_by_what_is_computed_from_it(case: str) -> None:
    assert WRAPPED[case].last("overflow").verdict != "proved"
