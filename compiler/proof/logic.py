"""Formulas over `polynomial >= 0` and truth values, with `not` pushed down to these."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from compiler.proof.polynomial import Polynomial, Values, lift
from compiler.proof.proof_limits import MAX_FORMULA_PARTS, ProofLimitReached


class AtLeastZero(NamedTuple):
    """`polynomial >= 0`."""

    polynomial: Polynomial


class Truth(NamedTuple):
    """An unknown truth value, or its opposite."""

    name: str
    is_true: bool


class Compound(NamedTuple):
    """All of the parts, or one of them."""

    word: Literal["and", "or"]
    parts: tuple[Formula, ...]


Formula = AtLeastZero | Truth | Compound

TRUE: Formula = Compound("and", ())
FALSE: Formula = Compound("or", ())


def at_least(a: Polynomial | int, b: Polynomial | int = 0) -> Formula:
    """Return `a >= b`, with its coefficients divided by their common factor."""
    difference = lift(a) if b == 0 else lift(a) - b
    constant = difference.constant
    if constant is not None:
        return TRUE if constant >= 0 else FALSE
    shared = math.gcd(*(c for m, c in difference.terms.items() if m))
    if shared > 1:
        # integers: 2 x >= 3 is x >= 2
        difference = Polynomial({m: c // shared for m, c in difference.terms.items()})
    return AtLeastZero(difference)


def equal(a: Polynomial | int, b: Polynomial | int) -> Formula:
    """Return `a == b`."""
    return both(at_least(a, b), at_least(b, a))


def equal_parts(a: Polynomial | int, b: Polynomial | int) -> tuple[Formula, ...]:
    """Return two inequalities that make `a == b`."""
    made = equal(a, b)
    return made.parts if isinstance(made, Compound) else (made,)


def both(*parts: Formula) -> Formula:
    """Return that all of `parts` hold."""
    flat: list[Formula] = []
    for part in parts:
        if part == FALSE:
            return FALSE
        flat += part.parts if isinstance(part, Compound) and part.word == "and" else [part]
    return _compound("and", flat)


def either(*parts: Formula) -> Formula:
    """Return that one of `parts` holds."""
    flat: list[Formula] = []
    for part in parts:
        if part == TRUE:
            return TRUE
        flat += part.parts if isinstance(part, Compound) and part.word == "or" else [part]
    return _compound("or", flat)


def _compound(word: Literal["and", "or"], parts: list[Formula]) -> Formula:
    if len(parts) == 1:
        return parts[0]
    made = Compound(word, tuple(dict.fromkeys(parts)))
    if sum(1 for _ in units(made)) > MAX_FORMULA_PARTS:
        raise ProofLimitReached(f"a mask or a path has more than {MAX_FORMULA_PARTS} parts")
    return made.parts[0] if len(made.parts) == 1 else made


def opposite(formula: Formula) -> Formula:
    """Return that `formula` does not hold."""
    match formula:
        case AtLeastZero(polynomial):
            return at_least(-polynomial - 1)
        case Truth(name, is_true):
            return Truth(name, not is_true)
        case Compound("and", parts):
            return either(*map(opposite, parts))
    return both(*map(opposite, formula.parts))


def units(formula: Formula) -> Iterator[AtLeastZero | Truth]:
    """Yield the parts of a formula that are no compounds."""
    if isinstance(formula, Compound):
        for part in formula.parts:
            yield from units(part)
    else:
        yield formula


def conjuncts(formula: Formula) -> tuple[Formula, ...]:
    """Return parts that all hold where `formula` does."""
    if isinstance(formula, Compound) and formula.word == "and":
        return formula.parts
    return (formula,)


def polynomials(formula: Formula) -> Iterator[Polynomial]:
    """Yield the polynomials in a formula."""
    return (unit.polynomial for unit in units(formula) if isinstance(unit, AtLeastZero))


def names_of(formula: Formula) -> frozenset[str]:
    """Return the unknowns of a formula."""
    names: set[str] = set()
    for unit in units(formula):
        names |= unit.polynomial.names if isinstance(unit, AtLeastZero) else {unit.name}
    return frozenset(names)


def holds(formula: Formula, values: Values) -> bool:
    """Return whether a formula holds for numbers by name; a truth value is 0 or 1."""
    match formula:
        case AtLeastZero(polynomial):
            return polynomial.value(values) >= 0
        case Truth(name, is_true):
            return bool(values[name]) == is_true
        case Compound("and", parts):
            return all(holds(part, values) for part in parts)
    return any(holds(part, values) for part in formula.parts)


def changed(formula: Formula, change: Callable[[Polynomial], Polynomial]) -> Formula:
    """Return the same formula with each polynomial changed."""
    match formula:
        case AtLeastZero(polynomial):
            made = change(polynomial)
            return formula if made is polynomial else at_least(made)
        case Truth():
            return formula
        case Compound("and", parts):
            return both(*(changed(part, change) for part in parts))
    return either(*(changed(part, change) for part in formula.parts))


def replaced(formula: Formula, name: str, by: Polynomial) -> Formula:
    """Return the same with a polynomial in place of a name."""
    return changed(formula, lambda polynomial: polynomial.replaced(name, by))


def renamed(formula: Formula, table: Callable[[str], str]) -> Formula:
    """Return the same over other names."""
    match formula:
        case AtLeastZero(polynomial):
            return AtLeastZero(polynomial.renamed(table))
        case Truth(name, is_true):
            return Truth(table(name), is_true)
    return Compound(formula.word, tuple(renamed(part, table) for part in formula.parts))
