"""Finds how formulas contradict each other, in steps that arithmetic alone can follow.

The solver has said that they do. Here multipliers are looked for (Farkas' lemma), case by case
where a formula says "or"; and bounds of differences that whole numbers have and fractions exceed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import z3

from compiler.proof.grounds import (
    Assumed,
    CaseSplit,
    Clash,
    Contradiction,
    Ground,
    Lemma,
    Refutation,
    parts_of,
)
from compiler.proof.logic import AtLeastZero, Compound, Truth, at_least, opposite
from compiler.proof.polynomial import Monomial, Polynomial
from compiler.proof.solver import Effort, number

_DEEPEST = 6
_MOST_COMPARED = 8
_Lines = dict[Polynomial, Ground]


def refutation(
    reasons: Sequence[Ground], effort: Effort, depth: int = _DEEPEST
) -> Refutation | None:
    """Return how formulas contradict each other, None where that was not found."""
    parts = [part for reason in reasons for part in parts_of(reason)]
    truths: dict[tuple[str, bool], Ground] = {}
    lines: _Lines = {}
    choices: list[Ground] = []
    for part in parts:
        match part.formula:
            case AtLeastZero(polynomial):
                lines.setdefault(polynomial, part)
            case Truth(name, is_true):
                if (name, not is_true) in truths:
                    return Clash(part, truths[name, not is_true])
                truths[name, is_true] = part
            case Compound("or", ()):
                return CaseSplit(part, ())
            case Compound("or"):
                choices.append(part)
    found = _multiplied(lines, effort)
    if found is not None or depth == 0:
        return found
    if choices:
        return _by_cases(min(choices, key=_width), parts, effort, depth)
    return _rounded(lines, effort)


def _width(choice: Ground) -> int:
    return len(choice.formula.parts) if isinstance(choice.formula, Compound) else 0


def _by_cases(
    choice: Ground, parts: Sequence[Ground], effort: Effort, depth: int
) -> Refutation | None:
    assert isinstance(choice.formula, Compound)
    others = [part for part in parts if part is not choice]
    ways = []
    for way in choice.formula.parts:
        case = Assumed(way)
        found = refutation([*others, case], effort, depth - 1)
        if found is None:
            return None
        ways.append((case, found))
    return CaseSplit(choice, tuple(ways))


def _multiplied(lines: _Lines, effort: Effort) -> Contradiction | None:
    """Return inequalities with multipliers whose sum is a negative number, None without any."""
    rows: dict[Monomial, list[str]] = {(): ["0"]}
    script = []
    for place, line in enumerate(lines):
        script.append(f"(declare-const l{place} Real)(assert (>= l{place} 0))")
        for monomial, factor in line.terms.items():
            rows.setdefault(monomial, ["0"]).append(f"(* {number(factor)} l{place})")
    for monomial, factors in rows.items():
        script.append(f"(assert (= (+ {' '.join(factors)}) {number(0 if monomial else -1)}))")
    solver = z3.SolverFor("QF_LRA")
    solver.from_string("\n".join(script))
    answer = solver.check()
    effort.note(solver)
    if answer != z3.sat:
        return None
    model = solver.model()
    by_name = {declared.name(): model[declared].as_fraction() for declared in model.decls()}
    shared = math.lcm(*(value.denominator for value in by_name.values()))
    terms = ((int(by_name.get(f"l{n}", 0) * shared), why) for n, why in enumerate(lines.values()))
    return Contradiction(tuple((count, why) for count, why in terms if count))


def _rounded(lines: _Lines, effort: Effort) -> Contradiction | None:
    """Refute lines with what rounding adds to them: the least whole number of a difference."""
    lines = dict(lines)
    for form in _forms(lines):
        least = _least(form, lines, effort)
        if least is None:
            continue
        lemma = at_least(form, least)
        denied = Assumed(opposite(lemma))
        shown = _multiplied({**lines, **_line(denied)}, effort)
        if shown is None or not isinstance(lemma, AtLeastZero):
            continue
        used = tuple(why for _, why in shown.terms if why is not denied)
        lines.setdefault(lemma.polynomial, Lemma(lemma, denied, (denied, *used)))
        found = _multiplied(lines, effort)
        if found is not None:
            return found
    return None


def _line(reason: Ground) -> _Lines:
    return {reason.formula.polynomial: reason} if isinstance(reason.formula, AtLeastZero) else {}


def _forms(lines: _Lines) -> Iterator[Polynomial]:
    """Yield what may be less than a whole number away from its bound."""
    monomials = sorted({m for line in lines for m in line.terms if m}, key=lambda m: (len(m), m))
    alone = [Polynomial({monomial: 1}) for monomial in monomials[:_MOST_COMPARED]]
    for one in alone:
        yield from (one, -one)
    for a, b in itertools.permutations(alone, 2):
        yield a - b


def _least(form: Polynomial, lines: _Lines, effort: Effort) -> int | None:
    """Return the least whole number that a form can be, None where fractions get there too."""
    names = {m: f"v{n}" for n, m in enumerate({m for line in lines for m in line.terms if m})}
    optimizer = z3.Optimize()
    script = [f"(declare-const {text} Real)" for text in names.values()]
    script += [f"(assert (>= {_sum(line, names)} 0))" for line in lines]
    script += ["(declare-const form Real)", f"(assert (= form {_sum(form, names)}))"]
    optimizer.from_string("\n".join(script))
    bound = optimizer.minimize(z3.Real("form"))
    answer = optimizer.check()
    effort.note(optimizer)
    value = optimizer.lower(bound)
    if answer != z3.sat or not z3.is_rational_value(value):
        return None
    fraction = value.as_fraction()
    return None if fraction.denominator == 1 else math.ceil(fraction)


def _sum(line: Polynomial, names: dict[Monomial, str]) -> str:
    parts = [
        number(factor) if not monomial else f"(* {number(factor)} {names[monomial]})"
        for monomial, factor in line.terms.items()
    ]
    return f"(+ 0 {' '.join(parts)})"
