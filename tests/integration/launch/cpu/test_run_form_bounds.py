"""Limits of a batched form, and named refusals."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from compiler.ttir_to_numpy.refusal import Untranslatable
from launch.checks.finding import Stopped
from tests.integration.launch.cpu.forms import forms_of

TILE = 1 << 16


def chain(operations: int) -> str:
    """Return a kernel of many values, each made from the two before it."""
    tile = f"tensor<{TILE}xf32>"
    pointers = f"tensor<{TILE}x!tt.ptr<f32>>"
    lines = [
        f"%l = tt.make_range {{start = 0 : i32, end = {TILE} : i32}} : tensor<{TILE}xi32>",
        f"%b = tt.splat %p : !tt.ptr<f32> -> {pointers}",
        f"%q = tt.addptr %b, %l : {pointers}, tensor<{TILE}xi32>",
        f"%x0 = tt.load %q : {pointers}",
        f"%x1 = arith.addf %x0, %x0 : {tile}",
        *(f"%x{n} = arith.addf %x{n - 1}, %x{n - 2} : {tile}" for n in range(2, operations)),
        f"tt.store %q, %x{operations - 1} : {pointers}",
    ]
    body = "\n".join(lines)
    return f"module {{ tt.func public @k(%p: !tt.ptr<f32>) {{\n{body}\ntt.return\n}} }}"


def test_values_are_forgotten_after_their_last_use() -> None:
    forms, memory = forms_of(chain(100)), np.zeros(TILE, np.float32)

    tracemalloc.start()
    forms.gather_limited((1, 1, 1), [memory])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 12 * memory.nbytes


def test_a_function_that_calls_itself_is_refused() -> None:
    helpers = "".join(
        f"tt.func private @{name}(%x: i32) -> i32 {{\n"
        f"%y = tt.call @{other}(%x) : (i32) -> i32\ntt.return %y : i32\n}}\n"
        for name, other in (("f", "g"), ("g", "f"))
    )

    with pytest.raises(Untranslatable, match="calls itself"):
        forms_of(
            f"module {{\n{helpers}tt.func public @k(%p: !tt.ptr<i32>, %n: i32) {{\n"
            "%y = tt.call @f(%n) : (i32) -> i32\ntt.store %p, %y : !tt.ptr<i32>\ntt.return\n} }"
        )


def test_what_a_kernel_has_the_compiler_assume_must_hold() -> None:
    forms = forms_of(
        "module { tt.func public @k(%p: !tt.ptr<i32>, %n: i32) {\n"
        "%zero = arith.constant 0 : i32\n%c = arith.cmpi sgt, %n, %zero : i32\n"
        "llvm.intr.assume %c : i1\ntt.store %p, %n : !tt.ptr<i32>\ntt.return\n} }"
    )
    memory = np.zeros(1, np.int32)

    forms.gather_limited((1, 1, 1), [memory, 3])
    with pytest.raises(Stopped, match=r"condition of tl\.assume does not hold"):
        forms.gather_limited((1, 1, 1), [memory, -3])

    assert memory[0] == 3


@pytest.mark.parametrize("prints", [True, False])
def test_it_is_known_whether_anything_is_printed(prints: bool) -> None:
    reported = 'tt.print "x: " {hex = false, isSigned = array<i32: 1>} : %n : i32' if prints else ""
    forms = forms_of(
        f"module {{\ntt.func private @show(%n: i32) {{\n{reported}\ntt.return\n}}\n"
        "tt.func public @k(%p: !tt.ptr<i32>, %n: i32) {\n"
        "tt.call @show(%n) : (i32) -> ()\ntt.store %p, %n : !tt.ptr<i32>\ntt.return\n} }"
    )

    assert forms.run.prints == prints
