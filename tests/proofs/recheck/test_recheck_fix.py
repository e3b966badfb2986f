"""A changed kernel keeps the meaning of the first one, or the change is not offered."""

from dataclasses import fields
from typing import Any

import pytest

from launch.recheck.recheck_fix import recheck_fix
from launch.recheck.recheck_messages import CheckRecheck, FixOrder, RecheckedKernel
from tests.proofs.compiled_ttir import ttir_of
from tests.proofs.recheck.running import recheck_order

MINUS_INFINITY = 'other=-float("inf")'
TYPES: dict[str, Any] = {
    "x_ptr": "*fp32",
    "w_ptr": "*fp32",
    "y_ptr": "*fp32",
    "n": "i32",
    "m": "i32",
}
TWO_SIZES = """def kernel(x_ptr, w_ptr, y_ptr, n, m, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    w = tl.load(w_ptr + o, mask=o < m, other=0.0)
    x = tl.load(x_ptr + o, mask=o < n, other=0.0)
    tl.store(y_ptr + o, x + w)
"""
OF_TWO = "x_ptr: n\ny_ptr: n\nw_ptr: m\nm <= n\ngrid: cdiv(n, B)\n"
REDUCED = """def kernel(x_ptr, w_ptr, y_ptr, n, m, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + o)
    tl.store(y_ptr + tl.program_id(0), VALUE)
"""
OF_ROWS = "x_ptr: n\ny_ptr: cdiv(n, B)\nw_ptr: 1\ngrid: cdiv(n, B)\n"


def compared(
    before: str,
    after: str,
    contract: str,
    access: int,
    *,
    is_masked: bool = True,
    types: dict[str, Any] = TYPES,
) -> CheckRecheck:
    texts = [ttir_of(body, types, {"B": 16}) for body in (before, after)]
    base = recheck_order(texts[0], contract, {"B": 16})
    members = {item.name: getattr(base, item.name) for item in fields(base)}
    changed = RecheckedKernel(
        ttir_bytes=len(texts[1].encode()), contract=contract, constants={"B": 16}
    )
    order = FixOrder(**members | {"other": changed}, access=access, is_masked=is_masked)
    report = recheck_fix(order, "".join(texts).encode(), lambda *_: None)
    assert not report.refused
    assert report.equivalent is not None
    return report.equivalent


def test_a_mask_that_leaves_out_elements_changes_the_meaning() -> None:
    narrow = TWO_SIZES.replace("x + w)", "x + w, mask=o < m)")
    found = compared(TWO_SIZES, narrow, OF_TWO, 2)
    assert found.outcome == "violated"
    assert "differs" in found.message
    whole = TWO_SIZES.replace("x + w)", "x + w, mask=o < n)")
    found = compared(TWO_SIZES, whole, OF_TWO, 2)
    assert (found.outcome, found.runs) == ("agrees", 60), found


def test_a_load_that_a_borrowed_mask_cuts_short_changes_the_meaning() -> None:
    before = TWO_SIZES.replace(", mask=o < n, other=0.0", "").replace("x + w)", "x, mask=o < n)")
    for other in ("", ", other=0.0"):
        found = compared(
            before, before.replace("x_ptr + o)", f"x_ptr + o, mask=o < m{other})"), OF_TWO, 1
        )
        assert found.outcome == "violated"
    found = compared(before, before.replace("x_ptr + o)", "x_ptr + o, mask=o < n)"), OF_TWO, 1)
    assert found.outcome == "agrees"


@pytest.mark.parametrize(
    ("value", "right"),
    [
        ("tl.sum(tl.exp(x))", [MINUS_INFINITY]),
        ("tl.max(x)", [MINUS_INFINITY]),
        ("tl.sum(x)", ["other=0.0"]),
        ("tl.sum(x * x)", ["other=0.0"]),
        ("tl.sum(tl.exp(x - tl.max(x)))", [MINUS_INFINITY]),
        ("tl.sum(x + 1.0)", []),
        ("tl.min(x)", []),
        ("tl.sum(tl.maximum(x, 0.0) + 1.0)", []),
        ("tl.sum(tl.where(x > 0.0, x, 0.0) + 1.0)", []),
    ],
)
def test_only_an_other_that_a_reduction_does_not_notice_keeps_the_meaning(
    value: str, right: list[str]
) -> None:
    before = REDUCED.replace("VALUE", value)
    others = ["", "other=0.0", MINUS_INFINITY]
    kept = [
        other
        for other in others
        if compared(
            before, before.replace("+ o)", f"+ o, mask=o < n, {other})"), OF_ROWS, 0
        ).outcome == "agrees"
    ]  # fmt: skip
    assert kept == right


def test_wider_integers_are_compared_without_regard_to_lanes_that_were_masked() -> None:
    before = REDUCED.replace("+ o)", "+ o, mask=o < n)").replace("VALUE", "tl.sum(x)")
    after = before.replace("program_id(0) * B", "program_id(0).to(tl.int64) * B")
    assert compared(before, after, OF_ROWS, 0, is_masked=False).outcome == "agrees"
    other = after.replace("tl.sum(x)", "tl.sum(x) + 1")
    assert compared(before, other, OF_ROWS, 0, is_masked=False).outcome == "violated"


FAR = """def kernel(x_ptr, w_ptr, y_ptr, n, m, B: tl.constexpr):
    o = tl.program_id(0) * m + tl.arange(0, B)
    x = tl.load(x_ptr + o, mask=tl.arange(0, B) < n, other=0.0)
    tl.store(y_ptr + o, x + 1.0, mask=tl.arange(0, B) < n)
"""


def test_buffers_of_any_size_are_compared_by_programs_whose_integers_fit() -> None:
    contract = "sizes p\nm = 1436549120\nx_ptr: p * m\ny_ptr: p * m\nw_ptr: 1\nn <= m\ngrid: p\n"
    wide = FAR.replace("program_id(0) * m", "program_id(0).to(tl.int64) * m")
    found = compared(FAR, wide, contract, 0, is_masked=False)
    assert found.outcome == "agrees"
    found = compared(FAR, wide.replace("x + 1.0", "x + 2.0"), contract, 0, is_masked=False)
    assert found.outcome == "violated"


def kept(before: str, others: list[str], types: dict[str, Any] = TYPES) -> list[str]:
    """Return the values for masked lanes with which a change keeps the meaning."""
    return [
        other
        for other in others
        if compared(
            before, before.replace("+ o)", f"+ o, mask=o < n{other})", 1), OF_ROWS, 0, types=types
        ).outcome == "agrees"
    ]  # fmt: skip


INTEGERS = TYPES | {"x_ptr": "*i32", "y_ptr": "*i32"}


@pytest.mark.parametrize(
    ("value", "right"),
    [
        ("tl.sum(tl.where(x == 0, 1, 0))", []),
        ("tl.sum(tl.where(x == 5, 1, 0))", []),
        ("tl.max(x)", []),
        ("tl.max(x // 4)", []),
        ("tl.sum(x & 1)", []),
        ("tl.sum(x)", [", other=0"]),
    ],
)
def test_integers_of_masked_lanes_are_only_summed(value: str, right: list[str]) -> None:
    assert kept(REDUCED.replace("VALUE", value), ["", ", other=0"], INTEGERS) == right


@pytest.mark.parametrize(
    "value",
    [
        "tl.sum(tl.where(x == 0.0, 1.0, 0.0))",
        "tl.sum(tl.where(x != x, 1.0, 0.0))",
        "tl.max(tl.where(x > 3.0e38, 1.0, 0.0))",
        "tl.sum(x * 0.0 + tl.arange(0, B))",
        "tl.argmax(x, 0, tie_break_left=False)",
    ],
)
def test_no_value_is_right_for_what_is_compared_or_may_be_infinite(value: str) -> None:
    others = ["", ", other=0.0", ', other=-float("inf")']
    assert kept(REDUCED.replace("VALUE", value), others) == []


COPIED = """def kernel(x_ptr, w_ptr, y_ptr, n, m, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + o)
    tl.store(y_ptr + o, VALUE, mask=MASK)
"""


@pytest.mark.parametrize(
    ("value", "mask", "is_kept"),
    [
        ("tl.where(x == 0, 1, 0)", "o < n", True),
        ("x // 4", "(o < n) & (x > 1)", True),
        ("x - tl.max(x)", "o < n", False),
        ("tl.where(x == 0, 1, 0)", "o < n + 1", False),
    ],
)
def test_a_mask_without_other_needs_the_same_mask_where_lanes_are_used(
    value: str, mask: str, is_kept: bool
) -> None:
    before = COPIED.replace("VALUE", value).replace("MASK", mask)
    after = before.replace("x_ptr + o)", "x_ptr + o, mask=o < n)")
    contract = "x_ptr: n\ny_ptr: n + 1\nw_ptr: 1\ngrid: cdiv(n, B)\n"
    found = compared(before, after, contract, 0, types=INTEGERS)
    assert (found.outcome == "agrees") == is_kept, found


def test_a_mask_is_followed_through_tiles() -> None:
    before = """def kernel(x_ptr, w_ptr, y_ptr, n, m, B: tl.constexpr):
    a, b = tl.arange(0, B), tl.arange(0, B)
    w = tl.load(w_ptr + a)
    o, is_inside = a[:, None] * m + b[None, :], (a[:, None] < n) & (b[None, :] < m)
    x = tl.load(x_ptr + o, mask=is_inside)
    tl.store(y_ptr + o, x + w[AXES], mask=is_inside)
"""
    contract = "x_ptr: n * m\ny_ptr: n * m\nw_ptr: n\nn <= 16\nm <= 16\n"
    for axes, is_kept in (":, None", True), ("None, :", False):
        text = before.replace("AXES", axes)
        found = compared(text, text.replace("w_ptr + a)", "w_ptr + a, mask=a < n)"), contract, 0)
        assert (found.outcome == "agrees") == is_kept, found


@pytest.mark.parametrize(
    "lines",
    [
        "for j in range(0, n):\n        s = tl.maximum(s, x)\n    tl.store(y_ptr + o, s, o < n)",
        "tl.device_print('x', x)\n    tl.store(y_ptr + o, x, mask=o < n)",
        "if tl.max(x) > 100:\n        tl.store(y_ptr + o, s, mask=o < n)",
        "tl.atomic_max(y_ptr + o, x)",
    ],
)
def test_masked_lanes_reach_no_loop_print_or_branch(lines: str) -> None:
    head = COPIED[: COPIED.index("    tl.store")]
    before = f"{head}    s = tl.full((B,), -9, tl.int32)\n    {lines}\n"
    after = before.replace("x_ptr + o)", "x_ptr + o, mask=o < n)")
    contract = "x_ptr: n\ny_ptr: n + 1\nw_ptr: 1\ngrid: cdiv(n, B)\n"
    assert compared(before, after, contract, 0, types=INTEGERS).outcome == "violated"
