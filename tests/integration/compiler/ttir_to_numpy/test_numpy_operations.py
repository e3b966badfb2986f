"""NumPy code of a kernel computes the right values, for each kind of operation."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.integration.compiler.children import Children
from tests.integration.compiler.ttir_to_numpy.translated import (
    FLOATS,
    both,
    normal,
    numpy_text,
    of_ir,
)

B, C = 16, 32


def test_programs_return_early(children: Children) -> None:
    kernel = numpy_text(children, "early_returns", {"x": FLOATS, "n": "i32"}, B=B)
    x = normal(4 * B)
    rows = x.reshape(4, B)
    wanted = np.where(rows.sum(1, keepdims=True) > 0, rows * 2, rows - 1)
    wanted[3] = rows[3]

    kernel.run((4,), x, 3)

    np.testing.assert_array_equal(x.reshape(4, B), wanted)


def test_loops_carry_values(children: Children) -> None:
    kernel = numpy_text(children, "loops", {"x": FLOATS, "n": "i32", "m": "i32"}, B=B)
    x = normal(100)
    acc, count = np.zeros(B, np.float32), 0
    for i in range(3):
        s = acc
        for j in range(4):
            acc = acc + x[i * 3 + j :][:B] if j % 2 == 0 else acc * np.float32(0.5) + s
            count += j % 2 == 0
        acc = acc + s

    kernel.run((1,), x, 3, 4)

    np.testing.assert_array_equal(x[:B], acc + np.float32(count) + np.float32(34))


def test_integers_wrap_and_divide_towards_zero(children: Children) -> None:
    signature = {"x": "*i32", "y": "*i32", "narrow": "*i8"}
    kernel = numpy_text(children, "integers", signature, B=B)
    random = np.random.default_rng(1)
    a = random.integers(-(2**31), 2**31 - 1, B).astype(np.int32)
    b = (random.integers(1, 1000, B) * random.choice([-1, 1], B)).astype(np.int32)
    x, narrow = np.concatenate([a, np.zeros(6 * B, np.int32)]), np.zeros(B, np.int8)
    p, q = a.astype(object), b.astype(object)
    u, v = a.view(np.uint32).astype(object), b.view(np.uint32).astype(object)
    towards_zero = [
        abs(m) // abs(n) * (1 if (m < 0) == (n < 0) else -1) for m, n in zip(p, q, strict=True)
    ]

    kernel.run((1,), x, b, narrow)

    rows = x.reshape(7, B).astype(object)
    assert list(rows[0]) == towards_zero
    assert list(rows[1]) == list(p - np.array(towards_zero) * q)
    assert list(rows[2] % 2**32) == list(u // v)
    assert list(rows[3] % 2**32) == list(u * v >> 32)
    assert list(rows[4] % 2**32) == list(((u >> 3) + (p >> 3)) % 2**32)
    assert list(rows[5] % 2**32) == list(p * 1000003 * q % 2**32)
    assert list(rows[6]) == list((a < b).astype(int) - (u < v).astype(int))
    assert list(narrow.astype(object) % 256) == list(p * 1000003 % 256)


def test_floats_become_integers_as_on_a_gpu(children: Children) -> None:
    kernel = numpy_text(children, "floats", {"x": FLOATS, "y": FLOATS, "whole": "*i32"}, B=B)
    x, y, whole = normal(B), np.zeros(4 * B, np.float32), np.zeros(B, np.int32)
    x[0], x[1] = np.nan, 1e-12

    kernel.run((1,), x, y, whole)

    assert whole[0] == 0
    assert whole[1] == 1
    assert set(whole[2:]) <= {2**31 - 1, -(2**31)}
    assert y[2 * B] == 0.0  # the larger of NaN and 0
    np.testing.assert_array_equal(y[3 * B :].view(np.int32), x.view(np.int32) ^ 1)


def test_a_nan_is_clamped_to_the_lower_bound_as_by_ptx(children: Children) -> None:
    kernel = numpy_text(children, "clamped", {"x": FLOATS, "y": FLOATS}, B=B)
    x, y = normal(B), np.zeros(B, np.float32)
    x[:4] = np.nan, np.inf, -np.inf, 0.5

    kernel.run((1,), x, y)

    np.testing.assert_array_equal(y[:4], [-1, 2, -1, 0.5])


def test_a_sum_of_narrow_floats_is_that_of_lanes_and_then_of_warps(children: Children) -> None:
    kernel = numpy_text(children, "narrow_sum", {"x": "*bf16", "y": "*bf16"}, B=128)
    x, y = normal(128).astype(ml_dtypes.bfloat16), np.zeros(1, ml_dtypes.bfloat16)

    kernel.run((1,), x, y)

    warps = []
    for warp in x.reshape(4, 32):
        for distance in (16, 8, 4, 2, 1):
            warp = warp + warp[np.arange(32) ^ distance]
        warps.append(warp[0])
    assert y[0] == (warps[0] + warps[2]) + (warps[1] + warps[3])


def test_functions_of_floats(children: Children) -> None:
    kernel = numpy_text(children, "floats", {"x": FLOATS, "y": FLOATS, "whole": "*i32"}, B=B)
    x, y, whole = normal(B), np.zeros(4 * B, np.float32), np.zeros(B, np.int32)
    x[0] = 2.5

    kernel.run((1,), x, y, whole)

    rows = y.reshape(4, B)
    np.testing.assert_allclose(rows[0][0], np.exp(2.5) + np.tanh(2.5) + 0.999593, rtol=1e-6)
    rounded = np.trunc(x + np.copysign(np.float32(0.5), x))
    wanted = np.where(x < 0, x, np.float32(0)) + np.clip(x, -0.5, 0.5) + rounded
    np.testing.assert_array_equal(rows[1], wanted)


def test_narrow_floats_round_at_every_operation(children: Children) -> None:
    signature = {"x": FLOATS, "half": "*fp16", "brain": "*bf16", "eight": "*fp8e4nv"}
    kernel = numpy_text(children, "narrow_floats", signature, B=B)
    x = normal(B)
    a = x.copy()
    half, brain = np.zeros(B, np.float16), np.zeros(B, ml_dtypes.bfloat16)
    eight = np.zeros(B, ml_dtypes.float8_e4m3fn)

    kernel.run((1,), x, half, brain, eight)

    halves = a.astype(np.float16).astype(np.float64)
    fused = halves * halves + np.float64(np.float16(0.1))  # exact, and rounded once
    np.testing.assert_array_equal(half, fused.astype(np.float16))
    sums = a.astype(ml_dtypes.bfloat16) + ml_dtypes.bfloat16(0.1)
    np.testing.assert_array_equal(brain.view(np.int16), sums.view(np.int16))
    saturated = np.clip(a * np.float32(500), -448, 448).astype(ml_dtypes.float8_e4m3fn)
    np.testing.assert_array_equal(x, saturated.astype(np.float32))


def test_reductions_and_scans_with_any_region(children: Children) -> None:
    signature = {"x": FLOATS, "y": FLOATS, "i": "*i32"}
    kernel = numpy_text(children, "reductions", signature, B=B, C=C)
    x, y, i = normal(B, C), np.zeros((5, B, C), np.float32), np.zeros(2 * B + C, np.int32)
    state, states = np.zeros(B), []
    for column in x.T:
        state = state * 0.5 + column
        states.append(state)

    kernel.run((1,), x, y, i)

    np.testing.assert_array_equal(y.reshape(-1)[:B], x.max(1))
    np.testing.assert_array_equal(i[:B], x.argmax(1))
    np.testing.assert_array_equal(i[B : B + C], x.argmin(0))
    np.testing.assert_array_equal(i[B + C :], x.argmax(1) + np.arange(B) * C)
    np.testing.assert_allclose(y[1], x[:, ::-1].cumsum(1)[:, ::-1], atol=1e-5)
    np.testing.assert_array_equal(y[2], np.sort(x, 1))
    np.testing.assert_allclose(y[3], np.stack(states, 1), atol=1e-5)
    np.testing.assert_allclose(y[4], np.repeat(x.sum(1, keepdims=True), C, 1), atol=1e-5)


def test_elements_move(children: Children) -> None:
    kernel = numpy_text(children, "shapes", {"x": FLOATS, "y": FLOATS, "i": "*i32"}, B=B, C=C)
    x, y, i = normal(B, C), np.zeros((5, B, C), np.float32), np.zeros(16, np.int32)
    places = np.arange(B * C).reshape(B, C)

    kernel.run((1,), x, y, i)

    np.testing.assert_array_equal(y[0], (x + 1) - x)
    np.testing.assert_array_equal(y[1].reshape(C, B), x.T)
    np.testing.assert_array_equal(y[2:4].reshape(2 * B, C), np.concatenate([x, x + 1]))
    np.testing.assert_array_equal(y[4], np.take_along_axis(x, (places + 1) % B, 0))
    np.testing.assert_array_equal(i, np.bincount(places.ravel() % 10, minlength=16))


def test_products_of_each_precision(children: Children) -> None:
    signature = {"x": FLOATS, "half": "*fp16", "eight": "*i8", "y": FLOATS, "whole": "*i32"}
    kernel = numpy_text(children, "products", signature, B=C)
    x, half = normal(C, C), normal(C, C, seed=1).astype(np.float16)
    eight = np.random.default_rng(2).integers(-128, 127, (C, C)).astype(np.int8)
    y, whole = np.zeros((3, C, C), np.float32), np.zeros((C, C), np.int32)
    word = x.view(np.uint32).astype(np.uint64)
    tf32 = (word & 0xFFFFE000).astype(np.uint32).view(np.float32)  # truncated, like on an H200

    kernel.run((1,), x, half, eight, y, whole)

    np.testing.assert_allclose(y[0], x @ x, atol=1e-5)
    np.testing.assert_allclose(y[1], tf32 @ tf32, atol=1e-5)
    assert not np.allclose(y[1], x @ x, atol=1e-5)
    wide = half.astype(np.float32)
    np.testing.assert_allclose(y[2], wide @ wide.T + x, atol=1e-5)
    np.testing.assert_array_equal(whole, eight.astype(int) @ eight.astype(int))


def test_atomics_happen_in_order(children: Children) -> None:
    signature = {"x": FLOATS, "y": FLOATS, "c": "*i32", "n": "i32"}
    kernel = numpy_text(children, "atomics", signature, B=B)
    x, y, c = np.zeros(4, np.float32), np.arange(B, dtype=np.float32), np.zeros(6, np.int32)

    kernel.run((1,), x, y, c, 8)

    assert list(x) == [4, 6, 8, 10]
    assert list(y) == [0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0]
    assert list(c) == [B - 4, 1 - B, 0, B - 1, 17, -1]


def test_descriptors_stay_inside_of_their_tensor(children: Children) -> None:
    signature = {"x": FLOATS, "y": FLOATS, "M": "i32", "N": "i32"}
    kernel = numpy_text(children, "descriptors", signature, B=B)
    x, y = normal(20, 24), np.zeros((20, 24), np.float32)

    kernel.run((1,), x, y, 20, 24)

    np.testing.assert_array_equal(y, (x + 1) + x)


def test_pointers_are_values(children: Children) -> None:
    signature = {"x": FLOATS, "y": FLOATS, "table": "*i64", "n": "i32"}
    kernel = numpy_text(children, "pointers", signature, B=B)
    x, y, table = normal(128), np.zeros(128, np.float32), np.zeros(1, np.int64)

    kernel.run((1,), x, y, table, 5)

    np.testing.assert_array_equal(y[: 3 * B], x[: 3 * B])
    assert y[100] == 7.0
    assert y[101] == x[5]
    assert table[0] == 20


def test_pointers_come_from_tables_of_addresses(children: Children) -> None:
    signature = {"x": FLOATS, "y": FLOATS, "table": "*i64", "n": "i32"}
    x, lanes = normal(4 * B), np.arange(B)
    rows = np.where(lanes % 2 == 0, x[3 * B :], x[B : 2 * B])

    for kernel in both(children, "pointer_tables", signature, B=B):
        y, table = np.zeros(4 * B, np.float32), np.ones(2, np.int64)
        kernel.run((1,), x, y, table, 5)

        np.testing.assert_array_equal(y[:B], x[3 * B :])
        np.testing.assert_array_equal(y[B : 2 * B], x[B : 2 * B])
        np.testing.assert_array_equal(y[2 * B : 3 * B], rows)
        np.testing.assert_array_equal(y[3 * B :], np.where(lanes < 5, rows, -1))
        assert not table.any()


def test_an_access_outside_names_argument_index_and_program(children: Children) -> None:
    kernel = numpy_text(children, "early_returns", {"x": FLOATS, "n": "i32"}, B=B)

    with pytest.raises(IndexError, match=r"load: element 32 of x, which has 32, in program \(2"):
        kernel.run((3,), normal(2 * B), 3)


def test_an_address_between_two_elements_is_refused(children: Children) -> None:
    ir = (
        "module { tt.func public @k(%p: !tt.ptr<i32>, %a: i64) {\n"
        "%x = tt.ptr_to_int %p : !tt.ptr<i32> -> i64\n%y = arith.addi %x, %a : i64\n"
        "%q = tt.int_to_ptr %y : i64 -> !tt.ptr<i32>\n%v = tt.load %q : !tt.ptr<i32>\n"
        "tt.store %p, %v : !tt.ptr<i32>\ntt.return\n} }"
    )
    kernel, memory = of_ir(children, ir.encode(), "ttir", "k"), np.arange(4, dtype=np.int32)

    kernel.run((1,), memory, 8)
    with pytest.raises(IndexError, match="byte 6 of arg0 does not begin an element of 4 bytes"):
        kernel.run((1,), memory, 6)

    assert list(memory) == [2, 1, 2, 3]


def test_prints_and_assertions(children: Children, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = numpy_text(children, "assertions", {"x": FLOATS, "n": "i32"}, B=B)

    kernel.run((1,), np.ones(B, np.float32), 3)

    assert "x:" in capsys.readouterr().out


OPERATIONS = {
    "early_returns": {"x": FLOATS, "n": "i32"},
    "loops": {"x": FLOATS, "n": "i32", "m": "i32"},
    "integers": {"x": "*i32", "y": "*i32", "narrow": "*i8"},
    "reductions": {"x": FLOATS, "y": FLOATS, "i": "*i32"},
    "shapes": {"x": FLOATS, "y": FLOATS, "i": "*i32"},
    "atomics": {"x": FLOATS, "y": FLOATS, "c": "*i32", "n": "i32"},
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_both_stages_compute_the_same(children: Children, name: str) -> None:
    sizes = {"B": B, "C": C} if name in {"reductions", "shapes"} else {"B": B}
    results = []
    for kernel in both(children, name, OPERATIONS[name], **sizes):
        random = np.random.default_rng(5)
        arguments = [
            3 if kind == "i32" else (random.standard_normal(4096) * 50 + 200).astype(dtype)
            for kind in OPERATIONS[name].values()
            for dtype in ({"*i32": np.int32, "*i8": np.int8}.get(kind, np.float32),)
        ]
        kernel.run((2,), *arguments)
        results.append(arguments)

    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)
