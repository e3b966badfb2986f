"""Bounds and races are about exact integers: a run where none are given contradicts no proof."""

import pytest

from tests.proofs.recheck.running import outcomes, rechecked

TYPES = {"x_ptr": "*fp32", "n": "u32", "m": "u32"}


def kernel_of(*lines: str) -> str:
    """Return a kernel of these lines, in which `pid` is the number of the program."""
    text = ["def kernel(x_ptr, n, m):", "    pid = tl.program_id(0)", *(f"    {x}" for x in lines)]
    return "\n".join([*text, ""])


def test_an_unsigned_comparison_takes_a_number_beyond_its_type_as_it_is() -> None:
    body = kernel_of("at = pid * 8", "tl.store(x_ptr + at, 1.0, mask=at < n)")
    report = rechecked(body, TYPES, "x_ptr: n\ngrid: n\n")
    assert outcomes(report, "bounds") == ["agrees"]
    assert outcomes(report, "race") == ["agrees"]
    assert outcomes(report, "overflow") == ["violated"]


def test_programs_do_not_meet_in_an_unsigned_product_that_wraps() -> None:
    body = kernel_of("at = pid * m + 7", "tl.store(x_ptr + at, 1.0, mask=at <= n)")
    report = rechecked(body, TYPES, "x_ptr: n + 1\nm == n\ngrid: n\n")
    assert outcomes(report, "race") == ["agrees"]


def test_programs_do_not_meet_in_a_narrowed_program_number() -> None:
    body = kernel_of("tl.store(x_ptr + pid.to(tl.uint8), 1.0)")
    report = rechecked(body, TYPES, "x_ptr: n * m\ngrid: n\nn >= 1000\nn <= 1000\n")
    assert outcomes(report, "race") == ["agrees"]
    assert outcomes(report, "overflow") == ["violated"]


def test_a_bound_of_unsigned_numbers_keeps_the_sign_of_its_operands() -> None:
    body = kernel_of(
        "big = tl.maximum((0 - n).to(tl.uint32), 1)", "tl.store(x_ptr + (big + n).to(tl.int32), 1.)"
    )
    report = rechecked(body, {**TYPES, "n": "i32"}, "x_ptr: 1\n")
    assert outcomes(report, "bounds") == ["agrees"]


def test_programs_do_not_meet_in_a_number_beyond_64_bits() -> None:
    body = kernel_of("tl.store(x_ptr + pid.to(tl.int64) * n * n * n * n, 1.0)")
    report = rechecked(
        body, {**TYPES, "n": "i32"}, "x_ptr: n\ngrid: n + 1\nn >= 65536\nn <= 65536\n"
    )
    assert outcomes(report, "race") == ["agrees"]


@pytest.mark.parametrize(
    "index",
    ["big // m", "tl.minimum(tl.maximum(big, 0), 1)", "big % 2", "big - 3 * big", "(big >> 40)"],
)
def test_programs_do_not_meet_in_what_is_computed_from_numbers_beyond_64_bits(index: str) -> None:
    body = kernel_of(
        "big = (pid + 1).to(tl.int64) * n * n * n * n", f"tl.store(x_ptr + {index}, 1.0)"
    )
    report = rechecked(
        body,
        {**TYPES, "n": "i32", "m": "i32"},
        "x_ptr: n\ngrid: n\nn >= 65536\nn <= 65536\nm >= n * n // 4\n",
    )
    assert outcomes(report, "race") == ["agrees"]


@pytest.mark.parametrize("check", ["bounds", "race"])
def test_an_access_that_depends_on_a_remainder_by_0_contradicts_nothing(check: str) -> None:
    body = kernel_of("tl.store(x_ptr + pid % (n - m), 1.0)")
    report = rechecked(body, {**TYPES, "n": "i32", "m": "i32"}, "x_ptr: n\nm == n\ngrid: n\n")
    assert outcomes(report, check) == ["agrees"]


def test_an_access_next_to_a_remainder_by_0_is_still_watched() -> None:
    body = kernel_of(
        "r = tl.arange(0, 4)", "tl.store(x_ptr + tl.where(r == 0, 1 % r, r), 1.0)",
        "tl.store(x_ptr + n, 1.0)",
    )  # fmt: skip
    report = rechecked(body, {**TYPES, "n": "i32", "m": "i32"}, "x_ptr: n\nn >= 4\ngrid: m\n")
    assert outcomes(report, "bounds") == ["agrees", "violated"]
    assert outcomes(report, "race") == ["violated", "violated"]


@pytest.mark.parametrize("kind", ["*fp32", "*i32"])
def test_programs_do_not_meet_in_a_coordinate_of_a_descriptor_that_wraps(kind: str) -> None:
    body = kernel_of(
        "d = tl.make_tensor_descriptor(x_ptr, [n, m], [m, 1], [2, 4])",
        "d.store([n - 1, pid * 16], d.load([n - 1, pid * 16]))",
    )
    types = {"x_ptr": kind, "n": "i32", "m": "i32"}
    contract = "x_ptr: n * m\nm == 32768\nn >= 32768\nn <= 32768\ngrid: n * m\n"
    report = rechecked(body, types, contract)
    assert outcomes(report, "race") == ["agrees"] * 2
    assert "violated" in outcomes(report, "overflow")


def test_programs_meet_in_a_coordinate_of_a_descriptor_that_fits() -> None:
    body = kernel_of(
        "d = tl.make_tensor_descriptor(x_ptr, [n, m], [m, 1], [2, 4])",
        "d.store([0, (pid % 2) * 4], tl.zeros((2, 4), tl.float32))",
    )
    types = {"x_ptr": "*fp32", "n": "i32", "m": "i32"}
    report = rechecked(body, types, "x_ptr: n * m\nm >= 8\nn >= 2\ngrid: n\n")
    assert outcomes(report, "race") == ["violated"]


@pytest.mark.parametrize(
    "index", ["tl.flip(o * m, 0)", "tl.gather(o * m, 15 - o, 0)", "tl.max(o * m, 0)"]
)
def test_an_index_that_is_rearranged_stays_exact(index: str) -> None:
    body = kernel_of("o = tl.arange(0, 16)", f"tl.store(x_ptr + {index}, 1.0)")
    report = rechecked(body, {"x_ptr": "*fp32", "n": "i32", "m": "i32"}, "x_ptr: 16 * m\n")
    assert outcomes(report, "bounds") == ["agrees"]
    assert outcomes(report, "overflow") == ["violated"]


def test_counts_of_integers_that_wrap_contradict_nothing() -> None:
    body = """def kernel(x_ptr, n, m):
    lanes = tl.arange(0, 16)
    counts = tl.histogram(tl.where(n * m > 0, lanes, 0), 16)
    tl.store(x_ptr + counts, 1.0)
    tl.store(x_ptr + 1, 1.0, mask=n * m > 0)
"""
    report = rechecked(body, {"x_ptr": "*fp32", "n": "i32", "m": "i32"}, "x_ptr: 17\n")
    assert outcomes(report, "overflow") == ["agrees", "violated"]
