"""Divergence in a batch: one program's control flow must not affect another."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.ttir_to_numpy.refusal import Untranslatable
from tests.integration.launch.cpu.forms import ALL_AT_ONCE, Forms, forms_of

PROGRAMS = 8
START = (
    "%pid = tt.get_program_id x : i32\n%zero = arith.constant 0 : i32\n"
    "%one = arith.constant 1 : i32\n%two = arith.constant 2 : i32\n"
    "%four = arith.constant 4 : i32\n%p = tt.addptr %base, %pid : !tt.ptr<i32>, i32\n"
)


def of(body: str, helpers: str = "") -> Forms:
    """Return both forms of a kernel of one pointer, `%base`; `%p` is each program's own element."""
    kernel = f"tt.func public @k(%base: !tt.ptr<i32>) {{\n{START}{body}\ntt.return\n}}"
    return forms_of(f"module {{\n{helpers}\n{kernel}\n}}")


def results(forms: Forms, start: int = 0) -> list[int]:
    """Return each program's element; both forms must agree."""
    wanted = np.arange(start, start + PROGRAMS, dtype=np.int32)
    found = wanted.copy()
    forms.one_by_one((PROGRAMS, 1, 1), [wanted])
    forms.gather_limited((PROGRAMS, 1, 1), [found], ALL_AT_ONCE)
    assert list(found) == list(wanted)
    return found.tolist()


STORE = "tt.store %p, %r : !tt.ptr<i32>"


def test_each_program_goes_as_many_rounds_as_it_has() -> None:
    forms = of(
        "%r = scf.for %i = %zero to %pid step %two iter_args(%a = %zero) -> (i32) : i32 {\n"
        "%n = arith.addi %a, %i : i32\nscf.yield %n : i32\n}\n" + STORE
    )

    assert results(forms) == [sum(range(0, n, 2)) for n in range(PROGRAMS)]


def test_a_loop_without_rounds_gives_what_it_began_with() -> None:
    forms = of(
        "%r = scf.for %i = %four to %pid step %one iter_args(%a = %pid) -> (i32) : i32 {\n"
        "%n = arith.muli %a, %two : i32\nscf.yield %n : i32\n}\n" + STORE
    )

    assert results(forms) == [0, 1, 2, 3, 4, 10, 24, 56]


def test_values_change_places_in_rounds_that_differ() -> None:
    forms = of(
        "%r:2 = scf.for %i = %zero to %pid step %one iter_args(%a = %zero, %b = %one)"
        " -> (i32, i32) : i32 {\n%s = arith.addi %a, %b : i32\nscf.yield %b, %s : i32, i32\n}\n"
        "tt.store %p, %r#0 : !tt.ptr<i32>"
    )

    assert results(forms) == [0, 1, 1, 2, 3, 5, 8, 13]


def test_an_inner_loop_does_not_write_over_what_the_outer_one_keeps() -> None:
    forms = of(
        "%r = scf.for %i = %zero to %pid step %one iter_args(%a = %one) -> (i32) : i32 {\n"
        "%x = scf.for %j = %zero to %two step %one iter_args(%b = %a) -> (i32) : i32 {\n"
        "%n = arith.addi %b, %b : i32\nscf.yield %n : i32\n}\nscf.yield %x : i32\n}\n" + STORE
    )

    assert results(forms) == [4**n for n in range(PROGRAMS)]


def test_programs_return_out_of_nested_branches() -> None:
    forms = of(
        "%far = arith.cmpi sge, %pid, %four : i32\ncf.cond_br %far, ^far, ^near\n"
        "^far:\n%x = arith.andi %pid, %one : i32\n%odd = arith.cmpi eq, %x, %one : i32\n"
        "cf.cond_br %odd, ^leave, ^meet(%four : i32)\n^leave:\ntt.return\n"
        "^near:\n%y = arith.muli %pid, %two : i32\ncf.br ^meet(%y : i32)\n"
        "^meet(%r: i32):\n%s = arith.addi %r, %one : i32\ntt.store %p, %s : !tt.ptr<i32>"
    )

    assert results(forms) == [1, 3, 5, 7, 5, 5, 5, 7]


HELPER = (
    "tt.func private @early(%x: i32) -> i32 {\n%two = arith.constant 2 : i32\n"
    "%few = arith.cmpi slt, %x, %two : i32\ncf.cond_br %few, ^a, ^b\n"
    "^a:\n%n = arith.subi %two, %x : i32\ntt.return %n : i32\n"
    "^b:\n%m = arith.muli %x, %x : i32\ntt.return %m : i32\n}"
)


def test_a_helper_returns_early_inside_of_a_loop_inside_of_a_condition() -> None:
    forms = of(
        "%c = arith.cmpi sgt, %pid, %two : i32\n%r = scf.if %c -> i32 {\n"
        "%f = scf.for %i = %zero to %pid step %one iter_args(%a = %zero) -> (i32) : i32 {\n"
        "%v = tt.call @early(%i) : (i32) -> i32\n%n = arith.addi %a, %v : i32\n"
        "scf.yield %n : i32\n}\nscf.yield %f : i32\n} else {\nscf.yield %pid : i32\n}\n" + STORE,
        HELPER,
    )
    early = [2, 1, 4, 9, 16, 25, 36]

    assert results(forms) == [0, 1, 2, *(sum(early[:n]) for n in range(3, PROGRAMS))]


def test_only_those_inside_of_a_condition_store() -> None:
    forms = of(
        "%x = arith.andi %pid, %one : i32\n%odd = arith.cmpi eq, %x, %one : i32\nscf.if %odd {\n"
        "tt.store %p, %four : !tt.ptr<i32>\n}"
    )

    assert results(forms) == [0, 4, 2, 4, 4, 4, 6, 4]


def test_pointers_come_out_of_conditions_and_loops() -> None:
    forms = of(
        "%c = arith.cmpi slt, %pid, %four : i32\n"
        "%q = scf.if %c -> !tt.ptr<i32> {\nscf.yield %p : !tt.ptr<i32>\n} else {\n"
        "scf.yield %base : !tt.ptr<i32>\n}\n"
        "%e = scf.for %i = %zero to %pid step %two iter_args(%m = %q) -> (!tt.ptr<i32>) : i32 {\n"
        "%n = tt.addptr %m, %one : !tt.ptr<i32>, i32\nscf.yield %n : !tt.ptr<i32>\n}\n"
        "%z = arith.select %c, %e, %q : !tt.ptr<i32>\n%r = tt.load %z : !tt.ptr<i32>\n"
        "gpu.barrier\n%w = arith.constant 100 : i32\n%v = arith.addi %r, %w : i32\n"
        f"%far = arith.constant {PROGRAMS} : i32\n"
        "%o = tt.addptr %p, %far : !tt.ptr<i32>, i32\ntt.store %o, %v : !tt.ptr<i32>"
    )
    found = np.arange(2 * PROGRAMS, dtype=np.int32)

    forms.gather_limited((PROGRAMS, 1, 1), [found], ALL_AT_ONCE)

    assert found[PROGRAMS:].tolist() == [100, 102, 103, 105, 100, 100, 100, 100]


def test_while_loops_end_program_by_program() -> None:
    forms = of(
        "%r:2 = scf.while (%a = %pid, %n = %zero) : (i32, i32) -> (i32, i32) {\n"
        "%go = arith.cmpi sgt, %a, %zero : i32\nscf.condition(%go) %a, %n : i32, i32\n} do {\n"
        "^bb0(%b: i32, %m: i32):\n%h = arith.divsi %b, %two : i32\n"
        "%k = arith.addi %m, %b : i32\nscf.yield %h, %k : i32, i32\n}\n"
        "tt.store %p, %r#1 : !tt.ptr<i32>"
    )

    assert results(forms) == [0, 1, 3, 4, 7, 8, 10, 11]


def test_a_region_of_a_reduction_that_decides() -> None:
    forms = of(
        "%l = tt.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>\n"
        "%s = tt.splat %pid : i32 -> tensor<8xi32>\n%t = arith.muli %l, %s : tensor<8xi32>\n"
        '%r = "tt.reduce"(%t) <{axis = 0 : i32}> ({\n^bb0(%u: i32, %v: i32):\n'
        "%c = arith.cmpi slt, %u, %v : i32\n%w = scf.if %c -> i32 {\n"
        "%x = arith.subi %v, %u : i32\nscf.yield %x : i32\n} else {\n"
        "%y = arith.addi %v, %u : i32\nscf.yield %y : i32\n}\n"
        "tt.reduce.return %w : i32\n}) : (tensor<8xi32>) -> i32\n" + STORE
    )

    assert forms.run.is_batchable
    results(forms)


def test_a_true_is_minus_one() -> None:
    forms = of(
        "%c = arith.cmpi slt, %pid, %four : i32\n%d = arith.cmpi eq, %pid, %two : i32\n"
        "%s = arith.addi %c, %d : i1\n%m = arith.cmpi slt, %c, %d : i1\n"
        "%a = arith.extsi %s : i1 to i32\n%b = arith.extui %m : i1 to i32\n"
        "%b4 = arith.muli %b, %four : i32\n%r = arith.addi %a, %b4 : i32\n" + STORE
    )

    assert results(forms) == [3, 3, -1 + 1, 3, 0, 0, 0, 0]


def test_a_load_that_no_program_makes_has_its_whole_shape() -> None:
    forms = of(
        "%l = tt.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>\n"
        "%n = tt.splat %zero : i32 -> tensor<8xi32>\n%m = arith.cmpi slt, %l, %n : tensor<8xi32>\n"
        "%b = tt.splat %base : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>\n"
        "%f = arith.constant dense<1000> : tensor<8xi32>\n"
        "%far = arith.addi %l, %f : tensor<8xi32>\n"
        "%q = tt.addptr %b, %far : tensor<8x!tt.ptr<i32>>, tensor<8xi32>\n"
        "%o = arith.constant dense<3> : tensor<8xi32>\n"
        "%x = tt.load %q, %m, %o : tensor<8x!tt.ptr<i32>>\n"
        "%y = tt.reshape %x : tensor<8xi32> -> tensor<2x4xi32>\n"
        '%z = "tt.reduce"(%y) <{axis = 1 : i32}> ({\n^bb0(%u: i32, %v: i32):\n'
        "%w = arith.addi %u, %v : i32\ntt.reduce.return %w : i32\n}) : (tensor<2x4xi32>)"
        " -> tensor<2xi32>\n"
        '%r = "tt.reduce"(%z) <{axis = 0 : i32}> ({\n^bb0(%u: i32, %v: i32):\n'
        "%w = arith.maxsi %u, %v : i32\ntt.reduce.return %w : i32\n}) : (tensor<2xi32>) -> i32\n"
        + STORE
    )

    assert results(forms) == [12] * PROGRAMS


PURE = (
    "tt.func private @pure(%x: i32) -> i32 {\n%zero = arith.constant 0 : i32\n"
    "%one = arith.constant 1 : i32\n%c = arith.cmpi sgt, %x, %zero : i32\n"
    "%e = scf.if %c -> i32 {\nscf.yield %x : i32\n} else {\nscf.yield %zero : i32\n}\n"
    "%r = scf.for %i = %zero to %e step %one iter_args(%a = %zero) -> (i32) : i32 {\n"
    "%n = arith.addi %a, %one : i32\nscf.yield %n : i32\n}\ntt.return %r : i32\n}"
)


def test_what_all_agree_on_stays_one_value_where_only_some_take_part() -> None:
    forms = of(
        "%r = scf.for %i = %zero to %pid step %one iter_args(%a = %zero) -> (i32) : i32 {\n"
        "%v = tt.call @pure(%four) : (i32) -> i32\n%k = arith.cmpi eq, %v, %four : i32\n"
        "%w = scf.if %k -> i32 {\nscf.yield %two : i32\n} else {\nscf.yield %zero : i32\n}\n"
        "%n = arith.addi %a, %w : i32\nscf.yield %n : i32\n}\n" + STORE,
        PURE,
    )

    assert "begin_if" not in forms.run.text
    assert results(forms) == [2 * n for n in range(PROGRAMS)]


ORDERED = {
    "compare and swap": "%r = tt.atomic_cas acq_rel, gpu, %base, %zero, %pid :"
    " (!tt.ptr<i32>, i32, i32) -> i32",
    "an atomic's result": "%t = arith.constant true\n%x = tt.atomic_rmw add, acq_rel, gpu, %base,"
    " %one, %t : (!tt.ptr<i32>, i32, i1) -> i32\ntt.store %p, %x : !tt.ptr<i32>",
    "a print": 'tt.print "pid" {hex = false, isSigned = array<i32: 1>} : %pid : i32',
    "accesses of rounds that may wait": "scf.while : () -> () {\n%v = tt.load %p : !tt.ptr<i32>\n"
    "%go = arith.cmpi slt, %v, %zero : i32\nscf.condition(%go)\n} do {\nscf.yield\n}",
    "a branch back": "cf.br ^again\n^again:\n%v = tt.load %p : !tt.ptr<i32>\n"
    "%go = arith.cmpi slt, %v, %zero : i32\ncf.cond_br %go, ^again, ^done\n^done:",
}


@pytest.mark.parametrize("what", ORDERED)
def test_what_goes_by_the_order_of_programs_runs_one_by_one(what: str) -> None:
    assert not of(ORDERED[what]).run.is_batchable


def test_a_helper_that_accesses_memory_in_rounds_is_found() -> None:
    helper = (
        'tt.func private @"a.b"(%q: !tt.ptr<i32>) -> i32 {\n%v = tt.load %q : !tt.ptr<i32>\n'
        "tt.return %v : i32\n}"
    )
    forms = of(
        'scf.while : () -> () {\n%v = tt.call @"a.b"(%p) : (!tt.ptr<i32>) -> i32\n'
        "%go = arith.cmpi slt, %v, %zero : i32\nscf.condition(%go)\n} do {\nscf.yield\n}",
        helper,
    )

    assert not forms.run.is_batchable


def test_an_atomic_with_an_unused_result_runs_in_a_batch() -> None:
    forms = of(
        "%t = arith.constant true\n%x = tt.atomic_rmw add, acq_rel, gpu, %base, %one, %t :"
        " (!tt.ptr<i32>, i32, i1) -> i32"
    )

    assert forms.run.is_batchable
    assert results(forms) == [8, 1, 2, 3, 4, 5, 6, 7]


def test_loops_deeper_than_python_has_them_are_refused() -> None:
    def nested(depth: int) -> str:
        loops = "".join(f"scf.for %i{n} = %zero to %pid step %one : i32 {{\n" for n in range(depth))
        return f"{loops}tt.store %p, %two : !tt.ptr<i32>\n{'}' * depth}"

    compile(of(nested(20)).run.text, "run", "exec")
    with pytest.raises(Untranslatable, match="loops are nested more than 20 deep"):
        of(nested(21))


def test_a_kernel_may_be_called_like_what_it_stands_on() -> None:
    forms = forms_of(
        "module { tt.func public @load(%keep: !tt.ptr<i32>) {\n%v = tt.load %keep : !tt.ptr<i32>\n"
        "%w = arith.addi %v, %v : i32\ntt.store %keep, %w : !tt.ptr<i32>\ntt.return\n} }"
    )
    found = np.array([4], np.int32)

    forms.gather_limited((1, 1, 1), [found])

    assert found[0] == 8


def test_lines_know_where_they_came_from() -> None:
    forms = forms_of(
        "module { tt.func public @k(%p: !tt.ptr<i32>) {\n"
        '%v = tt.load %p : !tt.ptr<i32> loc("/kernel/user.py":7:9)\n'
        'tt.store %p, %v : !tt.ptr<i32> loc(callsite("/kernel/user.py":3:5 at "/kernel/b.py":2:1))'
        "\ntt.return\n} }"
    )
    lines = forms.run.text.splitlines()
    [load] = [number for number, line in enumerate(lines) if "load(" in line]
    [store] = [number for number, line in enumerate(lines) if "store(" in line]

    assert forms.run.locations[load] == ("/kernel/user.py", 7, 9)
    assert forms.run.locations[store] == ("/kernel/user.py", 3, 5)
    assert len(forms.run.locations) == len(lines)
