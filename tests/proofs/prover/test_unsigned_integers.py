"""TTIR does not mark unsigned integers: what fits as one of them is not taken for wrapped."""

import pytest

from launch.proof.proof_messages import AnswerReport
from tests.proofs.compiled_ttir import report_of

BYTES = {"x_ptr": "*fp32", "i_ptr": "*u8"}
WORDS = {"x_ptr": "*fp32", "n": "u32", "m": "u32"}
SIGNED = {"x_ptr": "*fp32", "n": "i32", "m": "i32"}


def overflow_at(index: str, types: dict[str, str], contract: str) -> AnswerReport:
    """Return the answer about a store at an index, which uses n, m, or a loaded v."""
    load = "    v = tl.load(i_ptr)\n" if "i_ptr" in types else ""
    body = f"def kernel({', '.join(types)}):\n{load}    tl.store(x_ptr + ({index}), 0.0)\n"
    return report_of(body, types, contract).accesses[-1].answers["overflow"]


def of_bytes(index: str, values: str) -> AnswerReport:
    contract = f"x_ptr: 512\ni_ptr: 1\nvalues i_ptr: {values}\n"
    return overflow_at(index, BYTES, contract)


def test_a_sum_that_fits_a_byte_is_not_refuted() -> None:
    found = of_bytes("v + v", "0 .. 100")
    assert found.verdict == "unknown"
    assert "as an unsigned one it fits" in found.reason
    assert of_bytes("v + v", "0 .. 60").verdict == "proved"


def test_a_sum_that_no_byte_holds_is_refuted() -> None:
    assert of_bytes("v + v + v", "0 .. 100").verdict == "refuted"
    assert of_bytes("(v + v + v).to(tl.int32)", "0 .. 100").verdict == "refuted"


@pytest.mark.parametrize("index", ["v + v", "tl.minimum(v, 200) + v", "(v + 0) * 2"])
def test_a_sum_of_bytes_that_fits_only_where_they_look_negative_is_not_proved(index: str) -> None:
    """192 + 192 is 128 as a byte, and -64 + -64 would fit a signed one."""
    assert of_bytes(index, "192 .. 256").verdict != "proved"
    assert of_bytes(index, "0 .. 60").verdict == "proved"
    assert of_bytes("v.to(tl.int32) + v", "192 .. 256").verdict == "proved"


@pytest.mark.parametrize("index", ["v - 60", "v + v - 100", "v * 2 - 60", "v // 2 * 3"])
def test_what_fits_where_a_byte_is_above_127_is_not_refuted(index: str) -> None:
    assert of_bytes(index, "60 .. 128").verdict != "refuted"
    assert of_bytes("v - 60", "60 .. 256").verdict != "refuted"


@pytest.mark.parametrize("index", ["n + m - 1", "(n + m) // 2", "tl.minimum(n + m, 5)"])
def test_a_sum_of_unsigned_scalars_is_not_refuted(index: str) -> None:
    found = overflow_at(index, WORDS, "x_ptr: n + m\n")
    assert found.verdict == "unknown"
    assert "as an unsigned one it fits" in found.reason


def test_a_product_of_unsigned_scalars_that_wraps_is_refuted() -> None:
    assert overflow_at("n * m", WORDS, "x_ptr: n * m + 1\n").verdict == "refuted"


@pytest.mark.parametrize("index", ["n + m - 1", "(n + m - 1).to(tl.int64)", "(n + m) // 2"])
def test_a_sum_that_something_reads_as_signed_is_refuted(index: str) -> None:
    assert overflow_at(index, SIGNED, "x_ptr: n + m\n").verdict == "refuted"


def test_a_sum_that_is_made_signed_is_refuted() -> None:
    found = overflow_at("(n + m - 1).to(tl.int32)", WORDS, "x_ptr: n + m\n")
    assert found.verdict == "refuted"


@pytest.mark.parametrize(
    ("kind", "verdict"), [("uint32", "unknown"), ("int32", "possible"), ("int64", "proved")]
)
def test_what_a_loop_or_a_branch_carries_keeps_how_it_is_read(kind: str, verdict: str) -> None:
    body = f"""def kernel(x_ptr, n, m):
    at = n.to(tl.{kind})
    for _ in range(3):
        at += m.to(tl.{kind})
    if n > m:
        at += m.to(tl.{kind})
    tl.store(x_ptr + at, 0.0)
"""
    contract = "x_ptr: n + 4 * m + 1\nn <= 1000000000\nm <= 800000000\n"
    [store] = report_of(body, SIGNED, contract).accesses
    assert store.answers["overflow"].verdict == verdict


def test_a_narrowed_number_that_fits_a_byte_is_not_refuted() -> None:
    body = "def kernel(x_ptr, n):\n    tl.store(x_ptr + n.to(tl.uint8), 0.0)\n"
    types = {"x_ptr": "*fp32", "n": "i32"}
    for most, verdict in ((127, "proved"), (255, "unknown"), (256, "refuted")):
        [store] = report_of(body, types, f"x_ptr: 512\nn <= {most}\n").accesses
        assert store.answers["overflow"].verdict == verdict


def test_a_mask_that_compares_unsigned_sums_is_not_refuted() -> None:
    body = """def kernel(x_ptr, n, m):
    at = n + m + tl.arange(0, 16).to(tl.uint32)
    tl.store(x_ptr + tl.arange(0, 16), 0.0, mask=MASK)
"""
    for mask in ("at < 7", "at == 7", "at + at == 1"):
        [store] = report_of(body.replace("MASK", mask), WORDS, "x_ptr: 16\n").accesses
        found = store.answers["overflow"].verdict
        assert found == ("refuted" if "+" in mask else "unknown")
