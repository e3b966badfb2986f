"""Effects of kernels, in MLIR's generic form with lines as long as MLIR prints them."""
# ruff: noqa: E501

from __future__ import annotations

import pytest

from compiler.ttir_to_numpy.generic_form import module_of
from compiler.ttir_to_numpy.ir import Operation
from programs.replay.value_flow import kernel_effects
from programs.tape.kernel_effects import KernelEffects

pytestmark = pytest.mark.unit

F32 = "!tt.ptr<f32>"
KERNEL = 'sym_name = "k", sym_visibility = "told in generic form"'


def kernel(body: str, rest: str = "", parameters: str = "x y out n") -> Operation:
    listed = ", ".join(
        f'%{name}: {"i32" if name == "n" else F32} loc("{name}"(#loc))'
        for name in parameters.split()
    )
    return module(
        f'"tt.func"() <{{{KERNEL}}}> ({{\n^bb0({listed}):\n{body}\n"tt.return"() : () -> ()\n}}) : () -> ()\n{rest}'
    )


def module(functions: str) -> Operation:
    return module_of(f'"builtin.module"() ({{\n{functions}\n}}) : () -> ()\n')


def effects(reads: str, writes: str) -> KernelEffects:
    return KernelEffects(frozenset(reads.split()), frozenset(writes.split()))


def store(pointer: str) -> str:
    return f'"tt.store"({pointer}, %n) : (!tt.ptr<f32>, i32) -> ()'


def test_a_store_through_arithmetic_writes_its_pointer() -> None:
    found = kernel_effects(
        kernel(
            f"""
            %p = "tt.splat"(%x) : (!tt.ptr<f32>) -> tensor<64x!tt.ptr<f32>>
            %p_0 = "tt.addptr"(%p, %c) : (tensor<64x!tt.ptr<f32>>, tensor<64xi32>) -> tensor<64x!tt.ptr<f32>>
            %v = "tt.load"(%p_0, %m) : (tensor<64x!tt.ptr<f32>>, tensor<64xi1>) -> tensor<64xf32>
            %q = "tt.addptr"(%out, %n) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
            {store("%q")}
            """
        )
    )

    assert found == effects("x", "out")


def test_what_was_loaded_is_no_pointer_of_where_it_came_from() -> None:
    """A scatter: the offset comes from `y`, which the kernel does not write."""
    found = kernel_effects(
        kernel(
            f"""
            %i = "tt.load"(%y) : (!tt.ptr<i32>) -> i32
            %q = "tt.addptr"(%out, %i) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
            {store("%q")}
            """
        )
    )

    assert found == effects("y", "out")


def test_pointers_that_a_loop_carries_keep_their_places() -> None:
    found = kernel_effects(
        kernel(
            f"""
            %r:2 = "scf.for"(%c0, %n, %c1, %x, %out) ({{
            ^bb0(%i: i32, %p: !tt.ptr<f32>, %q: !tt.ptr<f32>):
              %v = "tt.load"(%p) : (!tt.ptr<f32>) -> f32
              {store("%q")}
              %p_1 = "tt.addptr"(%p, %c) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
              %q_1 = "tt.addptr"(%q, %c) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
              "scf.yield"(%p_1, %q_1) : (!tt.ptr<f32>, !tt.ptr<f32>) -> ()
            }}) : (i32, i32, i32, !tt.ptr<f32>, !tt.ptr<f32>) -> (!tt.ptr<f32>, !tt.ptr<f32>)
            """
        )
    )

    assert found == effects("x", "out")


def test_a_pointer_that_comes_out_of_a_loop_or_a_branch_is_any_that_went_in() -> None:
    found = kernel_effects(
        kernel(
            f"""
            %r:2 = "scf.for"(%c0, %n, %c1, %x, %out) ({{
            ^bb0(%i: i32, %p: !tt.ptr<f32>, %q: !tt.ptr<f32>):
              %s = "scf.if"(%b) ({{
                "scf.yield"(%y) : (!tt.ptr<f32>) -> ()
              }}, {{
                "scf.yield"(%q) : (!tt.ptr<f32>) -> ()
              }}) : (i1) -> !tt.ptr<f32> loc(#loc3)
              "scf.yield"(%p, %s) : (!tt.ptr<f32>, !tt.ptr<f32>) -> ()
            }}) : (i32, i32, i32, !tt.ptr<f32>, !tt.ptr<f32>) -> (!tt.ptr<f32>, !tt.ptr<f32>) loc(#loc4)
            {store("%r#1")}
            """
        )
    )

    assert found == effects("", "y out")


WHILE = """
    %r:2 = "scf.while"(%x, %out) ({{
    ^bb0(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>):
      "scf.condition"(%b, %p, %q) : (i1, !tt.ptr<f32>, !tt.ptr<f32>) -> ()
    }}, {{
    ^bb0(%s: !tt.ptr<f32>, %t: !tt.ptr<f32>):
      "scf.yield"({}) : (!tt.ptr<f32>, !tt.ptr<f32>) -> ()
    }}) : (!tt.ptr<f32>, !tt.ptr<f32>) -> (!tt.ptr<f32>, !tt.ptr<f32>)
"""


@pytest.mark.parametrize(("yielded", "writes"), [("%t, %s", "x out"), ("%s, %t", "x")])
def test_what_a_while_loop_carries_becomes_its_results(yielded: str, writes: str) -> None:
    found = kernel_effects(kernel(WHILE.format(yielded) + store("%r#0")))

    assert found == effects("", writes)


def test_calls_write_what_they_are_given_and_return() -> None:
    helper = f"""
    "tt.func"() <{{sym_name = "m.helper", sym_visibility = "private"}}> ({{
    ^bb0(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>):
      {store("%p")}
      "tt.return"(%q) : (!tt.ptr<f32>) -> ()
    }}) : () -> ()
    """
    found = kernel_effects(
        kernel(
            f"""
            %z = "tt.call"(%x, %y) <{{callee = @"m.helper"}}> : (!tt.ptr<f32>, !tt.ptr<f32>) -> !tt.ptr<f32>
            %z_0 = "tt.addptr"(%z, %c) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
            {store("%z_0")}
            """,
            helper,
        )
    )

    assert found == effects("", "x y")


def test_a_call_of_a_function_without_a_body_may_do_anything_to_its_arguments() -> None:
    call = '"tt.call"(%x) <{callee = @far}> : (!tt.ptr<f32>) -> ()'

    assert kernel_effects(kernel(call)) == effects("x", "x")


INLINE = '%o = "tt.elementwise_inline_asm"({}) <{{asm_string = "{}", pure = {}}}> : ({}) -> f32'
BLOCKS = """
"cf.cond_br"(%b, %y, %x)[^bb1, ^bb2] <{operandSegmentSizes = array<i32: 1, 1, 1>}> : (i1, !tt.ptr<f32>, !tt.ptr<f32>) -> ()
^bb1(%p: !tt.ptr<f32>):
"tt.store"(%p, %n) : (!tt.ptr<f32>, i32) -> ()
"cf.br"()[^bb3] : () -> ()
^bb2(%q: !tt.ptr<f32>):
"cf.br"()[^bb3] : () -> ()
^bb3:
"""


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ('%o = "tt.atomic_rmw"(%y, %v, %t) <{atomic_rmw_op = 5 : i32}> : (!tt.ptr<f32>, f32, i1) -> f32',
         effects("y", "y")),
        ('%o = "tt.atomic_cas"(%y, %a, %b) : (!tt.ptr<f32>, f32, f32) -> f32', effects("y", "y")),
        ('"tt.descriptor_store"(%y, %v, %a) : (!tt.tensordesc<16x16xf32>, tensor<16x16xf32>, i32) -> ()',
         effects("", "y")),
        ('"tt.descriptor_reduce"(%y, %v, %a) : (!tt.tensordesc<16xf32>, tensor<16xf32>, i32) -> ()',
         effects("y", "y")),
        (INLINE.format("%y", "st.global.b32 [$1], %r1;", "true", F32), effects("y", "y")),
        (INLINE.format("%v", "tanh.approx.f32 $0, $1;", "true", "f32"), effects("", "")),
        (INLINE.format("%v", "bar.sync 0;", "false", "f32"), None),
        ('"some.new_operation"(%y) : (!tt.ptr<f32>) -> ()', effects("y", "y")),
        ('%p = "some.reduction"(%y) ({\n^bb0(%a: !tt.ptr<f32>):\n"some.end"(%a) : (!tt.ptr<f32>) -> ()\n}) : (!tt.ptr<f32>) -> !tt.ptr<f32>',
         effects("y", "y")),
        ('%p = "tt.int_to_ptr"(%v) : (i64) -> !tt.ptr<f32>\n' + store("%p"), None),
        ('%p = "tt.bitcast"(%v) : (i64) -> !tt.ptr<f32>\n' + store("%p"), None),
        ('%p = "tt.load"(%y) : (!tt.ptr<!tt.ptr<f32>>) -> !tt.ptr<f32>\n' + store("%p"), None),
        ('"cf.br"(%y)[^bb1] : (!tt.ptr<f32>) -> ()\n^bb1(%p: !tt.ptr<f32>):\n' + store("%p"),
         effects("", "y")),
        (BLOCKS, effects("", "y")),
    ],
)  # fmt: skip
def test_other_operations_have_their_effects(
    operation: str, expected: KernelEffects | None
) -> None:
    assert kernel_effects(kernel(operation)) == expected


NAMELESS = f'"tt.func"() <{{{KERNEL}}}> ({{\n^bb0(%arg0: !tt.ptr<f32>, %n: i32):\n{store("%arg0")}\n"tt.return"() : () -> ()\n}}) : () -> ()'


def test_of_a_kernel_without_names_nothing_is_known() -> None:
    assert kernel_effects(module(NAMELESS)) is None


def test_given_paths_are_those_of_the_arguments() -> None:
    assert kernel_effects(module(NAMELESS), ["out", "n"]) == effects("", "out")
    assert kernel_effects(module(NAMELESS), ["out"]) is None


def test_a_tuple_s_parts_are_its_parameter() -> None:
    found = kernel_effects(kernel(store("%pair.1"), parameters="pair.0 pair.1 n"))

    assert found == effects("", "pair")
