"""Facts of a name restrict no other name: some value of it fits whatever the others have."""

import random
from contextlib import suppress

import pytest
from triton.compiler.errors import CompilationError

from compiler.proof.binding import SizeLimits
from compiler.proof.logic import at_least
from compiler.proof.polynomial import name
from compiler.proof.proof_limits import ProofLimitReached, Unsupported
from launch.contract.text import read_contract
from tests.proofs.completed_values import name_without_value
from tests.proofs.prover.test_where_facts_hold import NOT_RUN, WRAPPED, Kernel
from tests.proofs.random_kernels import proof_of_random, random_kernel

KERNELS = NOT_RUN | WRAPPED
DRAWS = 30
LARGE = SizeLimits(elements=2**62)
"""Products of large sizes, which exceed their types, are extents then."""


def contradicted(kernel: Kernel, drawn: random.Random) -> set[str | None]:
    contract, proof = read_contract(kernel.contract), kernel.proof("bounds", limits=LARGE)
    arguments = proof.prover, contract, kernel.constexprs, LARGE, drawn
    return {name_without_value(*arguments) for _ in range(DRAWS)}


@pytest.mark.parametrize("case", KERNELS)
def test_every_name_has_a_value_for_all_values_of_the_others(case: str) -> None:
    assert contradicted(KERNELS[case], random.Random(case)) == {None}


def test_a_fact_of_a_name_that_restricts_another_is_noticed() -> None:
    kernel = WRAPPED["or with a product"]
    proof = kernel.proof("overflow")
    [bits] = [text for text in proof.prover.unknowns.known if text.startswith("value#")]
    proof.prover.unknowns.known[bits].facts.append(at_least(100, name("n") * name("m")))
    contract, drawn = read_contract(kernel.contract), random.Random("1")
    arguments = proof.prover, contract, kernel.constexprs, SizeLimits(), drawn
    assert bits in {name_without_value(*arguments) for _ in range(DRAWS)}


@pytest.mark.parametrize(
    "number", [*range(3), *[pytest.param(one, marks=pytest.mark.slow) for one in range(3, 60)]]
)
def test_every_name_of_a_random_kernel_has_a_value(number: int) -> None:
    drawn = random.Random(f"values {number}")
    while True:  # not every random text compiles, or has sizes that keep its contract
        kernel = random_kernel(drawn)
        with suppress(CompilationError, Unsupported, ProofLimitReached, LookupError):
            proved = proof_of_random(kernel)
            arguments = proved.contract, kernel.constants, kernel.limits, drawn
            draws = {name_without_value(proved.proof.prover, *arguments) for _ in range(DRAWS)}
            assert draws == {None}
            return
