"""A replay confirms the access in question alone: what others do there is no evidence."""

import pytest

from compiler.proof.binding import SizeLimits
from launch.proof.proof_messages import AccessReport
from tests.proofs.compiled_ttir import HEAD, report_of, report_of_source

TYPES = {"x_ptr": "*fp32", "y_ptr": "*fp32", "z_ptr": "*fp32", "n": "i32"}
HELPER = f"""{HEAD}def part(p, o):
    return tl.load(p + o)
@triton.jit
def kernel(x_ptr, y_ptr, z_ptr, n):
    i = 0
    s = 0.0
    while (i < 3) | (i > 100):
        s += part(x_ptr, i)
        s += part(z_ptr, i + n)
        i += 1
    tl.store(y_ptr, s)
"""
UNROLLED = """def kernel(x_ptr, y_ptr, z_ptr, n):
    for j in tl.static_range(2):
        i = 0
        s = 0.0
        while (i < 3) | (i > 100):
            s += tl.load(x_ptr + i + j * n)
            i += 1
        tl.store(y_ptr + j, s)
"""
COUNTED = """def kernel(x_ptr, y_ptr, z_ptr, n):
    i = 0
    s = 0.0
    while (i < 3) | (i > 100):
        s += tl.load(x_ptr + i)
        i += 1
    tl.store(y_ptr, s)
"""
TWO_STORES = """def kernel(x_ptr, y_ptr, z_ptr, n):
    i = 0
    while (i < 1) | (i > 100):
        tl.store(x_ptr + tl.program_id(0) * 2 + i, 1.0)
        i += 1
    tl.store(z_ptr, 1.0)
"""
ONE_BUFFER = TWO_STORES.replace("z_ptr, 1.0", "x_ptr + 2 * n + 200, 1.0")
QUARTERED = """def kernel(x_ptr, n, m):
    quarter = n * m // 4
    tl.store(x_ptr + quarter, 0.0, mask=quarter < 5)
"""


def verdicts(accesses: list[AccessReport], check: str) -> list[str]:
    return [one.answers[check].verdict for one in accesses if check in one.answers]


def test_the_access_of_another_buffer_in_a_helper_is_no_evidence() -> None:
    report = report_of_source(HELPER, "kernel", TYPES, "x_ptr: 3\ny_ptr: 1\nz_ptr: 3\n", {})
    assert verdicts(report.accesses, "bounds") == ["possible", "refuted", "proved"]
    assert verdicts(report.accesses, "overflow")[:2] == ["possible", "possible"]


def test_another_copy_of_an_unrolled_line_is_no_evidence() -> None:
    report = report_of(UNROLLED, TYPES, "x_ptr: 3\ny_ptr: 2\nz_ptr: 1\n")
    loads = [one for one in report.accesses if one.kind == "load"]
    assert verdicts(loads, "bounds") == ["possible", "refuted"]


def test_an_access_that_leaves_its_buffer_is_no_evidence_of_a_wrapped_integer() -> None:
    load, _ = report_of(COUNTED, TYPES, "x_ptr: 2\ny_ptr: 1\nz_ptr: 1\n").accesses
    assert load.answers["bounds"].verdict == "refuted"
    assert load.answers["overflow"].verdict == "possible"


def test_two_stores_that_meet_are_no_evidence_of_another_race() -> None:
    contract = "x_ptr: 2 * n + 201\ny_ptr: 1\nz_ptr: 1\ngrid: n\n"
    for body in (TWO_STORES, ONE_BUFFER):
        report = report_of(body, TYPES, contract, checks=["races"])
        assert verdicts(report.accesses, "race") == ["possible", "refuted"]


def test_an_integer_that_wraps_is_seen_where_it_is_computed() -> None:
    [store] = report_of(
        QUARTERED, {"x_ptr": "*fp32", "n": "i32", "m": "i32"}, "x_ptr: 5\n"
    ).accesses
    answer = store.answers["overflow"]
    assert answer.verdict == "refuted"
    assert answer.witness is not None


STEPS = """def kernel(y_ptr, n, step):
    last = 0
    for i in range(0, n, step):
        last = i
    tl.store(y_ptr + last, 0.0)
"""


def test_a_counter_that_wraps_behind_the_last_turn_of_a_short_loop_is_seen() -> None:
    types, limits = {"y_ptr": "*fp32", "n": "i32", "step": "i32"}, SizeLimits(2**31 - 1, 2**36)
    [store] = report_of(STEPS, types, "y_ptr: n\nstep >= n // 2\n", limits=limits).accesses
    assert store.answers["overflow"].verdict == "refuted"


MASKED = """def kernel(t_ptr, y_ptr, n, m, p):
    v = tl.load(t_ptr + tl.program_id(0), mask=tl.program_id(0) < p, other=n * m)
    tl.store(y_ptr + v, 1.0, mask=tl.program_id(0) >= p)
"""


def test_a_witness_keeps_the_ranges_of_values_that_it_lists() -> None:
    types = {"t_ptr": "*i32", "y_ptr": "*fp32", "n": "i32", "m": "i32", "p": "i32"}
    contract = "t_ptr: p\nvalues t_ptr: 0 .. n\ny_ptr: n * m + n + 1\ngrid: 2 * p\n"
    [_, store] = report_of(MASKED, types, contract).accesses
    witnesses = [answer.witness for answer in store.answers.values() if answer.witness is not None]
    assert witnesses
    for one in witnesses:
        held = one.values.get("t_ptr", {})
        assert all(0 <= int(at) < one.extents["t_ptr"] for at in held)
        assert all(0 <= value < one.scalars["n"] for value in held.values())


def test_an_atomic_operation_of_any_scope_is_replayed() -> None:
    body = """def kernel(x_ptr, n):
    tl.atomic_add(x_ptr + n, 1, scope="cta")
    tl.atomic_cas(x_ptr + n, 0, 1, scope="cta")
"""
    report = report_of(body, {"x_ptr": "*i32", "n": "i32"}, "x_ptr: n\n")
    assert [one.answers["bounds"].verdict for one in report.accesses] == ["refuted", "refuted"]


@pytest.mark.parametrize(
    ("offsets", "why"),
    [
        ("tl.arange(0, 32)", "the address does not depend on tl.program_id(0)"),
        (
            "tl.program_id(0) * 16 + tl.arange(0, 32)",
            "a program covers 32 elements, and the next one of tl.program_id(0) begins 16 further "
            "on",
        ),
        ("tl.program_id(0) // 2 + n", ""),
    ],
)
def test_a_race_has_its_reason_where_one_shows(offsets: str, why: str) -> None:
    body = f"""def kernel(x_ptr, n):
    offs = {offsets}
    tl.store(x_ptr + offs, 1.0, mask=offs < 2 * n)
"""
    contract = "x_ptr: 2 * n\ngrid: n\n"
    report = report_of(body, {"x_ptr": "*fp32", "n": "i32"}, contract, checks=["races"])
    witness = report.accesses[-1].answers["race"].witness
    assert witness is not None
    assert witness.message.partition("]: ")[2] == why
