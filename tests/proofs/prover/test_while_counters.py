"""The counter of a `while` loop fits as long as its condition held in the turn before."""

from collections import Counter

import pytest

from compiler.proof.binding import SizeLimits
from tests.proofs.compiled_ttir import proof_of, ttir_of
from tests.proofs.rechecked_proof import Effort, KernelToProve, rechecked_proof

TYPES = {"y_ptr": "*fp32", "n": "i32"}
BY_FOUR = """def kernel(y_ptr, n):
    i = 0
    while i < n:
        tl.store(y_ptr + i, 1.0)
        i += 4
"""
GRID_STRIDE = """def kernel(y_ptr, n, B: tl.constexpr):
    start = tl.program_id(0) * B
    while start < n:
        at = start + tl.arange(0, B)
        tl.store(y_ptr + at, 1.0, mask=at < n)
        start += tl.num_programs(0) * B
"""
DOWN = """def kernel(y_ptr, n):
    i = n - 1
    while i >= 0:
        tl.store(y_ptr + i, 1.0)
        i -= 2
"""
CONTRACTS = {
    BY_FOUR: "y_ptr: n\n",
    GRID_STRIDE: "y_ptr: n\ngrid: cdiv(n, 2 * B)\n",
    DOWN: "y_ptr: n\n",
}


@pytest.mark.parametrize("body", CONTRACTS, ids=["by four", "grid stride", "down"])
def test_a_counter_that_its_condition_bounds_does_not_wrap(body: str) -> None:
    constants = {"B": 64} if "B:" in body else {}
    proof = proof_of(body, TYPES, CONTRACTS[body], constants)
    assert [one.overflow.verdict for one in proof.accesses if one.overflow] == ["proved"]
    assert [one.bounds.verdict for one in proof.accesses if one.bounds] == ["proved"]
    text = ttir_of(body, TYPES, constants)
    kernel = KernelToProve("", body, text, list(TYPES), CONTRACTS[body], constants)
    assert rechecked_proof(kernel, Effort(2.0), Counter()) == []


def test_a_counter_that_passes_the_largest_integer_is_refuted() -> None:
    limits = SizeLimits(2**31 - 1, 2**36)
    proof = proof_of(BY_FOUR, TYPES, "y_ptr: n\n", limits=limits)
    [store] = proof.accesses
    assert store.overflow is not None
    assert store.overflow.verdict == "refuted"


@pytest.mark.parametrize("condition", ["i * i < n", "i < tl.load(y_ptr + i).to(tl.int32)"])
def test_a_condition_that_may_be_wrong_itself_bounds_nothing(condition: str) -> None:
    body = BY_FOUR.replace("i < n:", f"{condition}:").replace("y_ptr + i,", "y_ptr + i % n,")
    [*_, store] = proof_of(body, TYPES, "y_ptr: n\n").accesses
    assert store.overflow is not None
    assert store.overflow.verdict != "proved"
