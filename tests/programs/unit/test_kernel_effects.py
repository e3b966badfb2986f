"""Effects of kernels from TTIR, in lines as long as Triton prints them."""
# ruff: noqa: E501

from __future__ import annotations

import pytest

from programs.tape.kernel_effects import KernelEffects, kernel_effects

pytestmark = pytest.mark.unit

F32 = "!tt.ptr<f32>"


def kernel(body: str, rest: str = "", parameters: str = "x y out n") -> str:
    listed = ", ".join(
        f'%{name}: {"i32" if name == "n" else F32} loc("{name}"(#loc))'
        for name in parameters.split()
    )
    return f"module {{\ntt.func public @k({listed}) attributes {{}} {{\n{body}\ntt.return\n}}\n{rest}}}\n"


def effects(reads: str, writes: str) -> KernelEffects:
    return KernelEffects(frozenset(reads.split()), frozenset(writes.split()))


def test_a_store_through_arithmetic_writes_its_pointer() -> None:
    found = kernel_effects(
        kernel(
            """
            %p = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
            %p_0 = tt.addptr %p, %c : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
            %v = tt.load %p_0, %m : tensor<64x!tt.ptr<f32>>
            %q = tt.addptr %out, %n : !tt.ptr<f32>, i32
            tt.store %q, %v : !tt.ptr<f32>
            """
        )
    )

    assert found == effects("x", "out")


def test_what_was_loaded_is_no_pointer_of_where_it_came_from() -> None:
    """A scatter: the offset comes from `y`, which the kernel does not write."""
    found = kernel_effects(
        kernel(
            """
            %i = tt.load %y : !tt.ptr<f32>
            %q = tt.addptr %out, %i : !tt.ptr<f32>, i32
            tt.store %q, %i : !tt.ptr<f32>
            """
        )
    )

    assert found == effects("y", "out")


def test_pointers_that_a_loop_carries_keep_their_places() -> None:
    found = kernel_effects(
        kernel(
            """
            %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x, %q = %out) -> (!tt.ptr<f32>, !tt.ptr<f32>)  : i32 {
              %v = tt.load %p : !tt.ptr<f32>
              tt.store %q, %v : !tt.ptr<f32>
              %p_1 = tt.addptr %p, %c : !tt.ptr<f32>, i32
              %q_1 = tt.addptr %q, %c : !tt.ptr<f32>, i32
              scf.yield %p_1, %q_1 : !tt.ptr<f32>, !tt.ptr<f32>
            }
            """
        )
    )

    assert found == effects("x", "out")


def test_a_pointer_that_comes_out_of_a_loop_or_a_branch_is_any_that_went_in() -> None:
    found = kernel_effects(
        kernel(
            """
            %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x, %q = %out) -> (!tt.ptr<f32>, !tt.ptr<f32>)  : i32 {
              %s = scf.if %b -> (!tt.ptr<f32>) {
                scf.yield %y : !tt.ptr<f32>
              } else {
                scf.yield %q : !tt.ptr<f32>
              } loc(#loc3)
              scf.yield %p, %s : !tt.ptr<f32>, !tt.ptr<f32>
            } loc(#loc4)
            tt.store %r#1, %c : !tt.ptr<f32>
            """
        )
    )

    assert found == effects("", "y out")


def test_all_that_a_while_loop_carries_may_become_any_of_its_results() -> None:
    found = kernel_effects(
        kernel(
            """
            %r:2 = scf.while (%p = %x, %q = %out) : (!tt.ptr<f32>, !tt.ptr<f32>) -> (!tt.ptr<f32>, !tt.ptr<f32>) {
              scf.condition(%b) %p, %q : !tt.ptr<f32>, !tt.ptr<f32>
            } do {
            ^bb0(%s: !tt.ptr<f32>, %t: !tt.ptr<f32>):
              scf.yield %t, %s : !tt.ptr<f32>, !tt.ptr<f32>
            }
            tt.store %r#0, %c : !tt.ptr<f32>
            """
        )
    )

    assert found == effects("", "x out")


def test_calls_write_what_they_are_given_and_return() -> None:
    helper = """
    tt.func private @"m.helper"(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>) -> !tt.ptr<f32> attributes {noinline = true} {
      tt.store %p, %c : !tt.ptr<f32>
      tt.return %q : !tt.ptr<f32>
    }
    """
    found = kernel_effects(
        kernel(
            """
            %z = tt.call @"m.helper"(%x, %y) : (!tt.ptr<f32>, !tt.ptr<f32>) -> !tt.ptr<f32>
            %z_0 = tt.addptr %z, %c : !tt.ptr<f32>, i32
            tt.store %z_0, %c : !tt.ptr<f32>
            """,
            helper,
        )
    )

    assert found == effects("", "x y")


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("%o = tt.atomic_rmw fadd, acq_rel, gpu, %y, %v, %t : (!tt.ptr<f32>, f32, i1) -> f32",
         effects("y", "y")),
        ("%o = tt.atomic_cas acq_rel, gpu, %y, %a, %b : (!tt.ptr<f32>, f32, f32) -> f32",
         effects("y", "y")),
        ("tt.descriptor_store %y[%a, %b], %v : !tt.tensordesc<16x16xf32>, tensor<16x16xf32>",
         effects("", "y")),
        ("tt.descriptor_reduce add, %y[%a], %v : !tt.tensordesc<16xf32>, tensor<16xf32>",
         effects("y", "y")),
        ('%o = tt.elementwise_inline_asm "st.global.b32 [$1], %r1;" {pure = true} %y : !tt.ptr<f32> -> i32',
         effects("y", "y")),
        ('%o = tt.elementwise_inline_asm "tanh.approx.f32 $0, $1;" {pure = true} %v : f32 -> f32',
         effects("", "")),
        ('%o = tt.elementwise_inline_asm "bar.sync 0;" {packed_element = 1 : i32, pure = false} %v : f32 -> f32',
         None),
        ("some.new_operation %y : !tt.ptr<f32>", effects("y", "y")),
        ("%p = tt.int_to_ptr %v : i64 -> !tt.ptr<f32>\ntt.store %p, %v : !tt.ptr<f32>", None),
        ("%p = tt.load %y : !tt.ptr<!tt.ptr<f32>>\ntt.store %p, %v : !tt.ptr<f32>", None),
        ("cf.br ^bb1(%y : !tt.ptr<f32>)\n^bb1(%p: !tt.ptr<f32>):\ntt.store %p, %v : !tt.ptr<f32>",
         effects("", "y")),
    ],
)  # fmt: skip
def test_other_operations_have_their_effects(
    operation: str, expected: KernelEffects | None
) -> None:
    assert kernel_effects(kernel(operation)) == expected


def test_of_a_kernel_without_names_nothing_is_known() -> None:
    ttir = "tt.func public @k(%arg0: !tt.ptr<f32>) {\ntt.store %arg0, %c : !tt.ptr<f32>\n}"

    assert kernel_effects(ttir) is None


def test_a_tuple_s_parts_are_its_parameter() -> None:
    found = kernel_effects(
        kernel("tt.store %pair.1, %c : !tt.ptr<f32>", parameters="pair.0 pair.1")
    )

    assert found == effects("", "pair")


@pytest.mark.parametrize(
    "text", ["", "}", "}\n}\n^", "tt.func", "%", "tt.call", "scf.yield %x", "\0"]
)
def test_text_that_is_not_ttir_breaks_nothing(text: str) -> None:
    kernel_effects(text)
