"""Certificates of proofs that need more than bounds: products, choices, whole numbers."""

import pytest

from proofs.worker.certificate_checker import check
from tests.proofs.compiled_ttir import proof_of

KERNELS = {
    "a product of sizes": (
        "    row = tl.program_id(0).to(tl.int64)\n"
        "    at = row * n + tl.arange(0, BLOCK)\n"
        "    tl.store(x_ptr + at, 0.0, mask=tl.arange(0, BLOCK) < n)\n",
        "sizes rows\nx_ptr: rows * n\ngrid: rows\n",
    ),
    "a minimum": (
        "    last = tl.minimum(tl.program_id(0), m - 1)\n"
        "    tl.store(x_ptr + last, 0.0)\n",
        "x_ptr: m\ngrid: n\n",
    ),
    "a choice": (
        "    at = tl.where(tl.program_id(0) < m, tl.program_id(0), 0)\n"
        "    tl.store(x_ptr + at, 0.0)\n",
        "x_ptr: m\ngrid: n\n",
    ),
    "quotient and remainder": (
        "    pid = tl.program_id(0)\n"
        "    tl.store(x_ptr + (pid // m).to(tl.int64) * m + pid % m, 0.0)\n",
        "x_ptr: n * m\ngrid: n * m\n",
    ),
    "whole blocks": (
        "    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "    tl.store(x_ptr + at, 0.0)\n",
        "x_ptr: n\nn % 16 == 0\ngrid: n // 16\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
def test_a_proof_has_a_certificate_that_checks(name: str) -> None:
    body, contract = KERNELS[name]
    head = "def kernel(x_ptr, n, m, BLOCK: tl.constexpr):\n"
    types = {"x_ptr": "*fp32", "n": "i32", "m": "i32"}
    proof = proof_of(head + body, types, contract, {"BLOCK": 16})
    [access] = proof.accesses
    assert access.bounds is not None
    assert access.bounds.verdict == "proved"
    claims = access.bounds.shown.claims
    shown = check(proof.prover.ledger.written(claims))
    assert claims
    assert all(shown[number] for number in claims)
