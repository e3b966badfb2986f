"""Reads reductions of integers: one of their elements, or a sum with its bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.proof.polynomial import name
from compiler.proof.ranges import Range
from compiler.proof.terms import Indices, Term, bits_of_element, line_of
from compiler.ttir_to_numpy.ir import Operation, Value
from compiler.ttir_to_numpy.mlir_types import element_of, shape_of

if TYPE_CHECKING:
    from compiler.proof.evaluator import Evaluator

_CHOICES = frozenset({"arith.select", "arith.maxsi", "arith.minsi", "arith.maxui", "arith.minui"})
_MAX_CHOICES = 64


def reduced(e: Evaluator, operation: Operation, value: Value, indices: Indices) -> Term:
    """Return some element where the combination chooses one, bounds of a sum, or an unknown."""
    which, axis = operation.results.index(value), operation.integer("axis")
    operand = operation.operands[which]
    size = shape_of(operand.type)[axis]
    origin = f"a reduction at line {line_of(operation)}"
    loops = e.loops_around(operation)
    lane = name(e.unknowns.fresh("element", Range(0, size - 1), origin=origin, loops=loops))
    at = (*indices[:axis], lane, *indices[axis:])
    [block] = operation.regions[0]
    combined = block.end.operands[which]
    pair = {block.arguments[which], block.arguments[which + len(operation.operands)]}
    if _is_one_of(combined, pair):
        return e.term(operand, at)
    made_by = combined.made_by
    element = element_of(operand.type)
    is_sum = made_by is not None and made_by.name == "arith.addi" and element != "i1"
    if is_sum and made_by is not None and set(made_by.operands) == pair:
        of_one = e.unknowns.range(e.integer(operand, at))
        low, high = of_one.interval
        half = 1 << (bits_of_element(element) - 1)
        if -half <= size * low and size * high < half:
            ends = of_one.between(size * low, size * high)
            return name(e.unknowns.fresh("sum", ends, origin=origin, loops=loops))
    return e.unknown(value, origin)


def _is_one_of(value: Value, pair: set[Value]) -> bool:
    """Return whether a combination is one of its two arguments, by any conditions."""
    pending = [value]
    for _ in range(_MAX_CHOICES):
        if not pending:
            return True
        candidate = pending.pop()
        if candidate in pair:
            continue
        if candidate.made_by is None or candidate.made_by.name not in _CHOICES:
            return False
        pending += candidate.made_by.operands[-2:]
    return False
