"""Runs name the accesses that an integer which wraps decides, and no others."""

import pytest

from compiler.ttir_to_numpy.generic_form import module_of
from compiler.ttir_to_numpy.ir import inside
from compiler.ttir_to_numpy.task import generic_form
from launch.recheck.access_slice import accesses_of, depends_on
from tests.proofs.compiled_ttir import TARGET
from tests.proofs.recheck.running import outcomes, rechecked

TYPES = {"x_ptr": "*fp32", "y_ptr": "*fp32", "z_ptr": "*fp32", "n": "i32", "m": "i32"}
CONTRACT = "x_ptr: n\ny_ptr: n\nz_ptr: 16\ngrid: n\n"
ENDS_AS_ITS_COUNTER_WRAPS = """def kernel(x_ptr, y_ptr, z_ptr, n, m):
    p = tl.program_id(0)
    i = n
    while i > 0:
        tl.store(x_ptr + p, 1.0)
        i = i * 4
"""


def test_what_follows_a_loop_that_ends_as_its_counter_wraps_agrees() -> None:
    body = ENDS_AS_ITS_COUNTER_WRAPS + "    for _ in range(m):\n        tl.store(y_ptr + p, 1.0)\n"
    report = rechecked(body, TYPES, CONTRACT)
    assert outcomes(report, "overflow") == ["violated", "agrees"]


def test_what_depends_on_a_counter_that_wraps_is_contradicted() -> None:
    body = (
        ENDS_AS_ITS_COUNTER_WRAPS + "    tl.store(y_ptr, 1.0)\n    tl.store(z_ptr + i % 16, 1.0)\n"
    )
    report = rechecked(body, TYPES, CONTRACT)
    assert outcomes(report, "overflow") == ["violated", "agrees", "violated"]


def test_a_branch_that_an_integer_decides_which_wraps_is_contradicted_in_every_turn() -> None:
    body = """def kernel(x_ptr, y_ptr, z_ptr, n, m):
    p = tl.program_id(0)
    for i in range(n):
        tl.store(z_ptr + i % 16, 1.0)
        if n * m * (i + 1) < 0:
            tl.store(x_ptr + p, 1.0)
        tl.store(y_ptr + p, 1.0)
"""
    report = rechecked(body, TYPES, CONTRACT)
    assert outcomes(report, "overflow") == ["agrees", "violated", "agrees"]


def test_both_sides_of_a_branch_that_an_integer_decides_which_wraps_are_contradicted() -> None:
    body = """def kernel(x_ptr, y_ptr, z_ptr, n, m):
    if n * m < 0:
        tl.store(x_ptr, 1.0)
    else:
        tl.store(y_ptr, 1.0)
    tl.store(z_ptr, 1.0)
"""
    report = rechecked(body, TYPES, CONTRACT)
    assert outcomes(report, "overflow") == ["violated", "violated", "agrees"]


def test_a_loop_with_other_turns_as_an_integer_wraps_is_contradicted() -> None:
    body = """def kernel(x_ptr, y_ptr, z_ptr, n, m):
    for i in range(0, n * m, 1 << 30):
        tl.store(x_ptr, 1.0)
    tl.store(y_ptr, 1.0)
"""
    report = rechecked(body, TYPES, CONTRACT)
    assert outcomes(report, "overflow") == ["violated", "agrees"]


def test_an_early_return_as_an_integer_wraps_is_contradicted() -> None:
    body = """def kernel(x_ptr, y_ptr, z_ptr, n, m):
    tl.store(x_ptr, 1.0)
    if n * m < 0:
        return
    tl.store(y_ptr, 1.0)
"""
    report = rechecked(body, TYPES, CONTRACT)
    assert outcomes(report, "overflow") == ["agrees", "violated"]


def test_a_loop_before_an_early_return_contradicts_nothing_after_it() -> None:
    body = """def kernel(x_ptr, y_ptr, z_ptr, n, m):
    p = tl.program_id(0)
    for i in range(0, tl.cdiv(n, 16)):
        tl.store(x_ptr + i % n, 1.0)
    if p < m:
        return
    tl.store(y_ptr, 1.0)
"""
    contract = f"x_ptr: n\ny_ptr: 16\nn >= {2**31 - 3}\nm <= 2\ngrid: 8\n"
    report = rechecked(body, TYPES, contract, size=2**31 - 1)
    assert outcomes(report, "overflow") == ["violated", "agrees"]


def test_what_a_counter_that_wraps_returns_before_is_contradicted() -> None:
    loop = ENDS_AS_ITS_COUNTER_WRAPS.replace("i * 4", "i + (1 << 30)")
    early = "    if i == 0:\n        return\n"
    body = f"{loop}{early}    tl.store(y_ptr, 1.0)\n"
    report = rechecked(body, TYPES, CONTRACT)
    assert outcomes(report, "overflow") == ["violated", "violated"]


def test_a_return_before_a_counter_that_wraps_contradicts_nothing_after_both() -> None:
    early = "    if n == m:\n        return\n    i = n\n"
    loop = ENDS_AS_ITS_COUNTER_WRAPS.replace("i * 4", "i + (1 << 30)")
    body = loop.replace("    i = n\n", early)
    report = rechecked(f"{body}    tl.store(y_ptr, 1.0)\n", TYPES, CONTRACT)
    assert outcomes(report, "overflow") == ["violated", "agrees"]


BRANCHES = """module {
  tt.func public @kernel(%x: !tt.ptr<f32>, %n: i32) {
    %zero = arith.constant 0 : i32
    %v = arith.constant 1.0 : f32
    %before = tt.addptr %x, %n : !tt.ptr<f32>, i32
    tt.store %before, %v : !tt.ptr<f32>
    %last = scf.while (%i = %n) : (i32) -> i32 {
      %more = arith.cmpi sgt, %i, %zero : i32
      scf.condition(%more) %i : i32
    } do {
    ^bb0(%i: i32):
      %half = arith.divsi %i, %n : i32
      scf.yield %half : i32
    }
    BRANCH
  ^left(%l: i32):
    cf.br ^both(%l : i32)
  ^right(%r: i32):
    cf.br ^both(%r : i32)
  ^both(%b: i32):
    %p = tt.addptr %x, %b : !tt.ptr<f32>, i32
    tt.store %p, %v : !tt.ptr<f32>
    tt.return
  }
}
"""
CHOICE = """%is = arith.cmpi eq, VALUE, %zero : i32
    cf.cond_br %is, ^left(LEFT : i32), ^right(%zero : i32)"""


@pytest.mark.parametrize(
    ("value", "left", "depends"),
    [("%last", "%n", True), ("%n", "%last", True), ("%n", "%n", False)],
)
def test_what_branches_pass_and_what_chooses_one_is_depended_on(
    value: str, left: str, *, depends: bool
) -> None:
    text = BRANCHES.replace("BRANCH", CHOICE).replace("VALUE", value).replace("LEFT", left)
    module = module_of(generic_form(text, TARGET, "ttir")[0])
    [function] = module.regions[0][0].operations
    [loop] = [one for one in inside(function) if one.name == "scf.while"]
    first, last = accesses_of(function)
    assert not depends_on(function, first, loop)
    assert depends_on(function, last, loop) == depends
