"""Causes of precision loss in TTIR: computing with less precision than the inputs have."""

from __future__ import annotations

import pytest

from launch.checks.precision_causes import Cause, causes_in, questionable

PLACES = """
#loc = loc(unknown)
#loc7 = loc("/kernel/user.py":7:5)
#loc9 = loc("/kernel/user.py":9:5)
#loc1 = loc("/triton/standard.py":290:1)
#loc2 = loc(callsite(#loc1 at #loc7))
"""


def found(*lines: str, after: str = "") -> list[tuple[str, str, int | None]]:
    """Return kind, type and line of each cause in a kernel of these lines."""
    body = "\n".join(f"    {line}" for line in lines)
    text = f"module {{\n  tt.func public @k(%p: !tt.ptr<f32>) {{\n{body}\n  }}\n{after}}}{PLACES}"
    return [reported(cause) for cause in causes_in(text)]


def reported(cause: Cause) -> tuple[str, str, int | None]:
    return str(cause.kind), cause.dtype, cause.location.line if cause.location else None


def load(name: str, dtype: str) -> str:
    return f"%{name} = tt.load %p : tensor<8x!tt.ptr<{dtype}>> loc(#loc9)"


def dot(a: str, result: str, more: str = "") -> str:
    types = f"tensor<8x8x{a}> * tensor<8x8x{a}> -> tensor<8x8x{result}>"
    return f"%d = tt.dot %x, %y, %c{more} : {types} loc(#loc7)"


def test_a_dot_of_fp32_in_tf32_is_one() -> None:
    assert found(dot("f32", "f32", ", inputPrecision = tf32")) == [("tf32", "tf32", 7)]


@pytest.mark.parametrize("more", ["", ", inputPrecision = tf32x3", ", inputPrecision = bf16x6"])
def test_other_precisions_of_a_dot_are_none(more: str) -> None:
    assert found(dot("f32", "f32", more)) == []


def test_a_dot_of_fp16_has_no_tf32() -> None:
    assert found(dot("f16", "f32", ", inputPrecision = tf32")) == []


def test_a_dot_that_adds_up_in_fp16_is_one() -> None:
    assert found(dot("f16", "f16")) == [("dot_accumulator", "f16", 7)]


@pytest.mark.parametrize(("most", "causes"), [(0, 0), (1073741824, 1)])
def test_fp8_may_be_added_up_in_less_than_fp32(most: int, causes: int) -> None:
    more = f" {{maxNumImpreciseAcc = {most} : i32}}"

    assert len(found(dot("f8E4M3FN", "f32", more))) == causes


LOOP = "%r = scf.for %i = %a to %b step %c iter_args(%acc = %z, %q = %p) -> ({}, !tt.ptr<f16>) : i32 {{"  # noqa: E501


def loop(dtype: str, *lines: str) -> list[str]:
    return [LOOP.format(dtype), *lines, f"scf.yield %s : {dtype}", "} loc(#loc9)"]


def test_a_loop_that_adds_up_in_bf16_is_one() -> None:
    lines = loop("tensor<8xbf16>", "%s = arith.addf %acc, %v : tensor<8xbf16> loc(#loc7)")

    assert found(*lines) == [("accumulator", "bf16", 7)]


def test_an_fp32_sum_stored_in_fp16_is_a_cause() -> None:
    lines = loop(
        "tensor<8xf16>",
        "%w = arith.extf %acc : tensor<8xf16> to tensor<8xf32>",
        "%n = arith.addf %w, %v : tensor<8xf32>",
        "%s = arith.truncf %n : tensor<8xf32> to tensor<8xf16> loc(#loc7)",
    )

    assert ("accumulator", "f16", 7) in found(load("v", "f16"), *lines)


def test_an_accumulator_that_is_scaled_stays_one() -> None:
    lines = loop(
        "tensor<8xf16>",
        "%n = arith.mulf %acc, %v : tensor<8xf16>",
        "%s = arith.addf %n, %v : tensor<8xf16> loc(#loc7)",
    )

    assert found(*lines) == [("accumulator", "f16", 7)]


def test_a_while_loop_adds_up_too() -> None:
    lines = [
        "%r = scf.while (%a = %z) : (tensor<8xf16>) -> tensor<8xf16> {",
        "scf.condition(%t) %a : tensor<8xf16>",
        "} do {",
        "^bb0(%b: tensor<8xf16> loc(#loc9)):",
        "%s = arith.addf %b, %v : tensor<8xf16> loc(#loc7)",
        "scf.yield %s : tensor<8xf16>",
        "} loc(#loc9)",
    ]

    assert found(*lines) == [("accumulator", "f16", 7)]


@pytest.mark.parametrize(
    "line",
    [
        "%s = arith.addf %x, %v : tensor<8xf16> loc(#loc7)",
        "%s = arith.maximumf %acc, %v : tensor<8xf16> loc(#loc7)",
    ],
)
def test_a_loop_that_does_not_add_to_what_it_carries_is_none(line: str) -> None:
    assert found(*loop("tensor<8xf16>", line)) == []


def test_a_helper_adds_up_for_the_loop_that_calls_it() -> None:
    call = (
        "%s = tt.call @add(%acc, %v) : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16> loc(#loc7)"
    )
    helper = (
        "  tt.func private @add(%a: tensor<8xf16>, %b: tensor<8xf16>) -> tensor<8xf16> {{\n"
        "    %n = arith.{} %a, %b : tensor<8xf16> loc(#loc9)\n  }} loc(#loc9)\n"
    )
    lines = loop("tensor<8xf16>", call)

    assert found(*lines, after=helper.format("addf")) == [("accumulator", "f16", 7)]
    assert found(*lines, after=helper.format("maximumf")) == []


@pytest.mark.parametrize(("additions", "causes"), [(4, 0), (20, 1)])
def test_a_loop_that_was_unrolled_adds_up_too(additions: int, causes: int) -> None:
    lines = [
        f"%s{n + 1} = arith.addf %s{n}, %v : tensor<8xf16> loc(#loc7)" for n in range(additions)
    ]

    assert found(*lines) == [("accumulator", "f16", 7)] * causes


def test_a_polynomial_is_no_sum() -> None:
    lines = [
        line.format(n, n + 1)
        for n in range(20)
        for line in (
            "%p{0} = arith.mulf %s{0}, %v : tensor<8xf16>",
            "%s{1} = arith.addf %p{0}, %v : tensor<8xf16>",
        )
    ]

    assert found(*lines) == []


def test_an_accumulator_in_fp32_is_none() -> None:
    lines = loop("tensor<8xf32>", "%s = arith.addf %acc, %v : tensor<8xf32> loc(#loc7)")

    assert found(*lines) == []


def reduction(combine: str, dtype: str = "f16", at: str = "#loc2") -> list[str]:
    return [
        '%t = "tt.reduce"(%x) <{axis = 0 : i32}> ({',
        f"^bb0(%a: {dtype} loc(unknown), %b: {dtype} loc(unknown)):",
        combine,
        f"tt.reduce.return %n : {dtype}",
        f"}}) : (tensor<8x{dtype}>) -> {dtype} loc({at})",
    ]


def test_a_sum_in_fp16_is_one_at_the_line_that_asks_for_it() -> None:
    lines = reduction("%n = arith.addf %a, %b : f16 loc(#loc1)")

    assert found(*lines) == [("reduction", "f16", 7)]


def test_a_largest_element_is_exact() -> None:
    assert found(*reduction("%n = arith.maximumf %a, %b : f16")) == []


def test_a_sum_in_a_function_of_the_library_belongs_to_its_callers() -> None:
    lines = "\n".join(reduction("%n = tt.call @add(%a, %b) : (f16, f16) -> f16", at="#loc1"))
    functions = (
        f"  tt.func private @sum(%x: tensor<8xf16>) -> f16 {{\n{lines}\n  }} loc(#loc1)\n"
        "  tt.func private @add(%a: f16, %b: f16) -> f16 {\n"
        "    %n = arith.addf %a, %b : f16 loc(#loc1)\n  } loc(#loc1)\n"
    )
    called = [
        "%u = tt.call @sum(%v) : (tensor<8xf16>) -> f16 loc(#loc7)",
        "%w = tt.call @sum(%v) : (tensor<8xf16>) -> f16 loc(#loc9)",
    ]

    assert found(*called, after=functions) == [("reduction", "f16", 7), ("reduction", "f16", 9)]


def test_functions_that_call_each_other_for_ever_end() -> None:
    lines = "\n".join(reduction("%n = tt.call @f(%a) : (f16) -> f16", at="#loc1"))
    functions = f"  tt.func private @f(%x: f16) {{\n{lines}\n  tt.call @f(%x) : (f16) -> ()\n  }}\n"

    assert found(after=functions) == []


ROUND = "%y = arith.truncf %x : tensor<8xf32> to tensor<8xf16> loc(#loc7)"


def test_fp16_arithmetic_on_fp32_inputs_is_a_cause() -> None:
    lines = load("x", "f32"), ROUND, "%z = arith.mulf %y, %y : tensor<8xf16>"

    assert found(*lines) == [("rounded", "f16", 7)]


def test_a_helper_s_rounded_result_is_a_cause() -> None:
    assert found(load("x", "f32"), ROUND, "tt.return %y : tensor<8xf16>") == [("rounded", "f16", 7)]


def test_rounding_before_a_store_is_no_cause() -> None:
    lines = load("x", "f32"), ROUND, "tt.store %p, %y : tensor<8x!tt.ptr<f16>>"

    assert found(*lines) == []


def test_rounding_to_the_type_of_other_data_is_what_such_kernels_do() -> None:
    lines = (
        load("v", "f16"),
        "%x = math.exp %s : tensor<8xf32>",
        ROUND,
        "%z = tt.dot %y, %v, %c : tensor<8x8xf16> * tensor<8x8xf16> -> tensor<8x8xf32>",
    )

    assert found(*lines) == []
    assert found(load("v", "f32"), *lines[1:]) == [("rounded", "f16", 7)]


def test_atomics_that_add_to_fp16_are_one() -> None:
    line = "%o = tt.atomic_rmw fadd, acq_rel, gpu, %p, %v, %m : ({0}, {1}, {2}) -> {1} loc(#loc7)"
    types = "tensor<8x!tt.ptr<f16>>", "tensor<8xf16>", "tensor<8xi1>"

    assert found(line.format(*types)) == [("atomic", "f16", 7)]


def test_fp64_that_is_computed_with_in_fp32_is_one() -> None:
    lines = (
        load("x", "f64"),
        "%y = arith.truncf %x : tensor<8xf64> to tensor<8xf32> loc(#loc7)",
        "%z = arith.addf %y, %y : tensor<8xf32>",
    )

    assert found(*lines) == [("rounded", "f32", 7)]


@pytest.mark.parametrize("text", ["", "}\n}\n", "tt.func public @k(", "tt.dot", '"tt.reduce"({'])
def test_text_that_is_no_ir_has_no_causes(text: str) -> None:
    assert causes_in(text) == []


def test_a_kernel_of_fp32_alone_is_not_looked_through() -> None:
    assert questionable(b"%a = arith.addf %b, %c : tensor<8xf32>") == b""
    assert questionable(b"tt.dot %a, inputPrecision = tf32") != b""
    assert questionable(b" " * (5 << 20) + b"bf16") == b""
