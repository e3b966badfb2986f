"""Operations on numbers, one to a kernel: what each makes of values that real kernels rarely meet."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def convert(x_ptr, z_ptr, N: tl.constexpr, TO: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(z_ptr + lanes, tl.load(x_ptr + lanes).to(TO))


@triton.jit
def convert_truncating(x_ptr, z_ptr, N: tl.constexpr, TO: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(z_ptr + lanes, tl.load(x_ptr + lanes).to(TO, fp_downcast_rounding="rtz"))


@triton.jit
def reinterpret(x_ptr, z_ptr, N: tl.constexpr, TO: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(z_ptr + lanes, tl.load(x_ptr + lanes).to(TO, bitcast=True))


@triton.jit
def binary(x_ptr, y_ptr, z_ptr, N: tl.constexpr, OP: tl.constexpr):
    lanes = tl.arange(0, N)
    x = tl.load(x_ptr + lanes)
    y = tl.load(y_ptr + lanes)
    if OP == "add":
        z = x + y
    elif OP == "sub":
        z = x - y
    elif OP == "mul":
        z = x * y
    elif OP == "truediv":
        z = x / y
    elif OP == "floordiv":
        z = x // y
    elif OP == "mod":
        z = x % y
    elif OP == "and":
        z = x & y
    elif OP == "or":
        z = x | y
    elif OP == "xor":
        z = x ^ y
    elif OP == "shl":
        z = x << y
    elif OP == "shr":
        z = x >> y
    elif OP == "lt":
        z = x < y
    elif OP == "le":
        z = x <= y
    elif OP == "gt":
        z = x > y
    elif OP == "ge":
        z = x >= y
    elif OP == "eq":
        z = x == y
    elif OP == "ne":
        z = x != y
    elif OP == "minimum":
        z = tl.minimum(x, y)
    elif OP == "maximum":
        z = tl.maximum(x, y)
    elif OP == "minimum_nan":
        z = tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL)
    elif OP == "maximum_nan":
        z = tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)
    elif OP == "max_builtin":
        z = max(x, y)
    elif OP == "logical_and":
        z = x and y
    elif OP == "logical_or":
        z = x or y
    elif OP == "umulhi":
        z = tl.umulhi(x, y)
    elif OP == "div_rn":
        z = tl.div_rn(x, y)
    elif OP == "fdiv":
        z = tl.fdiv(x, y)
    elif OP == "fma":
        z = tl.fma(x, y, x)
    elif OP == "multiply_add":
        z = x * y + x
    elif OP == "clamp":
        z = tl.clamp(x, -1.0, 1.0)
    elif OP == "clamp_nan":
        z = tl.clamp(x, -1.0, 1.0, propagate_nan=tl.PropagateNan.ALL)
    elif OP == "pow":
        z = libdevice.pow(x, y)
    elif OP == "atan2":
        z = libdevice.atan2(x, y)
    elif OP == "fmod":
        z = libdevice.fmod(x, y)
    elif OP == "remainder":
        z = libdevice.remainder(x, y)
    elif OP == "copysign":
        z = libdevice.copysign(x, y)
    elif OP == "nextafter":
        z = libdevice.nextafter(x, y)
    elif OP == "hypot":
        z = libdevice.hypot(x, y)
    elif OP == "where":
        z = tl.where(x, x, y)
    tl.store(z_ptr + lanes, z)


@triton.jit
def unary(x_ptr, z_ptr, N: tl.constexpr, OP: tl.constexpr):
    lanes = tl.arange(0, N)
    x = tl.load(x_ptr + lanes)
    if OP == "neg":
        z = -x
    elif OP == "invert":
        z = ~x
    elif OP == "not":
        z = not x
    elif OP == "abs":
        z = tl.abs(x)
    elif OP == "exp":
        z = tl.exp(x)
    elif OP == "exp2":
        z = tl.exp2(x)
    elif OP == "log":
        z = tl.log(x)
    elif OP == "log2":
        z = tl.log2(x)
    elif OP == "sin":
        z = tl.sin(x)
    elif OP == "cos":
        z = tl.cos(x)
    elif OP == "sqrt":
        z = tl.sqrt(x)
    elif OP == "sqrt_rn":
        z = tl.sqrt_rn(x)
    elif OP == "rsqrt":
        z = tl.rsqrt(x)
    elif OP == "erf":
        z = tl.erf(x)
    elif OP == "floor":
        z = tl.floor(x)
    elif OP == "ceil":
        z = tl.ceil(x)
    elif OP == "sigmoid":
        z = tl.sigmoid(x)
    elif OP == "softmax":
        z = tl.softmax(x)
    elif OP == "tanh":
        z = libdevice.tanh(x)
    elif OP == "round":
        z = libdevice.round(x)
    elif OP == "rint":
        z = libdevice.rint(x)
    elif OP == "nearbyint":
        z = libdevice.nearbyint(x)
    elif OP == "trunc":
        z = libdevice.trunc(x)
    elif OP == "log1p":
        z = libdevice.log1p(x)
    elif OP == "expm1":
        z = libdevice.expm1(x)
    elif OP == "isnan":
        z = libdevice.isnan(x)
    elif OP == "isinf":
        z = libdevice.isinf(x)
    elif OP == "finitef":
        z = libdevice.finitef(x)
    elif OP == "signbit":
        z = libdevice.signbit(x)
    elif OP == "acos":
        z = libdevice.acos(x)
    elif OP == "asinh":
        z = libdevice.asinh(x)
    elif OP == "atan":
        z = libdevice.atan(x)
    elif OP == "cbrt":
        z = libdevice.cbrt(x)
    elif OP == "erfinv":
        z = libdevice.erfinv(x)
    elif OP == "lgamma":
        z = libdevice.lgamma(x)
    elif OP == "tgamma":
        z = libdevice.tgamma(x)
    elif OP == "j0":
        z = libdevice.j0(x)
    elif OP == "normcdf":
        z = libdevice.normcdf(x)
    elif OP == "fast_expf":
        z = libdevice.fast_expf(x)
    elif OP == "fast_logf":
        z = libdevice.fast_logf(x)
    elif OP == "float2int_rn":
        z = libdevice.float2int_rn(x)
    elif OP == "float2int_rd":
        z = libdevice.float2int_rd(x)
    elif OP == "ilogb":
        z = libdevice.ilogb(x)
    elif OP == "clz":
        z = libdevice.clz(x)
    elif OP == "popc":
        z = libdevice.popc(x)
    elif OP == "brev":
        z = libdevice.brev(x)
    elif OP == "ffs":
        z = libdevice.ffs(x)
    tl.store(z_ptr + lanes, z)


@triton.jit
def reduce(x_ptr, z_ptr, N: tl.constexpr, OP: tl.constexpr):
    rows = tl.arange(0, N // 16)
    x = tl.load(x_ptr + rows[:, None] * 16 + tl.arange(0, 16)[None, :])
    if OP == "sum":
        z = tl.sum(x, 1)
    elif OP == "max":
        z = tl.max(x, 1)
    elif OP == "min":
        z = tl.min(x, 1)
    elif OP == "argmax":
        z = tl.argmax(x, 1)
    elif OP == "argmin":
        z = tl.argmin(x, 1)
    elif OP == "argmax_any":
        z = tl.argmax(x, 1, tie_break_left=False)
    elif OP == "xor_sum":
        z = tl.xor_sum(x, 1)
    elif OP == "reduce_or":
        z = tl.reduce_or(x, 1)
    tl.store(z_ptr + rows, z)


@triton.jit
def scan(x_ptr, z_ptr, N: tl.constexpr, OP: tl.constexpr):
    at = tl.arange(0, N // 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    x = tl.load(x_ptr + at)
    if OP == "cumsum":
        z = tl.cumsum(x, 1)
    elif OP == "cumsum_reverse":
        z = tl.cumsum(x, 1, reverse=True)
    elif OP == "cumprod":
        z = tl.cumprod(x, 1)
    elif OP == "sort":
        z = tl.sort(x, 1)
    elif OP == "sort_descending":
        z = tl.sort(x, 1, descending=True)
    elif OP == "flip":
        z = tl.flip(x, 1)
    tl.store(z_ptr + at, z)


@triton.jit
def atomic(x_ptr, z_ptr, N: tl.constexpr, OP: tl.constexpr):
    lanes = tl.arange(0, N)
    x = tl.load(x_ptr + lanes)
    if OP == "add":
        tl.atomic_add(z_ptr + lanes, x)
    elif OP == "max":
        tl.atomic_max(z_ptr + lanes, x)
    elif OP == "min":
        tl.atomic_min(z_ptr + lanes, x)
    elif OP == "and":
        tl.atomic_and(z_ptr + lanes, x)
    elif OP == "or":
        tl.atomic_or(z_ptr + lanes, x)
    elif OP == "xor":
        tl.atomic_xor(z_ptr + lanes, x)
    elif OP == "xchg":
        tl.atomic_xchg(z_ptr + lanes, x)
    elif OP == "cas":
        tl.atomic_cas(z_ptr + lanes, x, x + 1)


@triton.jit
def dot(x_ptr, y_ptr, z_ptr, N: tl.constexpr, PRECISION: tl.constexpr, OUT: tl.constexpr):
    rows = tl.arange(0, 32)
    at = rows[:, None] * 32 + rows[None, :]
    x = tl.load(x_ptr + at)
    y = tl.load(y_ptr + at)
    tl.store(z_ptr + at, tl.dot(x, y, input_precision=PRECISION, out_dtype=OUT))


@triton.jit
def random_numbers(z_ptr, seed, N: tl.constexpr, OP: tl.constexpr):
    lanes = tl.arange(0, N)
    if OP == "rand":
        z = tl.rand(seed, lanes)
    elif OP == "randn":
        z = tl.randn(seed, lanes)
    elif OP == "randint":
        z = tl.randint(seed, lanes)
    tl.store(z_ptr + lanes, z)


@triton.jit
def loop_of_unsigned(z_ptr, n, N: tl.constexpr):
    lanes = tl.arange(0, N)
    z = lanes * 0
    for i in range(0, n, 3):
        z += i.to(tl.int32) * lanes
    tl.store(z_ptr + lanes, z)
