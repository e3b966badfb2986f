"""Rare operations compute the right values, in both forms and from both stages."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from compiler.ttir_to_numpy.runtime.launching import dtype_named
from tests.integration.compiler.children import Children
from tests.integration.compiler.kernels import KERNELS, Kernel
from tests.integration.launch.cpu.forms import Forms, compiled, forms_of

B = 16
FLOATS = "*fp32"
WAYS = ("one by one", "at once")
RANDOM = np.random.default_rng(4)


def made(children: Children, name: str, signature: dict[str, str], **sizes: int) -> list[Forms]:
    """Return the forms of a kernel of tests/kernels/numpy/rare_operations.py, from both stages."""
    path = KERNELS / "numpy" / "rare_operations.py"
    request = {"kernel": name, "signature": signature, "constexprs": sizes}
    return list(compiled(children, Kernel(path, path.read_text(), request)))


def runs(forms: list[Forms], *arguments: Any) -> Any:
    """Yield the arguments after each run of each form, one program."""
    for form in forms:
        for way in (form.one_by_one, form.gather_limited):
            given = [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
            way((1, 1, 1), given)
            yield given


def test_signals(children: Children) -> None:
    forms = made(children, "signals", {"flags": "*i32", "out": "*i32", "n": "i32"}, B=B)
    flags = np.arange(B, dtype=np.int32)

    for _, out, _ in runs(forms, flags, np.zeros(2 * B + 1, np.int32), 10):
        # elements from the tenth on were not loaded, so they are not 0
        assert list(out[:B]) == [*range(1, 11), *[0] * 6]
        assert list(out[B : 2 * B]) == [*[1] * 10, *[0] * 6]
        assert out[2 * B] == 1


def test_packs_are_neighbours(children: Children) -> None:
    forms = made(children, "packs", {"x": "*i32", "y": "*i32"}, B=B)
    x, y = RANDOM.permutation(B).astype(np.int32), np.arange(B, dtype=np.int32)
    order = np.argsort(x.reshape(-1, 2), 1) + np.arange(0, B, 2)[:, None]

    for keys, values in runs(forms, x, y):
        assert list(keys) == list(x[order.ravel()])
        assert list(values) == list(y[order.ravel()])


def test_eight_bits_and_what_is_cut_off(children: Children) -> None:
    signature = {"x": FLOATS, "kept": "*fp8e4b15", "y": FLOATS}
    forms = made(children, "eighths", signature, B=B)
    x = np.float32([0, 1, 1.9, -0.3, np.inf, 7e4, 1.0625, 1.1875, 3, 1e-5, -1.6, 0.1, 2, 5, 6, 7])

    for _, _, y in runs(forms, x, np.zeros(B, np.int8), np.zeros(4 * B, np.float32)):
        small, wide, brain, half = y.reshape(4, B)
        assert list(small[:8]) == [0, 1, 1.75, -0.3125, 1.75, 1.75, 1.125, 1.25]
        assert list(wide[:8]) == [0, 1, 1.75, -0.25, np.inf, 57344, 1, 1]
        cut = (x.view(np.uint32) & 0xFFFF0000).view(np.float32)
        np.testing.assert_array_equal(brain, cut)
        assert list(half[3:6]) == [np.float16(-0.2998), np.inf, 65504]


def test_scaled_products(children: Children) -> None:
    m, k = 32, 64
    signature = {"a": "*u8", "b": "*fp8e4nv", "a_scale": "*u8", "b_scale": "*u8", "c": FLOATS}
    forms = made(children, "scaled_products", signature, M=m, K=k)
    nibbles = RANDOM.integers(0, 16, (m, k))
    a = (nibbles[:, ::2] | nibbles[:, 1::2] << 4).astype(np.uint8).view(np.int8)
    b = RANDOM.standard_normal((k, m)).astype(ml_dtypes.float8_e4m3fn)
    scales = RANDOM.integers(120, 132, (2, m, 2)).astype(np.uint8)
    sizes = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    powers = np.repeat(2.0 ** (scales.astype(int) - 127), 32, -1)
    left = np.where(nibbles & 8, -1, 1) * sizes[nibbles & 7] * powers[0]
    exact = left @ (b.astype(float) * powers[1].T) + left @ b.astype(float)

    bytes_ = [scale.view(np.int8) for scale in scales]
    for *_, c in runs(forms, a, b, *bytes_, np.zeros((m, m), np.float32)):
        np.testing.assert_allclose(c, exact, rtol=1e-4, atol=1e-2)


def test_precisions(children: Children) -> None:
    forms = made(children, "precisions", {"x": FLOATS, "y": FLOATS}, B=32)
    x = RANDOM.standard_normal((32, 32)).astype(np.float32)
    exact = x.astype(float) @ x.astype(float)

    for _, y in runs(forms, x, np.zeros((3, 32, 32), np.float32)):
        errors = np.abs(y - exact).max((1, 2))
        assert errors[0] < 2e-5
        assert 2e-5 < errors[1] < 1e-3
        assert errors[2] < 2e-5


def test_divisions_by_zero_and_wide_shifts(children: Children) -> None:
    forms = made(children, "divisions", {"x": "*i32", "y": "*i32", "z": "*i32"}, B=B)
    x = np.int32([7, -7, 5, -5, -(2**31), 0, 9, -9, 1, 2, 3, 4, 5, 6, 7, -8])
    y = np.int32([2, 2, 0, 0, -1, 0, -4, -4, 1, 1, 1, 1, 31, 32, 40, 40])

    for *_, z in runs(forms, x, y, np.zeros(6 * B, np.int32)):
        quotient, rest, unsigned, unsigned_rest, left, right = z.reshape(6, B)
        assert list(quotient[:8]) == [3, -3, -1, -1, -(2**31), -1, -2, 2]
        assert list(rest[:8]) == [1, -1, -1, -1, 0, -1, 1, -1]
        assert list(unsigned[:3]) == [3, 2**31 - 4, -1]
        assert list(unsigned_rest[:3]) == [1, 1, -1]
        assert list(left[12:]) == [-(2**31), 0, 0, 0]
        assert list(right[12:]) == [0, 0, 0, -1]


def test_conversions_are_those_of_ptx(children: Children) -> None:
    signature = {"x": FLOATS, "y": "*fp64", "narrow": "*i8", "brain": "*bf16"}
    forms = made(children, "conversions", signature, B=B)
    x = np.full(B, 7.5, np.float32)
    x[:6] = [300.0, -300.0, np.nan, 1e6, -7.5, 2.0**62 + 2.0**54]
    y = np.full(B, 1 + 2.0**-8 + 2.0**-40)
    bytes_, brain = np.zeros(2 * B, np.int8), np.zeros(2 * B, ml_dtypes.bfloat16)

    for rest, _, narrow, brains in runs(forms, x, y, bytes_, brain):
        assert list(narrow[:5]) == [44, -44, 0, -1, -7]
        assert list(narrow[B : B + 5]) == [44, 0, 0, -1, 0]
        assert set(brains[:B].astype(float)) == {1 + 2.0**-7}
        assert brains[B + 2].astype(float) == -(2.0**63)  # NaN as 64 bits
        assert list(rest[:2]) == [0, 0]
        assert rest[4] == -1.5
        assert np.isnan(rest[2])


def test_functions_of_libdevice(children: Children) -> None:
    forms = made(children, "functions", {"x": FLOATS, "y": FLOATS}, B=B)
    x = np.linspace(0.5, 6, B).astype(np.float32)
    x[0], x[1] = 3.0, 2.5

    for _, y in runs(forms, x, np.zeros(5 * B, np.float32)):
        rows = y.reshape(5, B)
        np.testing.assert_allclose(rows[0][0], 0.6931472 + 0.3456165, rtol=1e-5)
        np.testing.assert_allclose(rows[1][0], -0.260052 + 4.880793, rtol=1e-5)
        assert rows[2][0] == np.nextafter(np.float32(3), np.float32(4)) - np.float32(9)
        assert list(rows[3][:2]) == [3, 2]
        np.testing.assert_allclose(rows[4][0], 2 + 3 ** (-1 / 3), rtol=1e-6)


def test_atomics_of_halves(children: Children) -> None:
    signature = {"x": FLOATS, "y": FLOATS, "half": "*fp16", "brain": "*bf16"}
    forms = made(children, "half_atomics", signature, B=B)
    x = np.arange(B, dtype=np.float32) - 5
    half, brain = np.zeros(2, np.float16), np.zeros(2, ml_dtypes.bfloat16)

    for _, y, halves, brains in runs(forms, x, np.zeros(4, np.float32), half, brain):
        assert list(halves) == [16, 24]
        assert list(brains.astype(float)) == [16, 24]
        assert list(y) == [9, 10, -5, -4]


def function(body: str, parameters: str) -> str:
    """Return TTIR of one kernel."""
    return f"module {{ tt.func public @k({parameters}) {{\n{body}\ntt.return\n}} }}"


UNSIGNED = function(
    "%one = arith.constant 1 : i32\n%zero = arith.constant 0 : i32\n"
    "%n = scf.for unsigned %i = %a to %b step %one iter_args(%c = %zero) -> (i32) : i32 {\n"
    "  %d = arith.addi %c, %one : i32\n  tt.store %p, %i : !tt.ptr<i32>\n"
    "  scf.yield %d : i32\n}\n"
    "%q = tt.addptr %p, %one : !tt.ptr<i32>, i32\ntt.store %q, %n : !tt.ptr<i32>",
    "%p: !tt.ptr<i32>, %a: i32, %b: i32",
)


def test_a_loop_over_unsigned_numbers() -> None:
    forms = [forms_of(UNSIGNED)]

    for out, *_ in runs(forms, np.zeros(2, np.int32), 2**31 - 2, -(2**31) + 3):
        assert list(out) == [-(2**31) + 2, 5]


TWO_RESULTS = function(
    "%l, %h = arith.mului_extended %a, %b : i32\n"
    "%s, %t = arith.mulsi_extended %a, %b : i32\n"
    "%u, %o = arith.addui_extended %a, %b : i32, i1\n"
    "%w = arith.extui %o : i1 to i32\n"
    "%c = arith.ceildivsi %a, %b : i32\n%f = arith.floordivsi %a, %b : i32\n"
    "%z = math.ctlz %a : i32\n%y = math.cttz %b : i32\n%x = math.ctpop %a : i32\n"
    + "".join(
        f"%n{n} = arith.constant {n} : i32\n"
        f"%p{n} = tt.addptr %p, %n{n} : !tt.ptr<i32>, i32\n"
        f"tt.store %p{n}, {value} : !tt.ptr<i32>\n"
        for n, value in enumerate(["%l", "%h", "%t", "%u", "%w", "%c", "%f", "%z", "%y", "%x"])
    ),
    "%p: !tt.ptr<i32>, %a: i32, %b: i32",
)


def test_operations_that_only_posted_ir_has() -> None:
    a, b = -7, 12
    forms = [forms_of(TWO_RESULTS)]

    for out, *_ in runs(forms, np.zeros(10, np.int32), a, b):
        high = (a % 2**32) * b >> 32
        assert list(out) == [a * b, high, -1, a + b, 1, 0, -1, 0, 2, 30]


def test_a_wide_shift_counts_half_of_its_amount() -> None:
    ir = function(
        "%r = arith.shli %a, %b : i64\n%s = arith.shrui %a, %b : i64\n"
        "%t = arith.shrsi %a, %b : i64\n%u = arith.addi %r, %s : i64\n"
        "%v = arith.addi %u, %t : i64\ntt.store %p, %v : !tt.ptr<i64>",
        "%p: !tt.ptr<i64>, %a: i64, %b: i64",
    )

    for out, *_ in runs([forms_of(ir)], np.zeros(1, np.int64), 64, 2**53 + 1):
        assert out[0] == 128 + 32 + 32
    for out, *_ in runs([forms_of(ir)], np.zeros(1, np.int64), -64, 100):
        assert out[0] == -1


@pytest.mark.parametrize(
    ("operation", "wanted"),
    [("divsi", [0, 0, 1, 1]), ("remui", [0, 0, 0, 0]), ("shli", [0, 0, 1, 1])],
)
def test_booleans_divide_and_move_nothing(operation: str, wanted: list[int]) -> None:
    ir = function(
        f"%r = arith.{operation} %a, %b : i1\n%s = arith.extui %r : i1 to i32\n"
        "tt.store %p, %s : !tt.ptr<i32>",
        "%p: !tt.ptr<i32>, %a: i1, %b: i1",
    )
    forms = [forms_of(ir)]
    for number, (a, b) in enumerate([(False, False), (False, True), (True, False), (True, True)]):
        for out, *_ in runs(forms, np.ones(1, np.int32), a, b):
            assert out[0] == wanted[number]


BOUNDS = {
    "numbers": "%lo = arith.constant -2.0 : f32\n%hi = arith.constant 3.0 : f32\n",
    "a limit": "%lo = arith.constant -3.0 : f32\n%hi = arith.constant 3.0 : f32\n",
    "negated": "%hi = arith.constant 3.0 : f32\n%lo = arith.negf %hi : f32\n",
    "from zero": "%o = arith.constant 0.0 : f32\n%hi = arith.constant 3.0 : f32\n"
    "%lo = arith.subf %o, %hi : f32\n",
}


@pytest.mark.parametrize("bounds", BOUNDS)
def test_a_clamped_nan_is_a_limit_and_otherwise_the_lower_bound(bounds: str) -> None:
    ir = function(
        f"{BOUNDS[bounds]}%r = tt.clampf %x, %lo, %hi, propagateNan = none : f32\n"
        "tt.store %p, %r : !tt.ptr<f32>",
        "%p: !tt.ptr<f32>, %x: f32",
    )
    least = -2.0 if bounds == "numbers" else -3.0
    of_nan = least if bounds == "numbers" else 3.0
    for value, wanted in ((np.nan, of_nan), (-5.0, least), (5.0, 3.0), (1.0, 1.0)):
        for out, _ in runs([forms_of(ir)], np.zeros(1, np.float32), value):
            assert out[0] == wanted


@pytest.mark.parametrize("least", [-3.0, -2.0])
def test_a_clamped_nan_stays_where_it_is_to(least: float) -> None:
    ir = function(
        f"%lo = arith.constant {least} : f32\n%hi = arith.constant 3.0 : f32\n"
        "%r = tt.clampf %x, %lo, %hi, propagateNan = all : f32\n"
        "tt.store %p, %r : !tt.ptr<f32>",
        "%p: !tt.ptr<f32>, %x: f32",
    )
    for out, _ in runs([forms_of(ir)], np.zeros(1, np.float32), np.nan):
        assert np.isnan(out[0])


def test_subnormals_are_zeros_of_their_sign_for_libdevice() -> None:
    ir = function(
        '%r = tt.extern_elementwise %x {libname = "", libpath = "", pure = true, '
        'symbol = "__nv_ceilf"} : (f32) -> f32\n%s = math.floor %x : f32\n'
        "%t = arith.addf %r, %s : f32\ntt.store %p, %t : !tt.ptr<f32>",
        "%p: !tt.ptr<f32>, %x: f32",
    )
    for value in (1e-40, -1e-40):
        for out, _ in runs([forms_of(ir)], np.ones(1, np.float32), value):
            assert out[0] == 0


@pytest.mark.parametrize(
    ("operation", "value", "wanted"),
    [
        ("math.acosh", 2.0, 1.3169578969248166), ("math.erfc", 0.5, 0.4795001221869535),
        ("math.cbrt", -8.0, -2.0), ("math.asin", 0.5, 0.5235987755982989),
        ("math.roundeven", 2.5, 2.0), ("math.round", 2.5, 3.0), ("math.expm1", 1e-9, 1e-9),
        ("arith.flush_denormals", -1e-40, -0.0),
    ],
)  # fmt: skip
def test_math_of_floats(operation: str, value: float, wanted: float) -> None:
    ir = function(
        f"%r = {operation} %x : f32\ntt.store %p, %r : !tt.ptr<f32>",
        "%p: !tt.ptr<f32>, %x: f32",
    )

    for out, _ in runs([forms_of(ir)], np.zeros(1, np.float32), value):
        assert out[0] == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("zeros", [(0.0, -0.0), (-0.0, 0.0)])
@pytest.mark.parametrize(
    ("operation", "is_negative"),
    [("maxnumf", False), ("minnumf", True), ("maximumf", False), ("minimumf", True)],
)
def test_the_larger_zero_is_positive(
    operation: str, is_negative: bool, zeros: tuple[float, float]
) -> None:
    ir = function(
        f"%r = arith.{operation} %a, %b : f32\ntt.store %p, %r : !tt.ptr<f32>",
        "%p: !tt.ptr<f32>, %a: f32, %b: f32",
    )
    for out, *_ in runs([forms_of(ir)], np.ones(1, np.float32), *zeros):
        assert out[0] == 0
        assert np.signbit(out[0]) == is_negative


@pytest.mark.parametrize("dtype", ["*fp16", "*bf16", "*fp32", "*fp64"])
def test_zeros_keep_their_order_in_reductions_and_scans(children: Children, dtype: str) -> None:
    forms = made(children, "extremes_of_zeros", {"x": dtype, "y": dtype}, B=B)
    x = np.zeros((3, B), dtype_named(dtype[1:]))
    x[0, 1::2], x[1], x[2, 0] = -0.0, -0.0, -0.0

    for _, y in runs(forms, x, np.ones((3, 3, B), x.dtype)):
        assert (y == 0).all()
        largest, least, scanned = np.moveaxis(np.signbit(y), 1, 0)
        assert largest.sum(1).tolist() == [0, B, 0]
        assert least.sum(1).tolist() == [B, B, B]
        assert scanned.sum(1).tolist() == [0, B, 1]


def test_a_descriptor_keeps_the_larger_zero(children: Children) -> None:
    forms = made(children, "zeros_by_descriptor", {"x": "*fp16", "y": "*fp16"}, B=B)
    x, y = np.zeros((B, B), np.float16), np.full((2, B, B), -0.0, np.float16)
    y[1] = 0.0
    x[1] = -0.0

    for _, out in runs(forms, x, y):
        assert np.signbit(out[0]).all(1).tolist() == [n == 1 for n in range(B)]
        assert np.signbit(out[1]).all(1).tolist() == [n == 1 for n in range(B)]
