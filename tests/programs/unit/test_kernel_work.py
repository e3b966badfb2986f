"""The work of launches, from TTIR as Triton prints it: operations that stored values use."""
# ruff: noqa: E501

from __future__ import annotations

import pytest

from programs.tape.kernel_work_reader import kernel_work

pytestmark = pytest.mark.unit

ROW = "tensor<128xf32>"
POINTERS = "tensor<128x!tt.ptr<f32>>"
TILE = "tensor<32x32xf32>"
LOAD = f"%v = tt.load %x, %m, %zero : {POINTERS}\n"
STORE = f"tt.store %out, %y, %m : {POINTERS}\n"


def operations(body: str, grid: int = 1, rest: str = "", **numbers: int) -> int | None:
    parameters = ", ".join(f'%{name}: i32 loc("{name}"(#loc))' for name in ("n", "k"))
    text = f"module {{\ntt.func public @f({parameters}) attributes {{}} {{\n{body}tt.return\n}}\n{rest}}}\n"
    return kernel_work(text).operations(numbers, (grid, 1, 1))


def loop(bounds: str, body: str) -> str:
    """Return a loop that carries `%s` and whose result `%y` is stored."""
    return (
        "%c0 = arith.constant 0 : i32\n%c1 = arith.constant 1 : i32\n%c4 = arith.constant 4 : i32\n"
        f"{LOAD}%y = scf.for %i = {bounds} iter_args(%s = %v) -> ({ROW})  : i32 {{\n"
        f"{body}scf.yield %t : {ROW}\n}} loc(#loc1)\n{STORE}"
    )


ADD = f"%t = arith.addf %s, %s : {ROW} loc(#loc)\n"


def test_a_kernel_that_copies_does_one_for_each_element_that_it_stores() -> None:
    assert operations(f"%y = tt.load %x, %m : {POINTERS}\n{STORE}", grid=3) == 3 * 128


def test_arithmetic_from_which_a_stored_value_follows_counts_in_each_lane() -> None:
    body = f"{LOAD}%e = math.exp %v : {ROW}\n%y = arith.addf %e, %v : {ROW}\n{STORE}"
    assert operations(body) == 3 * 128


def test_addresses_masks_and_conversions_do_not_count() -> None:
    body = f"""%o = arith.muli %i, %stride : tensor<128xi32>
%x = tt.addptr %base, %o : {POINTERS}, tensor<128xi32>
%m = arith.cmpi slt, %o, %limit : tensor<128xi32>
{LOAD}%y = arith.truncf %v : {ROW} to tensor<128xf16>
{STORE}"""
    assert operations(body) == 128


def test_what_is_computed_and_not_stored_does_not_count() -> None:
    body = f"{LOAD}%idle = math.exp %v : {ROW}\n%more = math.exp %idle : {ROW}\n%y = arith.addf %v, %v : {ROW}\n{STORE}"
    assert operations(body) == 2 * 128


def test_a_product_takes_two_for_each_pair() -> None:
    body = "%y = tt.dot %a, %b, %c : tensor<16x64xf16> * tensor<64x32xf16> -> tensor<16x32xf32>\ntt.store %out, %y : tensor<16x32x!tt.ptr<f32>>\n"
    assert operations(body) == 2 * 16 * 64 * 32 + 16 * 32


def test_a_reduction_takes_its_body_for_each_element_that_goes_in() -> None:
    body = f"""{LOAD}%y = "tt.reduce"(%v) <{{axis = 0 : i32}}> ({{
^bb0(%a: f32 loc(#loc1), %b: f32 loc(#loc1)):
%c = arith.maxnumf %a, %b : f32 loc(#loc2)
tt.reduce.return %c : f32 loc(#loc2)
}}) : ({ROW}) -> f32 loc(#loc2)
tt.store %out, %y : !tt.ptr<f32>
"""
    assert operations(body) == 128 + 1


def test_a_loop_counts_as_often_as_it_runs() -> None:
    assert operations(loop("%c0 to %k step %c4", ADD), k=10) == (3 + 1) * 128
    assert operations(loop("%k to %c0 step %c1", ADD), k=10) == 128


def test_bounds_may_be_computed_from_numbers() -> None:
    body = "%c3 = arith.constant 3 : i32\n%d = arith.addi %k, %c3 : i32\n%e = arith.divsi %d, %c4_0 : i32\n"
    body = "%c4_0 = arith.constant 4 : i32\n" + body + loop("%c0 to %e step %c1", ADD)
    assert operations(body, k=9) == (3 + 1) * 128


def test_a_loop_up_to_the_program_s_id_runs_as_in_the_middle_of_the_grid() -> None:
    body = "%p = tt.get_program_id x : i32 loc(#loc)\n" + loop("%c0 to %p step %c1", ADD)
    assert operations(body, grid=9) == 9 * (4 + 1) * 128


def test_a_loop_in_a_loop_multiplies() -> None:
    inner = f"%t = scf.for %j = %c0 to %i step %c1 iter_args(%u = %s) -> ({ROW})  : i32 {{\n%w = arith.addf %u, %u : {ROW}\nscf.yield %w : {ROW}\n}}\n"
    assert operations(loop("%c0 to %k step %c1", inner), k=9) == (9 * 4 + 1) * 128


@pytest.mark.parametrize("before", ["%k_0 = tt.load %lengths : !tt.ptr<i32>\n", ""])
def test_a_loop_whose_bounds_are_loaded_has_no_number(before: str) -> None:
    bound = "%k_0" if before else "%k"
    assert operations(before + loop(f"%c0 to {bound} step %c1", ADD)) is None


def test_a_name_that_stands_for_something_else_by_then_is_not_mistaken() -> None:
    body = "%e = arith.constant 5 : i32\n%e = tt.load %lengths : !tt.ptr<i32>\n"
    assert operations(body + loop("%c0 to %e step %c1", ADD)) is None


def test_a_loop_with_a_condition_has_no_number_if_anything_in_it_counts() -> None:
    def kernel(inside: str) -> str:
        return f"""{LOAD}%y = scf.while (%s = %v) : ({ROW}) -> {ROW} {{
scf.condition(%b) %s : {ROW}
}} do {{
^bb0(%s_1: {ROW}):
{inside}scf.yield %t : {ROW}
}}
{STORE}"""

    assert operations(kernel(f"%t = arith.addf %s_1, %s_1 : {ROW}\n")) is None
    assert operations(kernel(f"%t = arith.extf %s_1 : {ROW} to {ROW}\n")) == 128


def counting(compared: str = "slt, %k_1, %n", grows: str = "%k_1, %c4", more: str = ADD) -> str:
    return f"""{LOAD}%c0 = arith.constant 0 : i32
%c4 = arith.constant 4 : i32
%y:2 = scf.while (%s = %v, %k_1 = %c0) : ({ROW}, i32) -> ({ROW}, i32) {{
%b = arith.cmpi {compared} : i32 loc(#loc)
scf.condition(%b) %s, %k_1 : {ROW}, i32 loc(#loc)
}} do {{
^bb0(%s: {ROW} loc("s"(#loc)), %k_1: i32 loc("k"(#loc))):
{more}%k_2 = arith.addi {grows} : i32 loc(#loc)
scf.yield %t, %k_2 : {ROW}, i32 loc(#loc)
}} loc(#loc)
tt.store %out, %y#0, %m : {POINTERS}
"""


def test_a_loop_with_a_condition_that_counts_is_counted() -> None:
    """Its counter counts too: what such a loop carries may become any of its results."""
    assert operations(counting(), n=10) == (3 + 1) * 128 + 3 * 2
    assert operations(counting("sle, %k_1, %n"), n=8) == (3 + 1) * 128 + 3 * 2
    assert operations(counting(grows="%c4, %k_1"), n=10) == (3 + 1) * 128 + 3 * 2


def test_its_counter_is_that_of_the_middle_for_loops_within() -> None:
    inner = f"%t = scf.for %j = %k_1 to %n step %c4 iter_args(%u = %s) -> ({ROW})  : i32 {{\n%w = arith.addf %u, %u : {ROW}\nscf.yield %w : {ROW}\n}}\n"
    assert operations(counting(more=inner), n=20) == (5 * 3 + 1) * 128 + 5 * 2


@pytest.mark.parametrize(
    ("compared", "grows"),
    [
        ("slt, %k_1, %m_1", "%k_1, %c4"),
        ("slt, %k_1, %k_1", "%k_1, %c4"),
        ("sgt, %k_1, %n", "%k_1, %c4"),
        ("slt, %k_1, %n", "%k_1, %k_1"),
        ("slt, %k_1, %n", "%c4, %c4"),
        ("slt, %k_1, %n", "%k_1, %c0"),
    ],
)
def test_one_that_does_not_count_has_no_number(compared: str, grows: str) -> None:
    assert operations(counting(compared, grows), n=10) is None


def test_both_branches_count() -> None:
    body = f"""{LOAD}%y = scf.if %b -> ({ROW}) {{
%a = arith.addf %v, %v : {ROW}
scf.yield %a : {ROW}
}} else {{
%c = math.exp %v : {ROW}
scf.yield %c : {ROW}
}}
{STORE}"""
    assert operations(body) == 3 * 128


def test_a_function_counts_each_time_that_it_is_called() -> None:
    helper = f"""tt.func private @"m.helper"(%p: {ROW}) -> {ROW} attributes {{noinline = true}} {{
%q = math.exp %p : {ROW}
tt.return %q : {ROW}
}}
"""
    call = f"tt.call @m.helper(%v) : ({ROW}) -> {ROW}\n"
    assert operations(f"{LOAD}%w = {call}%y = {call.replace('%v', '%w')}{STORE}", rest=helper) == (
        3 * 128
    )


def test_a_function_that_calls_itself_has_no_number() -> None:
    helper = f"""tt.func private @g(%p: {ROW}) -> {ROW} attributes {{noinline = true}} {{
%q = math.exp %p : {ROW}
%r = tt.call @g(%q) : ({ROW}) -> {ROW}
tt.return %r : {ROW}
}}
"""
    assert operations(f"{LOAD}%y = tt.call @g(%v) : ({ROW}) -> {ROW}\n{STORE}", rest=helper) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "module {",
        "}",
        "%a = tt.dot",
        "tt.func public @f(",
        "scf.for",
        '"tt.reduce"(',
        "%x = " * 9,
    ],
)
def test_text_that_triton_would_not_print_is_read_to_its_end(text: str) -> None:
    inside = f"module {{\ntt.func public @f() {{\n{text}\n}}\n}}\n"
    for one in (text, inside, "}\n" * 9 + inside):
        kernel_work(one).operations({}, (1, 1, 1))


def test_numbers_stay_small_however_deep_loops_are() -> None:
    loops = "".join(
        f"%r{at} = scf.for %i{at} = %c0 to %k step %c1 iter_args(%s{at} = %v) -> ({ROW})  : i32 {{\n"
        for at in range(50)
    )
    body = (
        f"{LOAD}%c0 = arith.constant 0 : i32\n%c1 = arith.constant 1 : i32\n{loops}%y = math.exp %v : {ROW}\n{STORE}"
        + "}\n" * 50
    )
    found = operations(body, k=2**40)
    assert found is not None
    assert found <= 1 << 60


def test_assembly_that_may_write_memory_has_no_number() -> None:
    body = f'{LOAD}%y = tt.elementwise_inline_asm "st" {{packed_element = 1 : i32, pure = PURE}} %v : {ROW} -> {ROW}\n{STORE}'
    assert operations(body.replace("PURE", "true")) == 2 * 128
    assert operations(body.replace("PURE", "false")) is None
