"""Runs name the accesses that an integer which wraps decides, and no others."""

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
