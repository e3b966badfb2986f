"""A question about bits and the same one about integers have the same answers."""

import random

import pytest
import z3

from compiler.recheck.bit_ranges import Ranges
from compiler.recheck.integer_form import IntegerForm

WIDTH = 5
LARGE = 1 << WIDTH
A, B, C = z3.BitVecs("a b c", WIDTH)
P = z3.Bool("p")
LINEAR = (
    "+",
    "-",
    "scaled",
    "neg",
    "if",
    "<<",
    ">>",
    "lshr",
    "&",
    "//",
    "%",
    "cut",
    "sext",
    "zext",
)
PRODUCTS = ("*", "sdiv", "srem", "udiv", "urem", "^")


def term_of(drawn: random.Random, depth: int, kinds: tuple[str, ...]) -> z3.BitVecRef:
    """Return a random term of 5 bits."""
    if depth == 0:
        return drawn.choice((A, B, C, z3.BitVecVal(drawn.randrange(LARGE), WIDTH)))
    a, b = (term_of(drawn, depth - 1, kinds) for _ in range(2))
    number = z3.BitVecVal(drawn.randrange(1, WIDTH), WIDTH)
    made = {
        "+": lambda: a + b, "-": lambda: a - b, "scaled": lambda: a * number, "neg": lambda: -a,
        "if": lambda: z3.If(truth_of(drawn, depth - 1, kinds), a, b), "<<": lambda: a << number,
        ">>": lambda: a >> number, "lshr": lambda: z3.LShR(a, number),
        "&": lambda: a & z3.BitVecVal(drawn.choice((1, 3, 7)), WIDTH),
        "//": lambda: z3.UDiv(a, number), "%": lambda: z3.URem(a, number),
        "cut": lambda: z3.SignExt(2, z3.Extract(3, 1, a)),
        "sext": lambda: z3.Extract(WIDTH - 1, 0, z3.SignExt(3, a) + z3.SignExt(3, b)),
        "zext": lambda: z3.Extract(WIDTH, 1, z3.ZeroExt(3, a) - z3.Concat(z3.BitVecVal(0, 3), b)),
        "*": lambda: a * b, "sdiv": lambda: a / b, "srem": lambda: z3.SRem(a, b),
        "udiv": lambda: z3.UDiv(a, b), "urem": lambda: z3.URem(a, b), "^": lambda: a ^ b,
    }  # fmt: skip
    return made[drawn.choice(kinds)]()


def truth_of(drawn: random.Random, depth: int, kinds: tuple[str, ...]) -> z3.BoolRef:
    """Return a random formula."""
    a, b = (term_of(drawn, depth, kinds) for _ in range(2))
    bit = z3.If(a < b, z3.BitVecVal(1, 1), z3.BitVecVal(0, 1))
    return drawn.choice(
        (
            a < b, a <= b, a == b, a != b, z3.ULT(a, b), z3.UGE(a, b), bit == 1, bit & 1 == 0,
            z3.And(P, a > b), z3.Or(z3.Not(P), a >= b), z3.Implies(a == b, P),
            z3.SignExt(3, bit) < z3.ZeroExt(3, bit),
        )
    )  # fmt: skip


def is_possible(form: IntegerForm, made: z3.BoolRef, values: dict[z3.ExprRef, int]) -> bool:
    """Return whether integers have a solution where the constants have these values."""
    solver = z3.Solver()
    solver.add(made, *form.facts, *form.products.facts())
    for term, number in form.constants:
        wanted = values[term]
        solver.add(number == (z3.BoolVal(bool(wanted)) if z3.is_bool(number) else wanted))
    return solver.check() == z3.sat


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("has_products", [False, True])
def test_integers_hold_what_bits_hold(seed: int, has_products: bool) -> None:
    drawn = random.Random(f"{seed} {has_products}")
    formula = truth_of(drawn, 2, LINEAR + PRODUCTS if has_products else LINEAR)
    form = IntegerForm(Ranges())
    made = form.formula(formula)
    for _ in range(12):
        values = {term: drawn.randrange(LARGE) for term in (A, B, C)} | {P: drawn.randrange(2)}
        pairs = [(term, z3.BitVecVal(values[term], WIDTH)) for term in (A, B, C)]
        holds = z3.simplify(z3.substitute(formula, *pairs, (P, z3.BoolVal(bool(values[P])))))
        if z3.is_true(holds) or not has_products:
            assert is_possible(form, made, values) == z3.is_true(holds)


def test_a_product_grows_with_its_factors() -> None:
    x, y, z = (z3.ZeroExt(32, z3.BitVec(name, 31)) for name in "xyz")
    form = IntegerForm(Ranges())
    solver = z3.Solver()
    solver.add(form.formula(z3.And(x < y, x * z >= y * z, z >= 1)))
    solver.add(*form.facts, *form.products.facts())
    assert solver.check() == z3.unsat


def test_equal_quotients_have_one_name() -> None:
    n, m = (z3.ZeroExt(33, z3.BitVec(name, 31)) for name in "nm")
    form = IntegerForm(Ranges())
    solver = z3.Solver()
    in_32_bits = z3.SignExt(32, z3.UDiv(z3.Extract(31, 0, n), z3.BitVecVal(8, 32)))
    solver.add(form.formula(z3.And(m >= 1, in_32_bits * m != z3.UDiv(n, z3.BitVecVal(8, 64)) * m)))
    solver.add(*form.facts, *form.products.facts())
    assert solver.check() == z3.unsat
