"""Facts of a name restrict no other name: some value of it fits whatever the others have.

Each name of a proof gets some value, one after the other. A fact that some earlier values
contradict is about these, and would prove what does not hold where the name has no value, or where
an integer does not fit.
"""

import random
from collections.abc import Iterator, Mapping
from contextlib import suppress

import pytest
from triton.compiler.errors import CompilationError

from compiler.proof.binding import SizeLimits
from compiler.proof.contract import Contract
from compiler.proof.logic import Formula, at_least, either, holds, names_of, opposite, polynomials
from compiler.proof.obligations import Prover
from compiler.proof.polynomial import name
from compiler.proof.proof_limits import ProofLimitReached, Unsupported
from compiler.proof.unknowns import INFINITY, Unknown
from launch.contract.text import read_contract
from tests.proofs.drawn_sizes import drawn_sizes
from tests.proofs.prover.test_where_facts_hold import NOT_RUN, WRAPPED, Kernel
from tests.proofs.random_kernels import proof_of_random, random_kernel

_FAR = 2**40
"""Values of names without bounds are drawn up to here."""


def name_without_value(
    prover: Prover,
    contract: Contract,
    constants: Mapping[str, int],
    limits: SizeLimits,
    drawn: random.Random,
) -> str | None:
    """Return a name whose facts the drawn values of earlier names contradict, None without any.

    Raises LookupError if no sizes were found that keep the contract.
    """
    arguments = prover.contract.arguments
    bits = {
        text: int(kind[1:])
        for text, kind in arguments.items()
        if kind[:1] == "i" and kind[1:].isdigit() and kind != "i1"
    }
    values = drawn_sizes(contract, bits, constants, limits, drawn)
    for text in _in_order(prover.unknowns.known):
        known = prover.unknowns.known[text]
        if text not in values:
            value = _some_value(text, known, values, drawn)
            if value is None:
                return text
            values[text] = value
    return None


def _in_order(known: Mapping[str, Unknown]) -> list[str]:
    """Return names, each after those in its facts."""
    done: dict[str, None] = {}

    def add(text: str) -> None:
        if text in done or text not in known:
            return
        for fact in _facts(known[text]):
            for other in sorted(names_of(fact) - {text}):
                add(other)
        done[text] = None

    for text in known:
        add(text)
    return list(done)


def _facts(known: Unknown) -> list[Formula]:
    nowhere = [opposite(part) for part in known.guard]
    return [either(*nowhere, fact) for fact in known.facts]


def _some_value(
    text: str, known: Unknown, values: dict[str, int], drawn: random.Random
) -> int | None:
    facts = _facts(known)
    low, high = known.range.interval
    fitting = []
    for value in {*_candidates(text, known, facts, values), *_between(low, high, drawn)}:
        everything = _WithUnnamed({**values, text: value})
        if low <= value <= high and all(holds(fact, everything) for fact in facts):
            fitting.append(value)
    return drawn.choice(sorted(fitting)) if fitting else None


def _candidates(
    text: str, known: Unknown, facts: list[Formula], values: dict[str, int]
) -> Iterator[int]:
    """Yield the values at which a fact changes, and those next to them: facts are linear in them.

    A fact that holds anywhere holds at one of these.
    """
    yield from (int(end) for end in known.range.interval if abs(end) < INFINITY)
    yield from (0, 1)
    for fact in facts:
        for line in polynomials(fact):
            at_0, at_1 = (line.value(_WithUnnamed({**values, text: x})) for x in (0, 1))
            if at_1 != at_0:
                root = -at_0 // (at_1 - at_0)
                yield from (root - 1, root, root + 1)


def _between(low: float, high: float, drawn: random.Random) -> Iterator[int]:
    first, last = int(max(low, -_FAR)), int(min(high, _FAR))
    for _ in range(3):
        if first <= last:
            yield drawn.randint(first, last)
            yield max(first, min(drawn.randint(-20, 20), last))


class _WithUnnamed(dict[str, int]):
    """Values by name; one that nothing is known of is 0."""

    def __missing__(self, text: str) -> int:
        return 0


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
