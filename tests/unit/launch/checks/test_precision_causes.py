"""Causes of precision loss in TTIR: computing with less precision than the inputs have."""

from __future__ import annotations

import pytest

from compiler.ttir_to_numpy.generic_form import module_of
from launch.checks.precision_causes import causes_in
from launch.messages import Cause

PLACES = """
#loc = loc(unknown)
#loc7 = loc("/kernel/user.py":7:5)
#loc9 = loc("/kernel/user.py":9:5)
#loc1 = loc("/triton/standard.py":290:1)
#loc2 = loc(callsite(#loc1 at #loc7))
"""


def found(*lines: str, after: str = "") -> list[tuple[str, str, int | None]]:
    """Return kind, type and line of each cause in a kernel of these lines, in generic form."""
    body = "\n".join(lines)
    kernel = (
        f'"tt.func"() <{{sym_name = "k"}}> ({{\n^bb0(%p: !tt.ptr<f32>):\n{body}\n}}) : () -> ()'
    )
    text = f'"builtin.module"() ({{\n{kernel}\n{after}}}) : () -> (){PLACES}'
    return [reported(cause) for cause in causes_in(module_of(text))]


def function(name: str, arguments: str, *lines: str) -> str:
    body = "\n".join(lines)
    words = f'sym_name = "{name}", sym_visibility = "private"'
    return f'"tt.func"() <{{{words}}}> ({{\n^bb0({arguments}):\n{body}\n}}) : () -> () loc(#loc1)\n'


def reported(cause: Cause) -> tuple[str, str, int | None]:
    return str(cause.kind), cause.dtype, cause.line


def load(name: str, dtype: str) -> str:
    return one(f'%{name} = "tt.load"(%p)', f"(tensor<8x!tt.ptr<{dtype}>>) -> tensor<8x{dtype}>", 9)


def one(words: str, types: str, line: int = 7) -> str:
    return f"{words} : {types} loc(#loc{line})"


def binary(name: str, operation: str, a: str, b: str, type_: str = "tensor<8xf16>") -> str:
    """Return `%name = operation %a, %b : type_` in generic form, at line 7."""
    of_values = f'%{name} = "{operation}"(%{a}, %{b})'
    return one(of_values, f"({type_}, {type_}) -> {type_}")


def cast(name: str, operation: str, a: str, before: str, after: str) -> str:
    """Return `%name = operation %a : before to after` of 8 elements, at line 7."""
    words = f'%{name} = "{operation}"(%{a})'
    return one(words, f"(tensor<8x{before}>) -> tensor<8x{after}>")


def operands(dtype: str) -> list[str]:
    """Return the definitions of `%x` and `%y`, the operands of a product."""
    type_ = f"tensor<8x8x{dtype}>"
    return [f'%{name} = "tt.splat"(%u) : ({dtype}) -> {type_}' for name in "xy"]


def dot(a: str, result: str, precision: int = 2, imprecise: int = 0) -> str:
    """Return a product; `precision` is a number of Triton's InputPrecision (0 is tf32, 2 ieee)."""
    attributes = f"inputPrecision = {precision} : i32, maxNumImpreciseAcc = {imprecise} : i32"
    types = f"(tensor<8x8x{a}>, tensor<8x8x{a}>, tensor<8x8x{result}>) -> tensor<8x8x{result}>"
    return one(f'%d = "tt.dot"(%x, %y, %c) <{{{attributes}}}>', types)


def test_a_dot_of_fp32_in_tf32_is_one() -> None:
    assert found(*operands("f32"), dot("f32", "f32", 0)) == [("tf32", "tf32", 7)]


@pytest.mark.parametrize("precision", [2, 1, 4])
def test_other_precisions_of_a_dot_are_none(precision: int) -> None:
    assert found(*operands("f32"), dot("f32", "f32", precision)) == []


def test_a_dot_of_fp16_has_no_tf32() -> None:
    assert found(*operands("f16"), dot("f16", "f32", 0)) == []


def test_a_dot_that_adds_up_in_fp16_is_one() -> None:
    assert found(*operands("f16"), dot("f16", "f16")) == [("dot_accumulator", "f16", 7)]


@pytest.mark.parametrize(("most", "causes"), [(0, 0), (1073741824, 1)])
def test_fp8_may_be_added_up_in_less_than_fp32(most: int, causes: int) -> None:
    assert len(found(*operands("f8E4M3FN"), dot("f8E4M3FN", "f32", imprecise=most))) == causes


def loop(dtype: str, *lines: str) -> list[str]:
    """Return a loop that carries `%acc`, which each round makes `%s`, and pointers to fp16."""
    return [
        '%r:2 = "scf.for"(%a, %b, %c, %z, %p) ({',
        f"^bb0(%i: i32, %acc: {dtype}, %q: !tt.ptr<f16>):",
        *lines,
        f'"scf.yield"(%s, %q) : ({dtype}, !tt.ptr<f16>) -> ()',
        f"}}) : (i32, i32, i32, {dtype}, !tt.ptr<f16>) -> ({dtype}, !tt.ptr<f16>) loc(#loc9)",
    ]


def test_a_loop_that_adds_up_in_bf16_is_one() -> None:
    lines = loop("tensor<8xbf16>", binary("s", "arith.addf", "acc", "v", "tensor<8xbf16>"))

    assert found(*lines) == [("accumulator", "bf16", 7)]


def test_an_fp32_sum_stored_in_fp16_is_a_cause() -> None:
    lines = loop(
        "tensor<8xf16>",
        cast("w", "arith.extf", "acc", "f16", "f32"),
        binary("n", "arith.addf", "w", "v", "tensor<8xf32>"),
        cast("s", "arith.truncf", "n", "f32", "f16"),
    )

    assert ("accumulator", "f16", 7) in found(load("v", "f16"), *lines)


def test_an_accumulator_that_is_scaled_stays_one() -> None:
    lines = loop(
        "tensor<8xf16>",
        binary("n", "arith.mulf", "acc", "v"),
        binary("s", "arith.addf", "n", "v"),
    )

    assert found(*lines) == [("accumulator", "f16", 7)]


WHILE = """
%r = "scf.while"(%z) ({{
^bb0(%a: tensor<8xf16>):
{}
"scf.condition"(%t, %a) : (i1, tensor<8xf16>) -> ()
}}, {{
^bb1(%b: tensor<8xf16>):
{}
"scf.yield"(%b) : (tensor<8xf16>) -> ()
}}) : (tensor<8xf16>) -> tensor<8xf16> loc(#loc9)
"""


def test_a_while_loop_adds_up_too() -> None:
    in_its_body = WHILE.format("", binary("s", "arith.addf", "b", "v"))
    in_its_condition = WHILE.format(binary("s", "arith.addf", "a", "v"), "")

    assert found(in_its_body) == [("accumulator", "f16", 7)]
    assert found(in_its_condition) == [("accumulator", "f16", 7)]


@pytest.mark.parametrize(
    "line",
    [binary("s", "arith.addf", "x", "v"), binary("s", "arith.maximumf", "acc", "v")],
)
def test_a_loop_that_does_not_add_to_what_it_carries_is_none(line: str) -> None:
    assert found(*loop("tensor<8xf16>", line)) == []


@pytest.mark.parametrize(
    ("operation", "causes"), [("addf", [("accumulator", "f16", 7)]), ("maximumf", [])]
)
def test_a_helper_adds_up_for_the_loop_that_calls_it(
    operation: str, causes: list[tuple[str, str, int]]
) -> None:
    types = "(tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>"
    call = one('%s = "tt.call"(%acc, %v) <{callee = @add}>', types)
    helper = function(
        "add", "%a: tensor<8xf16>, %b: tensor<8xf16>", binary("n", f"arith.{operation}", "a", "b")
    )

    assert found(*loop("tensor<8xf16>", call), after=helper) == causes


@pytest.mark.parametrize(("additions", "causes"), [(4, 0), (20, 1)])
def test_a_loop_that_was_unrolled_adds_up_too(additions: int, causes: int) -> None:
    lines = [binary(f"s{n + 1}", "arith.addf", f"s{n}", "v") for n in range(additions)]

    assert found(*lines) == [("accumulator", "f16", 7)] * causes


def test_a_polynomial_is_no_sum() -> None:
    lines = [
        line
        for n in range(20)
        for line in (
            binary(f"p{n}", "arith.mulf", f"s{n}", "v"),
            binary(f"s{n + 1}", "arith.addf", f"p{n}", "v"),
        )
    ]

    assert found(*lines) == []


def test_an_accumulator_in_fp32_is_none() -> None:
    lines = loop("tensor<8xf32>", binary("s", "arith.addf", "acc", "v", "tensor<8xf32>"))

    assert found(*lines) == []


def reduction(combine: str, dtype: str = "f16", at: str = "#loc2") -> list[str]:
    return [
        '%t = "tt.reduce"(%x) <{axis = 0 : i32}> ({',
        f"^bb0(%a: {dtype} loc(unknown), %b: {dtype} loc(unknown)):",
        combine,
        f'"tt.reduce.return"(%n) : ({dtype}) -> ()',
        f"}}) : (tensor<8x{dtype}>) -> {dtype} loc({at})",
    ]


def combined(operation: str) -> str:
    return f'%n = "{operation}"(%a, %b) : (f16, f16) -> f16 loc(#loc1)'


def test_a_sum_in_fp16_is_one_at_the_line_that_asks_for_it() -> None:
    assert found(*reduction(combined("arith.addf"))) == [("reduction", "f16", 7)]


def test_a_largest_element_is_exact() -> None:
    assert found(*reduction(combined("arith.maximumf"))) == []


def test_a_sum_in_a_function_of_the_library_belongs_to_its_callers() -> None:
    call = '%n = "tt.call"(%a, %b) <{callee = @add}> : (f16, f16) -> f16'
    functions = function("sum", "%x: tensor<8xf16>", *reduction(call, at="#loc1"))
    functions += function("add", "%a: f16, %b: f16", combined("arith.addf"))
    called = [
        one(f'%{name} = "tt.call"(%v) <{{callee = @sum}}>', "(tensor<8xf16>) -> f16", line)
        for name, line in (("u", 7), ("w", 9))
    ]

    assert found(*called, after=functions) == [("reduction", "f16", 7), ("reduction", "f16", 9)]


def test_functions_that_call_each_other_for_ever_end() -> None:
    call = '%n = "tt.call"(%a) <{callee = @f}> : (f16) -> f16'
    again = '"tt.call"(%x) <{callee = @f}> : (f16) -> ()'
    functions = function("f", "%x: f16", *reduction(call, at="#loc1"), again)

    assert found(after=functions) == []


ROUND = cast("y", "arith.truncf", "x", "f32", "f16")


def test_fp16_arithmetic_on_fp32_inputs_is_a_cause() -> None:
    lines = load("x", "f32"), ROUND, binary("z", "arith.mulf", "y", "y")

    assert found(*lines) == [("rounded", "f16", 7)]


def test_a_helper_s_rounded_result_is_a_cause() -> None:
    end = '"tt.return"(%y) : (tensor<8xf16>) -> ()'

    assert found(load("x", "f32"), ROUND, end) == [("rounded", "f16", 7)]


def test_rounding_before_a_store_is_no_cause() -> None:
    store = '"tt.store"(%q, %y) : (tensor<8x!tt.ptr<f16>>, tensor<8xf16>) -> ()'

    assert found(load("x", "f32"), ROUND, store) == []


def test_rounding_to_the_type_of_other_data_is_what_such_kernels_do() -> None:
    lines = (
        load("v", "f16"),
        '%x = "math.exp"(%s) : (tensor<8xf32>) -> tensor<8xf32>',
        ROUND,
        '%z = "tt.dot"(%y, %v, %c) <{inputPrecision = 2 : i32}> : '
        "(tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>",
    )

    assert found(*lines) == []
    assert found(load("v", "f32"), *lines[1:]) == [("rounded", "f16", 7)]


@pytest.mark.parametrize(("kind", "causes"), [(5, [("atomic", "f16", 7)]), (8, [])])
def test_atomics_that_add_to_fp16_are_one(kind: int, causes: list[tuple[str, str, int]]) -> None:
    values = '%w = "tt.splat"(%u) : (f16) -> tensor<8xf16>'
    types = "(tensor<8x!tt.ptr<f16>>, tensor<8xf16>, tensor<8xi1>) -> tensor<8xf16>"
    atomic = one(f'%o = "tt.atomic_rmw"(%p, %w, %m) <{{atomic_rmw_op = {kind} : i32}}>', types)

    assert found(values, atomic) == causes


def test_fp64_that_is_computed_with_in_fp32_is_one() -> None:
    lines = (
        load("x", "f64"),
        cast("y", "arith.truncf", "x", "f64", "f32"),
        binary("z", "arith.addf", "y", "y", "tensor<8xf32>"),
    )

    assert found(*lines) == [("rounded", "f32", 7)]
