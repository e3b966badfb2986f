"""Runs at sizes that keep a contract contradict what is not so, and nothing that is."""

import pytest

from tests.proofs.recheck.false_kernels import FALSE_KERNELS, FalseKernel
from tests.proofs.recheck.running import outcomes, rechecked


@pytest.mark.parametrize("false", FALSE_KERNELS, ids=lambda one: one.name)
def test_a_false_proof_is_contradicted(false: FalseKernel) -> None:
    report = rechecked(false.body, false.signature, false.contract, false.constexprs)
    check = report.accesses[-1].checks[false.check]
    assert check.outcome == "violated"
    assert check.message
    assert check.sizes.keys() >= {"grid.x", "program"}


ADD = """def kernel(x_ptr, y_ptr, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + o, tl.load(x_ptr + o, mask=o < n), mask=o < n)
"""
ADD_TYPES = {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"}


def test_a_right_kernel_agrees_in_every_check() -> None:
    contract = "x_ptr: n\ny_ptr: n\ngrid: cdiv(n, B)\n"
    report = rechecked(ADD, ADD_TYPES, contract, {"B": 64})
    assert outcomes(report, "bounds") == ["agrees", "agrees"]
    assert outcomes(report, "overflow") == ["agrees", "agrees"]
    assert outcomes(report, "race") == ["agrees", "agrees"]
    assert all(one.checks["bounds"].runs > 30 for one in report.accesses)


def test_each_run_has_other_values_in_its_buffers() -> None:
    """The sum of the first eight values that are spread over 0 .. 1000 is a multiple of 8."""
    body = """def kernel(t_ptr, y_ptr):
    total = tl.sum(tl.load(t_ptr + tl.arange(0, 8)), 0)
    tl.store(y_ptr + total % 8, 1.0)
"""
    contract = "t_ptr: 16\ny_ptr: 1\nvalues t_ptr: 0 .. 1000\n"
    report = rechecked(body, {"t_ptr": "*i32", "y_ptr": "*fp32"}, contract)
    assert outcomes(report, "bounds") == ["agrees", "violated"]


def test_an_integer_that_wraps_in_an_inactive_lane_is_no_fault() -> None:
    body = """def kernel(y_ptr, n, m):
    p = tl.program_id(0)
    tl.store(y_ptr + p * m, 1.0, mask=p < 2)
"""
    types = {"y_ptr": "*fp32", "n": "i32", "m": "i32"}
    report = rechecked(body, types, "y_ptr: 2 * m\nm <= 1000000000\ngrid: n\n")
    assert outcomes(report, "overflow") == ["agrees"]


def test_a_mask_with_an_integer_that_wraps_is_found() -> None:
    body = """def kernel(y_ptr, n, m):
    tl.store(y_ptr, 1.0, mask=n * m > 0)
"""
    types = {"y_ptr": "*fp32", "n": "i32", "m": "i32"}
    report = rechecked(body, types, "y_ptr: 1\n")
    assert outcomes(report, "overflow") == ["violated"]
    assert outcomes(report, "bounds") == ["agrees"]


def test_an_unsigned_integer_is_no_wrapped_one() -> None:
    body = """def kernel(y_ptr, n):
    a = (0 - n).to(tl.uint32) % 7
    tl.store(y_ptr + a.to(tl.int32), 1.0)
"""
    report = rechecked(body, {"y_ptr": "*fp32", "n": "i32"}, "y_ptr: 7\n")
    assert outcomes(report, "bounds") == ["agrees"]
    assert outcomes(report, "overflow") == ["agrees"]


def test_an_access_that_nothing_reaches_has_no_runs() -> None:
    body = """def kernel(y_ptr, n):
    if n < 0:
        tl.store(y_ptr, 1.0)
    tl.store(y_ptr, 2.0)
"""
    report = rechecked(body, {"y_ptr": "*fp32", "n": "i32"}, "y_ptr: 1\n")
    assert [one.checks["bounds"].runs > 0 for one in report.accesses] == [False, True]


def test_a_race_between_programs_that_run_apart_is_found() -> None:
    body = """def kernel(x_ptr, z_ptr, n):
    i = 0
    while (i < 1) | (i > 100):
        tl.store(x_ptr + tl.program_id(0) * 2 + i, 1.0)
        i += 1
    tl.store(z_ptr, 1.0)
"""
    types = {"x_ptr": "*fp32", "z_ptr": "*fp32", "n": "i32"}
    report = rechecked(body, types, "x_ptr: 2 * n + 200\nz_ptr: 1\ngrid: n\n")
    assert outcomes(report, "race") == ["agrees", "violated"]


def test_atomic_additions_do_not_race_with_each_other_but_with_a_store() -> None:
    body = """def kernel(x_ptr, y_ptr, n):
    tl.atomic_add(x_ptr, 1.0)
    tl.atomic_add(y_ptr, 1.0)
    tl.store(y_ptr, 1.0)
"""
    types = {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"}
    report = rechecked(body, types, "x_ptr: 1\ny_ptr: 1\ngrid: n\n")
    assert outcomes(report, "race") == ["agrees", "violated", "violated"]


def test_one_place_in_a_helper_is_several_accesses() -> None:
    body = """def read(p, o):
    return tl.load(p + o)


@triton.jit
def kernel(x_ptr, y_ptr, z_ptr, n):
    tl.store(y_ptr, read(x_ptr, n - 1) + read(z_ptr, n))
"""
    types = {"x_ptr": "*fp32", "y_ptr": "*fp32", "z_ptr": "*fp32", "n": "i32"}
    report = rechecked(body, types, "x_ptr: n\ny_ptr: 1\nz_ptr: n\n")
    assert outcomes(report, "bounds") == ["agrees", "violated", "agrees"]


def test_values_are_tried_at_both_ends_of_their_range() -> None:
    body = """def kernel(t_ptr, y_ptr, n):
    tl.store(y_ptr + tl.load(t_ptr), 1.0)
"""
    types = {"t_ptr": "*i32", "y_ptr": "*fp32", "n": "i32"}
    for values, extent, outcome in (
        ("0 .. n", "n", "agrees"),
        ("0 .. n", "max(n - 1, 1)", "violated"),
        ("0 - 1 .. n", "n", "violated"),
    ):
        contract = f"t_ptr: 1\nvalues t_ptr: {values}\ny_ptr: {extent}\n"
        assert outcomes(rechecked(body, types, contract), "bounds") == ["agrees", outcome]


def test_an_endless_loop_is_cut() -> None:
    body = """def kernel(y_ptr, n):
    i = n
    while i > 0:
        i = tl.maximum(i, 1)
        tl.store(y_ptr, 1.0)
    tl.store(y_ptr + 5, 1.0)
"""
    report = rechecked(body, {"y_ptr": "*fp32", "n": "i32"}, "y_ptr: 1\n")
    assert [one.checks["bounds"].runs > 0 for one in report.accesses] == [True, False]


def test_an_assumption_that_does_not_hold_ends_a_run() -> None:
    body = """def kernel(y_ptr, n):
    tl.assume(n == 1)
    tl.store(y_ptr + n, 1.0)
"""
    report = rechecked(body, {"y_ptr": "*fp32", "n": "i32"}, "y_ptr: 2\n")
    assert outcomes(report, "bounds") == ["agrees"]


def test_floats_that_no_access_depends_on_are_not_computed() -> None:
    body = """def kernel(x_ptr, y_ptr, n):
    o = tl.arange(0, 16)
    x = tl.load(x_ptr + o[:, None] * 16 + o[None, :])
    acc = tl.zeros((16, 16), tl.float32)
    for i in range(n):
        acc = tl.inline_asm_elementwise(
            "add.f32 $0, $1, $2;", "=r,r,r", [tl.dot(acc, x), acc], tl.float32, True, 1
        )
    tl.store(y_ptr + o[:, None] * 16 + o[None, :], acc)
"""
    types = {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"}
    report = rechecked(body, types, "x_ptr: 256\ny_ptr: 256\n")
    assert outcomes(report, "bounds") == ["agrees", "agrees"]
    assert report.accesses[-1].checks["bounds"].runs > 0


def test_a_kernel_that_the_cpu_device_cannot_run_is_refused_by_name() -> None:
    body = """def kernel(x_ptr, y_ptr, n):
    a = tl.inline_asm_elementwise("clz.b32 $0, $1;", "=r,r", [n], tl.int32, True, 1)
    tl.store(y_ptr + a, 1.0)
"""
    types = {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"}
    report = rechecked(body, types, "x_ptr: n\ny_ptr: 33\n")
    assert "inline assembly" in report.refused
    assert report.accesses == []


def test_equal_orders_have_equal_reports() -> None:
    contract = "x_ptr: n\ny_ptr: n\ngrid: cdiv(n, B)\n"
    reports = [rechecked(ADD, ADD_TYPES, contract, {"B": 64}) for _ in range(2)]
    assert reports[0].accesses == reports[1].accesses


def test_atomic_operations_of_any_scope_run() -> None:
    body = """def kernel(x_ptr, n):
    tl.atomic_add(x_ptr, 1, scope="cta")
    tl.atomic_cas(x_ptr, 0, 1, scope="cta")
"""
    report = rechecked(body, {"x_ptr": "*i32", "n": "i32"}, "x_ptr: 1\n")
    assert outcomes(report, "bounds") == ["agrees", "agrees"]
    assert all(one.checks["bounds"].runs > 0 for one in report.accesses)
