"""Sizes that are looked for: a witness, or evidence that an access is reached."""

from compiler.proof.logic import Truth, at_least
from compiler.proof.polynomial import lift, name
from compiler.proof.solver import Effort
from compiler.proof.witness import is_satisfiable


def test_a_truth_value_is_what_its_formula_needs_next_to_its_range() -> None:
    n, blocks, quotient, half, truth, program, lane = map(
        name, ("n", "blocks", "quotient", "half", "truth", "program", "lane")
    )
    formulas = [
        Truth("truth", True),
        *(at_least(lift(1 << 30), size) for size in (n, blocks)),
        *(at_least(size, lift(1)) for size in (n, blocks)),
        at_least(lift(1 << 33), quotient),
        at_least(n, half),
        at_least(quotient, lift(1)),
        at_least(n + 511, lift(512) * quotient),
        at_least(lift(512) * quotient, n),
        at_least(n, lift(2) * half),
        at_least(lift(2) * half + 1, n),
        at_least(half),
        at_least(truth),
        at_least(lift(1), truth),
        at_least(program),
        at_least(quotient, program + 1),
        at_least(lane),
        at_least(lift(7), lane),
    ]
    assert is_satisfiable(formulas, ["n", "blocks"], Effort())
