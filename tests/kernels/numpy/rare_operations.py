"""Kernels of operations that few kernels have, each small enough to say what it should do."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def signals(flags, out, n, B: tl.constexpr):
    o = tl.arange(0, B)
    v = tl.atomic_load(flags + o, mask=o < n)
    tl.atomic_store(out + o, v + 1, mask=o < n)
    met = tl.atomic_poll(flags + o, v, timeout_ns=10)
    tl.store(out + B + o, met.to(tl.int32))
    tl.store(out + 2 * B, tl.atomic_poll(flags, 0).to(tl.int32))


@triton.jit
def ordered(x0, x1, y0, y1):
    if x0 > x1:
        return x1, x0, y1, y0
    return x0, x1, y0, y1


@triton.jit
def packs(x, y, B: tl.constexpr):
    o = tl.arange(0, B)
    keys, values = tl.map_elementwise(ordered, tl.load(x + o), tl.load(y + o), pack=2)
    tl.store(x + o, keys)
    tl.store(y + o, values)


@triton.jit
def eighths(x, kept, y, B: tl.constexpr):
    o = tl.arange(0, B)
    v = tl.load(x + o)
    tl.store(kept + o, v.to(tl.float8e4b15))
    tl.store(y + o, tl.load(kept + o).to(tl.float32))
    tl.store(y + B + o, v.to(tl.float8e5, fp_downcast_rounding="rtz").to(tl.float32))
    tl.store(y + 2 * B + o, v.to(tl.bfloat16, fp_downcast_rounding="rtz").to(tl.float32))
    tl.store(y + 3 * B + o, v.to(tl.float16, fp_downcast_rounding="rtz").to(tl.float32))


@triton.jit
def scaled_products(a, b, a_scale, b_scale, c, M: tl.constexpr, K: tl.constexpr):
    o, k, s = tl.arange(0, M), tl.arange(0, K), tl.arange(0, K // 32)
    x = tl.load(a + o[:, None] * (K // 2) + tl.arange(0, K // 2)[None, :])
    y = tl.load(b + k[:, None] * M + o[None, :])
    x_scale = tl.load(a_scale + o[:, None] * (K // 32) + s[None, :])
    y_scale = tl.load(b_scale + o[:, None] * (K // 32) + s[None, :])
    r = tl.dot_scaled(x, x_scale, "e2m1", y, y_scale, "e4m3")
    r = tl.dot_scaled(x, x_scale, "e2m1", y, None, "e4m3", acc=r)
    tl.store(c + o[:, None] * M + o[None, :], r)


@triton.jit
def precisions(x, y, B: tl.constexpr):
    o = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    a = tl.load(x + o)
    tl.store(y + o, tl.dot(a, a, input_precision="tf32x3"))
    tl.store(y + B * B + o, tl.dot(a, a, input_precision="bf16x3"))
    tl.store(y + 2 * B * B + o, tl.dot(a, a, input_precision="bf16x6"))


@triton.jit
def divisions(x, y, z, B: tl.constexpr):
    o = tl.arange(0, B)
    a, b = tl.load(x + o), tl.load(y + o)
    tl.store(z + o, a // b)
    tl.store(z + B + o, a % b)
    p, q = a.to(tl.uint32, bitcast=True), b.to(tl.uint32, bitcast=True)
    tl.store(z + 2 * B + o, (p // q).to(tl.int32, bitcast=True))
    tl.store(z + 3 * B + o, (p % q).to(tl.int32, bitcast=True))
    tl.store(z + 4 * B + o, a << (b & 63))
    tl.store(z + 5 * B + o, a >> (b & 63))


@triton.jit
def conversions(x, y, narrow, brain, B: tl.constexpr):
    o = tl.arange(0, B)
    v = tl.load(x + o)
    tl.store(narrow + o, v.to(tl.int8))
    tl.store(narrow + B + o, v.to(tl.uint8).to(tl.int8, bitcast=True))
    tl.store(brain + o, tl.load(y + o).to(tl.bfloat16))
    tl.store(brain + B + o, v.to(tl.int64).to(tl.bfloat16))
    tl.store(x + o, v % 3.0)


@triton.jit
def functions(x, y, B: tl.constexpr):
    o = tl.arange(0, B)
    v = tl.load(x + o)
    tl.store(y + o, libdevice.lgamma(v) + libdevice.erfinv(v / 8))
    tl.store(y + B + o, libdevice.j0(v) + libdevice.cyl_bessel_i0(v) + libdevice.sinpi(v))
    tl.store(y + 2 * B + o, libdevice.add_ru(v, v * 1e-9) - libdevice.mul_rd(v, v))
    tl.store(y + 3 * B + o, libdevice.float2int_rn(v).to(tl.float32))
    tl.store(y + 4 * B + o, libdevice.fdim(v, 1.0) + libdevice.rcbrt(v))


@triton.jit
def half_atomics(x, y, half, brain, B: tl.constexpr):
    o = tl.arange(0, B)
    tl.atomic_add(half + (o % 2), tl.load(x + o).to(tl.float16))
    tl.atomic_add(brain + (o % 2), tl.load(x + o).to(tl.bfloat16))
    tl.atomic_max(y + (o % 2), tl.load(x + o))
    tl.atomic_min(y + 2 + (o % 2), tl.load(x + o))


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def smaller_or_nan(a, b):
    return tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def extremes_of_zeros(x, y, B: tl.constexpr):
    o = tl.arange(0, B)
    for row in range(3):
        v = tl.load(x + row * B + o)
        out = y + row * 3 * B + o
        tl.store(out, tl.broadcast_to(tl.max(v, 0).to(v.dtype), [B]))
        tl.store(out + B, tl.broadcast_to(tl.reduce(v, 0, smaller_or_nan), [B]))
        tl.store(out + 2 * B, tl.associative_scan(v, 0, larger))


@triton.jit
def zeros_by_descriptor(x, y, B: tl.constexpr):
    o = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    v = tl.load(x + o)
    largest = tl.make_tensor_descriptor(y, [B, B], [B, 1], [B, B])
    least = tl.make_tensor_descriptor(y + B * B, [B, B], [B, 1], [B, B])
    largest.atomic_max([0, 0], v)
    least.atomic_min([0, 0], v)
