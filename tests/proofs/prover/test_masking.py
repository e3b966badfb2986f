"""Masks that are proposed for an access, as text; what proves it is another's word."""

import pytest

from launch.proof.masking import masked
from tests.proofs.compiled_ttir import HEAD, proof_of

FORGOTTEN = """def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(y_ptr + offsets, x, mask=offsets < n)
"""
TYPES = {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"}
CONTRACT = "x_ptr: n\ny_ptr: n\ngrid: cdiv(n, BLOCK)\n"
BEFORE = HEAD.count("\n")


def proposals(body: str, line: int, call: str, extent: str) -> list[str]:
    column = body.splitlines()[line - 1].index(call) + 1
    return [text.removeprefix(HEAD) for text in masked(HEAD + body, BEFORE + line, column, extent)]


def test_the_offset_below_the_extent_is_a_mask_that_proves_it() -> None:
    whole = proposals(FORGOTTEN, 3, "tl.load", "n")[0]
    assert "tl.load(x_ptr + offsets, mask=offsets < n)" in whole
    before = proof_of(FORGOTTEN, TYPES, CONTRACT, {"BLOCK": 128}).accesses[0].bounds
    after = proof_of(whole, TYPES, CONTRACT, {"BLOCK": 128}).accesses[0].bounds
    assert before is not None
    assert after is not None
    assert (before.verdict, after.verdict) == ("refuted", "proved")


TWO_AXES = """def kernel(x_ptr, M, N, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    in_row = columns[None, :] < N
    x = tl.load(x_ptr + rows[:, None] * N + columns[None, :], mask=rows[:, None] < M)
"""


def test_a_mask_forgotten_on_one_axis_is_borrowed_from_the_kernel() -> None:
    whole, _, _, borrowed, *_ = proposals(TWO_AXES, 5, "tl.load", "M * N")
    assert "mask=(rows[:, None] < M) & (rows[:, None] * N + columns[None, :] < M * N))" in whole
    assert "mask=(rows[:, None] < M) & (columns[None, :] < N))" in borrowed


UNMASKED_TILE = """def kernel(x_ptr, y_ptr, M, N, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + rows[:, None].to(tl.int64) * N + columns[None, :])
    tl.store(y_ptr + rows[:, None] * N + columns[None, :], x, mask=MASK)
"""


def test_a_tile_without_a_mask_gets_that_of_its_rows_and_columns() -> None:
    first, *_ = proposals(UNMASKED_TILE.replace(", mask=MASK", ""), 4, "tl.load", "M * N")
    assert "columns[None, :], mask=(rows[:, None] < M) & (columns[None, :] < N))" in first


def test_a_tile_gets_the_whole_mask_of_another_access() -> None:
    mask = "(rows[:, None] < 2 * M) & (columns[None, :] < N)"
    first, *_ = proposals(UNMASKED_TILE.replace("MASK", mask), 4, "tl.load", "2 * M * N")
    assert f"columns[None, :], mask={mask})" in first


@pytest.mark.parametrize("mask", ["offsets <= n", "inside", "inside & (offsets >= 0)"])
def test_a_mask_that_is_one_too_long_gets_a_smaller_sign(mask: str) -> None:
    body = FORGOTTEN.replace("+ offsets)", f"+ offsets, mask={mask})")
    body = body.replace("    x =", "    inside = offsets <= n\n    x =")
    first, *_ = proposals(body, 4, "tl.load", "n")
    assert "inside = offsets < n" in first or "tl.load(x_ptr + offsets, mask=offsets < n)" in first


def test_equal_masks_that_are_one_too_long_are_changed_together_and_then_one_alone() -> None:
    body = FORGOTTEN.replace("+ offsets)", "+ offsets, mask=offsets <= n)")
    body = body.replace("x, mask=offsets < n", "x, mask=offsets <= n")
    together, alone, *_ = proposals(body, 3, "tl.load", "n")
    assert together == body.replace("<=", "<")
    assert alone == body.replace("<=", "<", 1)


def test_a_load_without_other_is_proposed_with_some_and_a_store_with_none() -> None:
    calls = [
        "mask=offsets < n)",
        "mask=offsets < n, other=0.0)",
        'mask=offsets < n, other=-float("inf"))',
    ]
    found = proposals(FORGOTTEN, 3, "tl.load", "n")
    assert all(
        f"tl.load(x_ptr + offsets, {call}" in one for call, one in zip(calls, found, strict=True)
    )
    given = FORGOTTEN.replace("+ offsets)\n", "+ offsets, None, 1.0)\n")
    [one] = proposals(given, 3, "tl.load", "n")
    assert "tl.load(x_ptr + offsets, offsets < n, 1.0)" in one
    [one] = proposals(FORGOTTEN.replace(", mask=offsets < n", ""), 4, "tl.store", "n")
    assert "tl.store(y_ptr + offsets, x, mask=offsets < n)" in one


def test_a_mask_and_other_are_added_to_a_load_with_a_mask() -> None:
    given = FORGOTTEN.replace("+ offsets)\n", "+ offsets, mask=offsets >= 0)\n")
    found = proposals(given, 3, "tl.load", "n")
    assert "mask=(offsets >= 0) & (offsets < n), other=0.0)" in found[1]


LOAD = "x = tl.load(x_ptr + offsets)"
SEVERAL_LINES = {
    "a comma": (
        "x = tl.load(\n        x_ptr\n        + offsets,  # all\n    )",
        "        + offsets,\n        mask=offsets < n,  # all\n    )",
    ),
    "no comma": (
        "x = tl.load(\n        (x_ptr + offsets)\n    )",
        "        (x_ptr + offsets),\n        mask=offsets < n,\n    )",
    ),
    "a last line with more": (
        "x = tl.load(x_ptr +\n        offsets)",
        "x = tl.load(x_ptr +\n        offsets, mask=offsets < n)",
    ),
    "another mask": (
        "x = tl.load(\n        x_ptr + offsets,\n        mask=offsets\n        >= 0,\n    )",
        "        mask=(offsets\n        >= 0) & (offsets < n),\n    )",
    ),
}


@pytest.mark.parametrize("name", SEVERAL_LINES)
def test_an_access_over_several_lines_gets_a_mask_that_proves_it(name: str) -> None:
    written, expected = SEVERAL_LINES[name]
    body = FORGOTTEN.replace(LOAD, written)
    whole = proposals(body, 3, "tl.load", "n")[0]
    assert expected in whole
    bounds = [proof_of(one, TYPES, CONTRACT, {"BLOCK": 128}).accesses[0] for one in (body, whole)]
    assert [one.bounds and one.bounds.verdict for one in bounds] == ["refuted", "proved"]


def test_the_place_of_an_access_over_several_lines_is_where_it_begins() -> None:
    body = FORGOTTEN.replace(LOAD, SEVERAL_LINES["a comma"][0])
    operation = proof_of(body, TYPES, CONTRACT, {"BLOCK": 128}).accesses[0].access.operation
    place = operation.locations[0]
    assert (place.line, place.column) == (BEFORE + 3, body.splitlines()[2].index("tl.load") + 1)


@pytest.mark.parametrize("extent", ["cdiv(n, 2)", "pages * n", "", "__import__('os')"])
def test_an_extent_that_the_kernel_cannot_say_makes_no_mask(extent: str) -> None:
    assert proposals(FORGOTTEN, 3, "tl.load", extent) == []


def test_another_place_gets_no_mask() -> None:
    assert proposals(FORGOTTEN, 2, "tl.program_id", "n") == []
