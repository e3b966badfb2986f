"""Finds the smallest sizes that break a goal, with z3's nonlinear arithmetic.

A model is believed only after every formula was computed again with Python's integers.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.proof.logic import Formula, holds
from compiler.proof.proof_limits import SEARCH_EFFORT
from compiler.proof.solver import Effort, Model, WitnessSearch

_LADDER = (1, 3, 17, 65, 300, 1100, 5000, 70_000, 1 << 20, 1 << 26, 1 << 31)
_FEW_SIZES = (3, 70, 2000, 1 << 31)
_MAX_LOST = 3
"""Questions without an answer after which larger sizes are not tried."""


def smallest_witness(
    formulas: Sequence[Formula], sizes: Sequence[str], effort: Effort
) -> Model | None:
    """Return integers that keep `formulas`, with small `sizes`; None where none were found."""
    search = WitnessSearch(effort, formulas, SEARCH_EFFORT)
    lost = 0
    for most in _LADDER:
        search.push((size, most) for size in sizes)
        answer = search.check()
        if answer == "sat":
            model = _lowered(search, sizes, search.model())
            search.pop()
            return model if all(holds(formula, model) for formula in formulas) else None
        search.pop()
        lost += answer == "unknown"
        if lost == _MAX_LOST:
            return None
    return None


def is_satisfiable(formulas: Sequence[Formula], sizes: Sequence[str], effort: Effort) -> bool:
    """Return whether integers that keep `formulas` were found, with small `sizes` first."""
    search = WitnessSearch(effort, formulas, SEARCH_EFFORT)
    for most in _FEW_SIZES:
        search.push((size, most) for size in sizes)
        is_found = search.check() == "sat"
        if is_found:
            model = search.model()
            is_found = all(holds(formula, model) for formula in formulas)
        search.pop()
        if is_found:
            return True
    return False


def _lowered(search: WitnessSearch, sizes: Sequence[str], model: Model) -> Model:
    """Return a model in which each size in turn is as small as the search can make it."""
    for size in sizes:
        low, high = 1, model[size]
        while low < high:
            middle = (low + high) // 2
            search.push([(size, middle)])
            if search.check() == "sat":
                model = search.model()
                high = model[size]
            else:
                low = middle + 1
            search.pop()
        search.push([(size, high)])
    for _ in sizes:
        search.pop()
    return model
