"""Kernels of every kind of operation, each small enough to say in NumPy what it should do."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def early_returns(x, n, B: tl.constexpr):
    pid = tl.program_id(0)
    if pid >= n:
        return
    o = pid * B + tl.arange(0, B)
    v = tl.load(x + o)
    if tl.sum(v, 0) > 0.0:
        tl.store(x + o, v * 2)
        return
    tl.store(x + o, v - 1)


@triton.jit
def loops(x, n, m, B: tl.constexpr):
    acc = tl.zeros((B,), tl.float32)
    count = 0
    for i in range(n):
        s = acc
        for j in range(m):
            if j % 2 == 0:
                acc += tl.load(x + tl.arange(0, B) + i * 3 + j)
                count += 1
            else:
                acc = acc * 0.5 + s
        acc += s
    a = 0
    b = 1
    while a < n * 10:
        a, b = b, a + b
    tl.store(x + tl.arange(0, B), acc + count + a)


@triton.jit
def integers(x, y, narrow, B: tl.constexpr):
    o = tl.arange(0, B)
    a = tl.load(x + o)
    b = tl.load(y + o)
    tl.store(x + o, a // b)
    tl.store(x + B + o, a % b)
    tl.store(x + 2 * B + o, (a.to(tl.uint32) // b.to(tl.uint32)).to(tl.int32))
    tl.store(x + 3 * B + o, tl.umulhi(a.to(tl.uint32), b.to(tl.uint32)).to(tl.int32))
    tl.store(x + 4 * B + o, (a.to(tl.uint32) >> 3).to(tl.int32) + (a >> 3))
    tl.store(x + 5 * B + o, a * 1000003 * b)
    tl.store(x + 6 * B + o, (a < b).to(tl.int32) - (a.to(tl.uint32) < b.to(tl.uint32)).to(tl.int32))
    tl.store(narrow + o, (a * 1000003).to(tl.int8))


@triton.jit
def floats(x, y, whole, B: tl.constexpr):
    o = tl.arange(0, B)
    a = tl.load(x + o)
    tl.store(y + o, tl.exp(a) + libdevice.tanh(a) + tl.erf(a))
    tl.store(y + B + o, tl.where(a < 0, a, 0.0) + tl.clamp(a, -0.5, 0.5) + libdevice.round(a))
    tl.store(y + 2 * B + o, tl.maximum(a, 0.0))
    tl.store(y + 3 * B + o, (a.to(tl.int32, bitcast=True) ^ 1).to(tl.float32, bitcast=True))
    tl.store(whole + o, (a * 1e12).to(tl.int32))


@triton.jit
def narrow_floats(x, half, brain, eight, B: tl.constexpr):
    o = tl.arange(0, B)
    a = tl.load(x + o)
    tl.store(half + o, a.to(tl.float16) * a.to(tl.float16) + 0.1)
    tl.store(brain + o, a.to(tl.bfloat16) + tl.full((B,), 0.1, tl.bfloat16))
    tl.store(eight + o, (a * 500).to(tl.float8e4nv))
    tl.store(x + o, tl.load(eight + o).to(tl.float32))


@triton.jit
def larger(value_a, index_a, value_b, index_b):
    if value_a > value_b:
        value = value_a
        index = index_a
    else:
        value = value_b
        index = index_b
    return value, index


@triton.jit
def decay(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def reductions(x, y, i, B: tl.constexpr, C: tl.constexpr):
    o = tl.arange(0, B)[:, None] * C + tl.arange(0, C)[None, :]
    a = tl.load(x + o)
    value, index = tl.max(a, 1, return_indices=True)
    tl.store(y + tl.arange(0, B), value)
    tl.store(i + tl.arange(0, B), index)
    tl.store(i + B + tl.arange(0, C), tl.argmin(a, 0))
    value, index = tl.reduce((a, o), 1, larger)
    tl.store(i + B + C + tl.arange(0, B), index)
    tl.store(y + B * C + o, tl.cumsum(a, 1, reverse=True))
    tl.store(y + 2 * B * C + o, tl.sort(a, 1))
    _, state = tl.associative_scan((a * 0 + 0.5, a), 1, decay)
    tl.store(y + 3 * B * C + o, state)
    tl.store(y + 4 * B * C + o, tl.broadcast_to(tl.sum(a, 1, keep_dims=True), (B, C)))


@triton.jit
def shapes(x, y, i, B: tl.constexpr, C: tl.constexpr):
    o = tl.arange(0, B)[:, None] * C + tl.arange(0, C)[None, :]
    a = tl.load(x + o)
    joined = tl.join(a, a + 1)
    left, right = tl.split(joined)
    tl.store(y + o, right - left)
    tl.store(y + B * C + tl.arange(0, C)[:, None] * B + tl.arange(0, B)[None, :], tl.trans(a))
    stacked = tl.reshape(tl.permute(joined, (2, 0, 1)), (2 * B, C))
    tl.store(
        y + 2 * B * C + tl.arange(0, 2 * B)[:, None] * C + tl.arange(0, C)[None, :], stacked
    )
    tl.store(y + 4 * B * C + o, tl.gather(a, (o + 1) % B, 0))
    tl.store(i + tl.arange(0, 16), tl.histogram(tl.ravel(o) % 10, 16))


@triton.jit
def products(x, half, eight, y, whole, B: tl.constexpr):
    o = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    a = tl.load(x + o)
    h = tl.load(half + o)
    q = tl.load(eight + o)
    tl.store(y + o, tl.dot(a, a, input_precision="ieee"))
    tl.store(y + B * B + o, tl.dot(a, a, input_precision="tf32"))
    tl.store(y + 2 * B * B + o, tl.dot(h, tl.trans(h), acc=a))
    tl.store(whole + o, tl.dot(q, q))


@triton.jit
def atomics(x, y, c, n, B: tl.constexpr):
    o = tl.arange(0, B)
    old = tl.atomic_add(x + (o % 4), tl.load(y + o), mask=o < n)
    tl.store(y + o, old)
    tl.atomic_max(c + o * 0, o - 3)
    tl.atomic_min(c + 1 + o * 0, -o)
    tl.atomic_xor(c + 2 + o * 0, o)
    tl.atomic_xchg(c + 3 + o * 0, o)
    tl.atomic_cas(c + 4, 0, 17)
    unsigned = (c + 5 + o * 0).to(tl.pointer_type(tl.uint32), bitcast=True)
    tl.atomic_max(unsigned, (o - 2).to(tl.uint32))


@triton.jit
def descriptors(x, y, M, N, B: tl.constexpr):
    source = tl.make_tensor_descriptor(x, shape=[M, N], strides=[N, 1], block_shape=[B, B])
    target = tl.make_tensor_descriptor(y, shape=[M, N], strides=[N, 1], block_shape=[B, B])
    for i in range(0, tl.cdiv(M, B)):
        for j in range(0, tl.cdiv(N, B)):
            block = source.load([i * B, j * B])
            target.store([i * B, j * B], block + 1)
            target.atomic_add([i * B, j * B], block)


@triton.jit
def pointers(x, y, table, n, B: tl.constexpr):
    p = x + tl.arange(0, B)
    for i in range(0, 3):
        tl.store(y + i * B + tl.arange(0, B), tl.load(p))
        p += B
    q = x
    if n > 3:
        q = y
    tl.store(q + 100, 7.0)
    address = x.to(tl.int64) + 4 * 5
    tl.store(y + 101, tl.load(address.to(tl.pointer_type(tl.float32))))
    tl.store(table, address - x.to(tl.int64))


@triton.jit
def pointer_tables(x, y, table, n, B: tl.constexpr):
    o = tl.arange(0, B)
    tl.store(table, (x + 3 * B).to(tl.int64))
    tl.store(table + 1, (x + B).to(tl.int64))
    row = tl.load(table).to(tl.pointer_type(tl.float32))
    for i in range(0, 2):
        tl.store(y + i * B + o, tl.load(row + o))
        row = tl.load(table + 1).to(tl.pointer_type(tl.float32))
    lanes = tl.load(table + o % 2).to(tl.pointer_type(tl.float32))
    tl.store(y + 2 * B + o, tl.load(lanes + o))
    masked = tl.load(table + o % 2, mask=o < n, other=0).to(tl.pointer_type(tl.float32))
    tl.store(y + 3 * B + o, tl.load(masked + o, mask=o < n, other=-1.0))
    tl.store(table + o % 2, (o % 2 * 0).to(tl.int64))


@triton.jit
def assertions(x, n, B: tl.constexpr):
    tl.device_print("x", tl.load(x + tl.arange(0, B)))
    tl.device_assert(n < 10, "n is too large")


@triton.jit
def load(x, reduce, B: tl.constexpr):
    store = tl.load(x + tl.arange(0, B))
    np = store + reduce
    tl.store(x + tl.arange(0, B), np + tl.sum(np, 0))


@triton.jit
def inline_assembly(x, B: tl.constexpr):
    v = tl.load(x + tl.arange(0, B))
    r = tl.inline_asm_elementwise(
        "add.f32 $0, $1, 1.0;", "=f,f", [v], dtype=tl.float32, is_pure=True, pack=1
    )
    tl.store(x + tl.arange(0, B), r)


@triton.jit
def clamped(x, y, B: tl.constexpr):
    o = tl.arange(0, B)
    tl.store(y + o, tl.clamp(tl.load(x + o), -1.0, 2.0))


@triton.jit
def narrow_sum(x, y, B: tl.constexpr):
    tl.store(y, tl.sum(tl.load(x + tl.arange(0, B)), 0))
