"""`make fuzz-proofs` shows a false proof, and reads narrow integers where it is to."""

import random
from collections import Counter
from dataclasses import replace
from unittest.mock import patch

import pytest

from compiler.proof.binding import SizeLimits
from launch.recheck.recheck_messages import AccessRecheck, CheckRecheck, RecheckReport
from tests.proofs import rechecked_proof
from tests.proofs.compiled_ttir import ttir_of
from tests.proofs.narrow_world import has_narrow_constants, narrow_world
from tests.proofs.random_language import larger_random_kernel
from tests.proofs.rechecked_proof import Effort, KernelToProve, proof_report, reproduction

BODY = """def kernel(y_ptr, n, m):
    tl.store(y_ptr + n * m - 1, 1.0)
"""
TYPES = {"y_ptr": "*fp32", "n": "i32", "m": "i32"}
PRODUCT = KernelToProve(
    "a product", BODY, ttir_of(BODY, TYPES, {}), list(TYPES), "y_ptr: n * m\n", {}, SizeLimits(15)
)


def verdicts(kernel: KernelToProve) -> dict[str, str]:
    """Return the prover's answer about the only access."""
    [access] = proof_report(kernel).accesses
    return {check: answer.verdict for check, answer in access.answers.items()}


@pytest.mark.parametrize("is_narrow", [False, True])
def test_a_false_proof_is_shown_with_all_that_reproduces_it(is_narrow: bool) -> None:
    kernel = replace(PRODUCT, contract="y_ptr: n * m - 1\n", limits=SizeLimits(7))
    proved = proof_report(replace(PRODUCT, limits=SizeLimits(7)))
    counts: Counter[str] = Counter()
    with patch.object(rechecked_proof, "proof_report", lambda _: proved):
        seen = rechecked_proof.rechecked_proof(kernel, Effort(1, is_narrow=is_narrow), counts)
    assert [one.check for one in seen] == ["bounds"]
    assert counts["contradictions"] == 1
    shown = reproduction(kernel, seen)
    assert BODY in shown
    assert kernel.contract in shown
    assert "n = " in shown


def test_a_true_proof_agrees() -> None:
    counts: Counter[str] = Counter()
    assert rechecked_proof.rechecked_proof(PRODUCT, Effort(1), counts) == []
    assert counts["bounds: bit-vectors agrees"] == counts["overflow: bit-vectors agrees"] == 1


WRAPPING = replace(PRODUCT, limits=SizeLimits(2**31 - 1, 2**36))


@pytest.mark.parametrize("is_narrow", [False, True])
def test_where_integers_may_wrap_only_what_runs_saw_broken_is_asked(is_narrow: bool) -> None:
    kernel = PRODUCT if is_narrow else WRAPPING
    counts: Counter[str] = Counter()
    effort = Effort(1, is_narrow=is_narrow)
    assert rechecked_proof.rechecked_proof(kernel, effort, counts) == []
    assert counts == {"kernels with nothing proved": 1}


def test_a_proof_that_runs_contradict_is_shown_where_integers_may_wrap() -> None:
    [access] = proof_report(WRAPPING).accesses
    broken = CheckRecheck(outcome="violated", message="writes y_ptr[8] of 8 elements")
    seen = AccessRecheck(
        kind="store", line=access.line, column=access.column, checks={"bounds": broken}
    )
    with patch.object(rechecked_proof, "_by_running", lambda *_: RecheckReport(accesses=[seen])):
        [shown] = rechecked_proof.rechecked_proof(WRAPPING, Effort(1), Counter())
    assert (shown.recheck, shown.check, shown.seen) == ("by running", "bounds", broken)


def test_a_product_wraps_at_small_sizes_in_a_narrow_world() -> None:
    assert verdicts(PRODUCT)["overflow"] == "proved"
    with narrow_world():
        assert verdicts(PRODUCT)["overflow"] == "refuted"
        assert verdicts(replace(PRODUCT, limits=SizeLimits(11)))["overflow"] == "proved"


def test_the_bit_vectors_of_a_narrow_world_wrap_where_its_prover_is_wrong() -> None:
    proved = proof_report(PRODUCT)
    with patch.object(rechecked_proof, "proof_report", lambda _: proved):
        seen = rechecked_proof.rechecked_proof(PRODUCT, Effort(1, is_narrow=True), Counter())
    assert [one.check for one in seen] == ["overflow"]
    assert seen[0].seen.sizes["n"] * seen[0].seen.sizes["m"] > 127


@pytest.mark.parametrize(("number", "is_narrow"), [(127, True), (128, False)])
def test_a_constant_beyond_8_bits_is_not_of_a_narrow_world(number: int, is_narrow: bool) -> None:
    body = f"def kernel(y_ptr, n):\n    tl.store(y_ptr + n // {number}, 1.0)\n"
    assert has_narrow_constants(ttir_of(body, {"y_ptr": "*fp32", "n": "i32"}, {})) is is_narrow


def test_random_kernels_have_all_of_the_larger_language() -> None:
    bodies = [larger_random_kernel(random.Random(number)).body for number in range(100)]
    parts = (
        "make_tensor_descriptor", "while ", "return", "atomic_add", "tl.load(i_ptr", "y_ptr + at",
        ", -1):", " | ", " ^ ", "[1]", "q[0]", "tl.flip(", "tl.gather(", "tl.cat(", "tl.histogram(",
    )  # fmt: skip
    assert {part: any(part in body for body in bodies) for part in parts} == dict.fromkeys(
        parts, True
    )
