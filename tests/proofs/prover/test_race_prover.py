from typing import Any

import pytest

from tests.proofs.compiled_ttir import report_of

TYPES = {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"}
CONTRACT = "x_ptr: n\ny_ptr: n\ngrid: cdiv(n, BLOCK)\n"
TILES = """def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * STEP + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)
"""


def race(body: str, contract: str = CONTRACT, **changes: Any) -> Any:
    report = report_of(body, TYPES | changes, contract, {"BLOCK": 64}, checks=["races"])
    return report.accesses[-1].answers["race"]


def test_tiles_that_follow_each_other_do_not_race() -> None:
    assert race(TILES.replace("STEP", "BLOCK")).verdict == "proved"


def test_tiles_that_overlap_race_and_both_programs_are_replayed() -> None:
    found = race(TILES.replace("STEP", "(BLOCK - 1)"))
    assert found.verdict == "refuted"
    assert found.witness.program != found.witness.other_program
    assert "write y_ptr[63]: a program covers 64 elements" in found.witness.message


def test_rows_of_a_matrix_do_not_race() -> None:
    body = """def kernel(y_ptr, stride, n, BLOCK: tl.constexpr):
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + tl.program_id(0) * stride + columns, 0.0, mask=columns < n)
"""
    contract = "sizes rows\ny_ptr: rows * stride\nn <= stride\ngrid: rows, cdiv(n, BLOCK)\n"
    types = {"y_ptr": "*fp32", "stride": "i32", "n": "i32"}
    report = report_of(body, types, contract, {"BLOCK": 64}, checks=["races"])
    assert report.accesses[0].answers["race"].verdict == "proved"


def test_sums_by_atomics_commute_and_exchanges_do_not() -> None:
    body = """def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    tl.atomic_KIND(y_ptr, 1.0)
"""
    assert race(body.replace("KIND", "add")).verdict == "proved"
    assert race(body.replace("KIND", "xchg")).verdict == "possible"


def test_atomics_of_one_block_alone_do_not_keep_programs_apart() -> None:
    body = """def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    tl.atomic_add(y_ptr, 1.0, scope="cta")
"""
    assert race(body).verdict == "possible"


def test_sums_of_other_types_do_not_commute() -> None:
    body = """def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    tl.atomic_add(y_ptr, tl.full([], 1.0, tl.float16))
    other_ptr = y_ptr.to(tl.pointer_type(tl.bfloat16), bitcast=True)
    tl.atomic_add(other_ptr, tl.full([], 1.0, tl.bfloat16))
"""
    assert race(body, y_ptr="*fp16").verdict == "possible"


def test_what_one_program_writes_another_may_not_read() -> None:
    body = """def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0)
    other = tl.load(y_ptr + (n - 1 - at))
    tl.store(y_ptr + at, other)
"""
    found = race(body, "x_ptr: n\ny_ptr: n\ngrid: n\n")
    assert found.verdict == "refuted"
    assert "use y_ptr" in found.witness.message


def test_an_index_that_may_be_loaded_twice_races() -> None:
    body = """def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.load(x_ptr + tl.program_id(0))
    tl.store(y_ptr + at, 1.0)
"""
    found = race(body, CONTRACT + "values x_ptr: 0 .. n\n", x_ptr="*i32")
    assert found.verdict == "refuted"
    assert found.witness.message.endswith("write y_ptr[0]")


def test_tiles_that_a_descriptor_stores_do_not_race() -> None:
    body = """def kernel(y_ptr, m, n, BLOCK: tl.constexpr):
    tiles = tl.make_tensor_descriptor(y_ptr, [m, n], [n, 1], [BLOCK, BLOCK])
    at = tl.program_id(0) * BLOCK, tl.program_id(1) * STEP
    tiles.store([at[0], at[1]], tl.zeros((BLOCK, BLOCK), tl.float32))
"""
    contract = "y_ptr: m * n\nn % 4 == 0\ngrid: cdiv(m, BLOCK), cdiv(n, BLOCK)\n"
    types = {"y_ptr": "*fp32", "m": "i32", "n": "i32"}
    verdicts = []
    for step in ("BLOCK", "(BLOCK - 8)"):
        made = report_of(
            body.replace("STEP", step), types, contract, {"BLOCK": 64}, checks=["bounds", "races"]
        )
        verdicts += [made.accesses[0].answers[check].verdict for check in ("bounds", "race")]
    assert verdicts == ["proved", "proved", "proved", "refuted"]


GROUPED = """def kernel(y_ptr, m, n, BLOCK: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(m, BLOCK), tl.cdiv(n, 32)
    in_group = GROUP * tiles_n
    group = pid // in_group
    first = group * GROUP
    rows = min(tiles_m - first, GROUP)
    tile_m = first + (pid % in_group) % rows
    tile_n = (pid % in_group) // rows
    at_m = tile_m * BLOCK + tl.arange(0, BLOCK)[:, None]
    at_n = tile_n * 32 + tl.arange(0, 32)[None, :]
    tl.store(y_ptr + at_m * n + at_n, 0.0, mask=(at_m < m) & (at_n < n))
"""


def race_of_tiles(body: str, grid: str) -> str:
    types = {"y_ptr": "*fp32", "m": "i32", "n": "i32"}
    constants = {"BLOCK": 64, "GROUP": 8}
    made = report_of(body, types, f"y_ptr: m * n\ngrid: {grid}\n", constants, checks=["races"])
    return str(made.accesses[0].answers["race"].verdict)


def test_tiles_that_programs_visit_in_groups_do_not_race() -> None:
    assert race_of_tiles(GROUPED, "cdiv(m, BLOCK) * cdiv(n, 32)") == "proved"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("group * GROUP", "group * (GROUP - 1)"),
        ("pid // in_group", "pid // (in_group + 1)"),
        ("(pid % in_group) // rows", "(pid % in_group) // GROUP"),
    ],
)
def test_tiles_of_a_group_that_is_counted_wrong_race(right: str, wrong: str) -> None:
    body = GROUPED.replace(right, wrong)
    assert race_of_tiles(body, "cdiv(m, BLOCK) * cdiv(n, 32)") == "refuted"


def test_swizzled_tiles_do_not_race() -> None:
    swizzled = "tl.swizzle2d(*pid, tl.num_programs(0), tl.num_programs(1), GROUP)"
    head, _, rest = GROUPED.partition("    pid = tl.program_id(0)\n")
    body = head + "    pid = tl.program_id(0), tl.program_id(1)\n"
    body += f"    tile_m, tile_n = {swizzled}\n" + rest[rest.index("    at_m") :]
    assert race_of_tiles(body, "cdiv(m, BLOCK), cdiv(n, 32)") == "proved"


FROM_ONE_PLACE = """def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + tl.load(x_ptr + INDEX) + at, 1.0, mask=at < n)
"""


@pytest.mark.parametrize(
    ("index", "verdict"),
    [("0", "proved"), ("n - 1", "proved"), ("tl.program_id(0)", "refuted"), ("0, n > 2", "proved")],
)
def test_programs_load_one_offset_from_one_place(index: str, verdict: str) -> None:
    contract = "x_ptr: n\ny_ptr: n + 200\nvalues x_ptr: 0 .. 200\ngrid: cdiv(n, BLOCK)\n"
    body = FROM_ONE_PLACE.replace("INDEX", index)
    found = race(body, contract, x_ptr="*i32").verdict
    assert found == verdict if "," not in index else found != "proved"


def test_a_witness_holds_what_both_programs_load() -> None:
    body = """def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.load(x_ptr + tl.program_id(0))
    tl.store(y_ptr + at, 1.0, mask=at > 0)
"""
    contract = "x_ptr: n\ny_ptr: 200\nvalues x_ptr: 0 .. 200\ngrid: n\n"
    found = race(body, contract, x_ptr="*i32")
    assert found.verdict == "refuted"
    assert set(found.witness.values["x_ptr"]) == {"0", "1"}


def test_an_offset_that_a_program_may_write_is_not_the_same_in_all() -> None:
    for write in ("tl.store(x_ptr, 5)", "tl.atomic_add(x_ptr, 1)"):
        body = FROM_ONE_PLACE.replace("INDEX", "0") + f"    {write}\n"
        report = report_of(
            body, TYPES | {"x_ptr": "*i32"}, "x_ptr: n\ny_ptr: n + 200\ngrid: cdiv(n, BLOCK)\n",
            {"BLOCK": 64}, checks=["races"],
        )  # fmt: skip
        assert report.accesses[1].answers["race"].verdict != "proved"


EXTREME = """def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x_ptr + at, mask=at < n)
    VALUE
"""


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize("mask", ["", ", mask=at < n"])
@pytest.mark.parametrize("element", ["fp32", "fp64"])
def test_extremes_of_floats_commute(kind: str, mask: str, element: str) -> None:
    body = EXTREME.replace("VALUE", f"tl.atomic_{kind}(y_ptr + at * 0, value{mask})")
    types = TYPES | {"x_ptr": f"*{element}", "y_ptr": f"*{element}"}
    report = report_of(body, types, CONTRACT, {"BLOCK": 64}, checks=["races"])
    assert [one.answers["race"].verdict for one in report.accesses[1:]] == ["proved", "proved"]


@pytest.mark.parametrize(
    "operations",
    [
        ("max(y_ptr, 1.0)", "min(y_ptr, 2.0)"),
        ("max(bits, value)", "min(wide, value.to(tl.uint32))"),
        ("max(bits, value, mask=value > 5)", "min(wide, value.to(tl.uint32), mask=value < 0)"),
    ],
)
def test_a_maximum_and_a_minimum_do_not_commute(operations: tuple[str, str]) -> None:
    body = """def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    bits = y_ptr.to(tl.pointer_type(tl.int32), bitcast=True)
    wide = y_ptr.to(tl.pointer_type(tl.uint32), bitcast=True)
    value = tl.load(x_ptr + tl.program_id(0)).to(tl.int32)
"""
    body += "".join(f"    tl.atomic_{one}\n" for one in operations)
    assert race(body, "x_ptr: n\ny_ptr: n\ngrid: n\n").verdict in ("possible", "unknown")


@pytest.mark.parametrize(("step", "verdict"), [("BLOCK", "proved"), ("(BLOCK - 8)", "refuted")])
def test_rows_that_a_descriptor_scatters_to_do_not_race(step: str, verdict: str) -> None:
    body = f"""def kernel(y_ptr, n, BLOCK: tl.constexpr):
    rows = tl.make_tensor_descriptor(y_ptr, [n, 64], [64, 1], [1, 64])
    at = tl.program_id(0) * {step} + tl.arange(0, BLOCK)
    rows.scatter(tl.zeros((BLOCK, 64), tl.float32), at, 0)
"""
    contract = "y_ptr: n * 64\ngrid: cdiv(n, BLOCK)\n"
    types = {"y_ptr": "*fp32", "n": "i32"}
    report = report_of(body, types, contract, {"BLOCK": 32}, checks=["bounds", "races"])
    answers = report.accesses[0].answers
    assert [answers[check].verdict for check in ("bounds", "race")] == ["proved", verdict]


def test_rows_that_are_loaded_may_race() -> None:
    body = """def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    rows = tl.make_tensor_descriptor(y_ptr, [n, 64], [64, 1], [1, 64])
    at = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    rows.scatter(tl.zeros((BLOCK, 64), tl.float32), at, 0)
"""
    contract = "sizes g\nx_ptr: g * BLOCK\ny_ptr: n * 64\ngrid: g\n"
    assert race(body, contract, x_ptr="*i32").verdict != "proved"
