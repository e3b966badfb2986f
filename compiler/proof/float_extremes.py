"""Recognizes the two atomic operations that Triton makes of a maximum or a minimum of floats.

The bits of floats of one sign are ordered as integers are. So `tl.atomic_max` of floats is a signed
`max` where the value is positive, and an unsigned `umin` where it is negative. The two commute:
once something positive is there, no `umin` with a negative value changes it, and a `max` with a
positive value replaces whatever is negative. So do `min` and `umax`, with the signs the other way
round.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from compiler.proof.logic import TRUE
from compiler.proof.polynomial import Polynomial
from compiler.proof.terms import Term, bits_of_element
from compiler.proof.triton_operations import masked_operands
from compiler.ttir_to_numpy.ir import Operation, Value
from compiler.ttir_to_numpy.mlir_types import element_of

if TYPE_CHECKING:
    from compiler.proof.evaluator import Evaluator

_OPERATIONS = ("and", "or", "xor", "add", "fadd", "max", "min", "umax", "umin", "exch")
"""The operations of tt.atomic_rmw, by their number from 1."""
_PAIRS = ({"max", "umin"}, {"min", "umax"})
_KIND = "atomic_rmw_op"
_EQUAL, _DIFFERS = 0, 1
"""Predicates of arith.cmpi."""


def operation_of(atomic: Operation) -> str:
    """Return the name of an atomic operation, such as "umin"; "" for one that is not known."""
    number = atomic.integer(_KIND)
    return _OPERATIONS[number - 1] if 0 < number <= len(_OPERATIONS) else ""


def are_of_one_extreme(a: Operation, b: Operation, evaluator: Evaluator) -> bool:
    """Return whether two atomic operations are parts of a maximum, or a minimum, of floats."""
    if not a.name == b.name == "tt.atomic_rmw" or {operation_of(a), operation_of(b)} not in _PAIRS:
        return False
    if element_of(a.operands[1].type) != element_of(b.operands[1].type):
        return False
    if any(a.attributes.get(key) != b.attributes.get(key) for key in ("sem", "scope")):
        return False
    return all(_has_its_sign(atomic, evaluator) for atomic in (a, b))


def _has_its_sign(atomic: Operation, evaluator: Evaluator) -> bool:
    """Return whether the value is not negative in `max` and `min`, and negative in the others."""
    mask, _ = masked_operands(atomic)
    is_negative = operation_of(atomic).startswith("u")
    value = atomic.operands[1]
    parts = [] if mask is None else _conjuncts(mask)
    return any(_tests_sign(part, value, evaluator, is_negative=is_negative) for part in parts)


def _conjuncts(mask: Value) -> Iterator[Value]:
    pending = [mask]
    while pending:
        value = pending.pop()
        if value.made_by is not None and value.made_by.name == "arith.andi":
            pending += value.made_by.operands
        else:
            yield value


def _tests_sign(test: Value, value: Value, evaluator: Evaluator, *, is_negative: bool) -> bool:
    """Return whether a truth value shows that the highest bit of `value` is set, or is not."""
    operation = test.made_by
    if operation is None:
        return False
    if operation.name == "arith.xori" and _constant(operation.operands[1], evaluator) == TRUE:
        inner = operation.operands[0]
        return _tests_sign(inner, value, evaluator, is_negative=not is_negative)
    wanted = _DIFFERS if is_negative else _EQUAL
    if operation.name != "arith.cmpi" or operation.integer("predicate") != wanted:
        return False
    shifted, zero = operation.operands
    shift = shifted.made_by
    if shift is None or shift.name != "arith.shrui" or shift.operands[0] is not value:
        return False
    highest = bits_of_element(element_of(value.type)) - 1
    ends = [_constant(operand, evaluator) for operand in (zero, shift.operands[1])]
    return [end.constant for end in ends if isinstance(end, Polynomial)] == [0, highest]


def _constant(value: Value, evaluator: Evaluator) -> Term | None:
    is_constant = value.made_by is not None and value.made_by.name == "arith.constant"
    return evaluator.term(value) if is_constant else None
