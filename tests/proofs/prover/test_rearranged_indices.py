"""Indices that are flipped, sorted, gathered, put together or swizzled stay where they were."""

import pytest

from tests.proofs.compiled_ttir import report_of
from tests.proofs.recheck.bits import rechecked as by_bits
from tests.proofs.recheck.running import outcomes
from tests.proofs.recheck.running import rechecked as by_running

TYPES = {"y_ptr": "*fp32", "n": "i32"}
TILE = "tl.program_id(0) * 8 + tl.arange(0, 8)"
LIMIT = "n <= 1000000\ngrid: n\n"
REARRANGED = {
    "flipped": f"tl.flip({TILE})",
    "sorted": f"tl.sort({TILE})",
    "put together": "tl.program_id(0) * 8 + tl.cat(tl.arange(0, 4), 4 + tl.arange(0, 4))",
    "in any order": (
        "tl.program_id(0) * 8 + tl.cat(tl.arange(0, 4), 4 + tl.arange(0, 4), can_reorder=True)"
    ),
    "gathered": f"tl.gather({TILE}, (tl.arange(0, 8) * 5) % 8, 0)",
    "counted": "tl.program_id(0) * 8 + tl.histogram(tl.arange(0, 4), 8)",
    "swizzled in a tile": f"(({TILE}) ^ (tl.program_id(0) % 8))",
}


def kernel_of(index: str) -> str:
    return f"def kernel(y_ptr, n):\n    tl.store(y_ptr + {index}, 1.0)\n"


@pytest.mark.filterwarnings("ignore:tl.cat")
@pytest.mark.parametrize("index", REARRANGED.values(), ids=REARRANGED.keys())
def test_a_tile_of_which_the_elements_are_moved_stays_in_bounds(index: str) -> None:
    contract = "y_ptr: n * 8\n" + LIMIT
    answers = report_of(kernel_of(index), TYPES, contract).accesses[0].answers
    assert {check: one.verdict for check, one in answers.items()} == dict.fromkeys(
        ("bounds", "overflow"), "proved"
    )
    assert outcomes(by_running(kernel_of(index), TYPES, contract), "bounds") == ["agrees"]
    assert outcomes(by_bits(kernel_of(index), TYPES, contract), "bounds") == ["agrees"]


@pytest.mark.filterwarnings("ignore:tl.cat")
@pytest.mark.parametrize("index", REARRANGED.values(), ids=REARRANGED.keys())
def test_a_tile_that_is_too_long_is_not_proved(index: str) -> None:
    contract = "y_ptr: n * 8 - 5\n" + LIMIT
    assert report_of(kernel_of(index), TYPES, contract).accesses[0].answers["bounds"].verdict in (
        "refuted", "possible", "unknown",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("index", "verdict"),
    [
        ("(tl.program_id(0) ^ 5)", "proved"),
        ("(tl.program_id(0) ^ (n % 4))", "proved"),
        (f"(({TILE}) ^ (tl.program_id(0) % 8))", "proved"),
        (f"(({TILE}) ^ (tl.program_id(0) % 16))", "unknown"),
        ("(tl.program_id(0) | 5)", "unknown"),
    ],
)
def test_swizzled_programs_do_not_race(index: str, verdict: str) -> None:
    contract = "y_ptr: n * 8 + 16\n" + LIMIT
    [access] = report_of(kernel_of(index), TYPES, contract, checks=["races"]).accesses
    assert access.answers["race"].verdict == verdict
    if verdict == "proved":
        assert outcomes(by_running(kernel_of(index), TYPES, contract), "race") == ["agrees"]


def test_a_gathered_index_beyond_its_source_may_be_anything() -> None:
    body = kernel_of("tl.gather(tl.arange(0, 8), tl.arange(0, 8) + n, 0)")
    assert (
        report_of(body, TYPES, "y_ptr: n + 8\n").accesses[0].answers["bounds"].verdict == "unknown"
    )


@pytest.mark.parametrize(
    ("tile", "element"),
    [
        ("tl.load(t_ptr + r)", "tl.gather(tile, (i + r * 0) % 16, 0)"),
        ("tl.sum(tl.load(t_ptr + r)[:, None], 1)", "tl.gather(tile, (i + r * 0) % 16, 0)"),
        ("tl.load(t_ptr + r)", "tl.reduce((tl.load(k_ptr + i * 16 + r), tile), 0, last)[1]"),
    ],
    ids=["gathered", "gathered from sums", "chosen by another tile"],
)
def test_each_turn_may_read_another_element_of_a_tile(tile: str, element: str) -> None:
    body = f"""def kernel(t_ptr, k_ptr, y_ptr):
    r = tl.arange(0, 16)
    tile = {tile}
    total = r * 0
    for i in range(0, 8):
        total += {element}
    tl.store(y_ptr + total % 8, 1.0)


@triton.jit
def last(a, b, c, d):
    return tl.where(a > c, a, c), tl.where(a > c, b, d)
"""
    types = {"t_ptr": "*i32", "k_ptr": "*fp32", "y_ptr": "*fp32"}
    contract = "t_ptr: 16\nk_ptr: 128\ny_ptr: 1\nvalues t_ptr: 0 .. 1000\n"
    *_, store = report_of(body, types, contract).accesses
    assert store.answers["bounds"].verdict == "unknown"
