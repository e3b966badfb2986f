"""Readers of the operations of MLIR's dialects `arith` and `math`, on integers and truth values.

An operation that has no reader gives an unknown value, named after it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from compiler.proof import ranges
from compiler.proof.logic import (
    FALSE,
    TRUE,
    AtLeastZero,
    Compound,
    Formula,
    Truth,
    at_least,
    both,
    either,
    equal,
    opposite,
)
from compiler.proof.polynomial import Polynomial, lift
from compiler.proof.ranges import Range
from compiler.proof.terms import (
    Indices,
    Reader,
    SymbolicPointer,
    Term,
    bits_of_element,
    is_of_truths,
    line_of,
)
from compiler.ttir_to_numpy.ir import Operation, Value
from compiler.ttir_to_numpy.mlir_types import element_of, shape_of

if TYPE_CHECKING:
    from compiler.proof.evaluator import Evaluator
    from compiler.proof.unknowns import Need

_NUMBER = re.compile(r"(?:dense<)?(-?\d+|true|false)>?(?: :|$)", re.ASCII)
_PAIR = 2
_MAX_OF_BLOCK = 1 << 16
"""The largest number of which the bits are taken for the lowest ones of another number."""
_SIGNED = 5
"""The largest predicate of arith.cmpi that compares as signed; 0 and 1 are == and !=."""
_COMPARE: Mapping[int, Callable[[Polynomial, Polynomial], Formula]] = {
    0: equal,
    1: lambda a, b: opposite(equal(a, b)),
    2: lambda a, b: at_least(b, a + 1),
    3: lambda a, b: at_least(b, a),
    4: lambda a, b: at_least(a, b + 1),
    5: at_least,
}


def _is_truth(term: Term) -> bool:
    return isinstance(term, AtLeastZero | Truth | Compound)


def _truths(e: Evaluator, operation: Operation, indices: Indices) -> tuple[Formula, Formula]:
    return (e.truth(operation.operands[0], indices), e.truth(operation.operands[1], indices))


def _integers(
    e: Evaluator, operation: Operation, indices: Indices
) -> tuple[Polynomial, Polynomial]:
    return (e.integer(operation.operands[0], indices), e.integer(operation.operands[1], indices))


def _bits(value: Value) -> int:
    return bits_of_element(element_of(value.type))


def _unsigned(e: Evaluator, a: Polynomial, bits: int) -> Polynomial:
    """Return what the bits of a signed number are as an unsigned one."""
    if e.unknowns.decides(at_least(a)):
        return a
    made = e.unknowns.either(at_least(a), a, a + (1 << bits))
    of_a = e.unknowns.range(a)
    half = 1 << (bits - 1)
    if (
        made.constant is None and -half <= of_a.low and of_a.high < half
    ):  # it fits its type, whatever checks say
        [text] = made.names
        e.unknowns.known[text].range = of_a.between(0, 2 * half - 1)
    return made


def _constant(e: Evaluator, operation: Operation, value: Value, _: Indices) -> Term:
    match = _NUMBER.match(operation.attributes.get("value", ""))
    if match is None:
        return e.unknown(value, "a constant of several values")
    if is_of_truths(value):
        return TRUE if match[1] in ("true", "1", "-1") else FALSE
    return lift(int(match[1]))


def _addi(e: Evaluator, operation: Operation, value: Value, indices: Indices) -> Term:
    if is_of_truths(value):
        return _exclusive(*_truths(e, operation, indices))
    a, b = _integers(e, operation, indices)
    return e.check(operation, value, a + b)


def _subi(e: Evaluator, operation: Operation, value: Value, indices: Indices) -> Term:
    if is_of_truths(value):
        return _exclusive(*_truths(e, operation, indices))
    a, b = _integers(e, operation, indices)
    return e.check(operation, value, a - b)


def _muli(e: Evaluator, operation: Operation, value: Value, indices: Indices) -> Term:
    if is_of_truths(value):
        return both(*_truths(e, operation, indices))
    a, b = _integers(e, operation, indices)
    return e.check(operation, value, a * b)


def _exclusive(a: Formula, b: Formula) -> Formula:
    return either(both(a, opposite(b)), both(opposite(a), b))


def _divsi(e: Evaluator, operation: Operation, _: Value, indices: Indices) -> Term:
    a, b = _integers(e, operation, indices)
    e.check_divisor(operation, b)
    return e.unknowns.quotient(a, b, floor=False)


def _remsi(e: Evaluator, operation: Operation, _: Value, indices: Indices) -> Term:
    a, b = _integers(e, operation, indices)
    e.check_divisor(operation, b)
    return e.unknowns.remainder(a, b, floor=False)


def _floordivsi(e: Evaluator, operation: Operation, _: Value, indices: Indices) -> Term:
    a, b = _integers(e, operation, indices)
    e.check_divisor(operation, b)
    return e.unknowns.quotient(a, b, floor=True)


def _unsigned_pair(
    e: Evaluator, operation: Operation, value: Value, indices: Indices
) -> tuple[Polynomial, Polynomial]:
    a, b = _integers(e, operation, indices)
    bits = _bits(value)
    a, b = _unsigned(e, a, bits), _unsigned(e, b, bits)
    e.check_divisor(operation, b)
    return a, b


def _divui(e: Evaluator, operation: Operation, value: Value, indices: Indices) -> Term:
    a, b = _unsigned_pair(e, operation, value, indices)
    return e.check(operation, value, e.unknowns.quotient(a, b, floor=False))


def _remui(e: Evaluator, operation: Operation, value: Value, indices: Indices) -> Term:
    a, b = _unsigned_pair(e, operation, value, indices)
    return e.check(operation, value, e.unknowns.remainder(a, b, floor=False))


def _minsi(e: Evaluator, operation: Operation, value: Value, indices: Indices) -> Term:
    if is_of_truths(value):
        return e.unknown(value, "arith.minsi of truth values")
    return e.unknowns.smaller(*_integers(e, operation, indices))


def _maxsi(e: Evaluator, operation: Operation, value: Value, indices: Indices) -> Term:
    if is_of_truths(value):
        return e.unknown(value, "arith.maxsi of truth values")
    return e.unknowns.larger(*_integers(e, operation, indices))


def _unsigned_choice(e: Evaluator, operation: Operation, value: Value, indices: Indices) -> Term:
    """Read `arith.minui` and `arith.maxui`, which return one of their operands."""
    if is_of_truths(value):
        return e.unknown(value, f"{operation.name} of truth values")
    a, b = _integers(e, operation, indices)
    wide_a, wide_b = (_unsigned(e, operand, _bits(value)) for operand in (a, b))
    is_least = operation.name == "arith.minui"
    if (wide_a, wide_b) == (a, b):
        return e.unknowns.smaller(a, b) if is_least else e.unknowns.larger(a, b)
    a_is_less = at_least(wide_b, wide_a)
    return e.unknowns.either(a_is_less, a, b) if is_least else e.unknowns.either(a_is_less, b, a)


def _andi(e: Evaluator, operation: Operation, value: Value, indices: Indices) -> Term:
    if is_of_truths(value):
        return both(*_truths(e, operation, indices))
    a, b = _integers(e, operation, indices)
    if a.constant is not None:
        a, b = b, a
    mask = b.constant
    if mask is not None and mask >= 0 and mask & (mask + 1) == 0:
        return e.unknowns.remainder(a, lift(mask + 1), floor=True)
    made = _some_bits(e, value, operation, a, b)
    needs = e.unknowns.shown(at_least(a)), e.unknowns.shown(at_least(b))
    if needs[0] is not None and needs[1] is not None:
        [text] = made.names
        known = e.unknowns.known[text]
        smallest = ranges.smaller(e.unknowns.range(a), e.unknowns.range(b))
        most = ranges.smaller(known.range, smallest)
        known.range = Range(0, max(most.high, 0), high_under=most.high_under)
        facts = at_least(a, made), at_least(b, made), at_least(made)
        e.unknowns.state(text, facts, (needs[0], needs[1]))
    return made


def _ori(e: Evaluator, operation: Operation, value: Value, indices: Indices) -> Term:
    if is_of_truths(value):
        return either(*_truths(e, operation, indices))
    a, b = _integers(e, operation, indices)
    return _joined_bits(e, operation, value, a, b, keeps_both=True)


def _xori(e: Evaluator, operation: Operation, value: Value, indices: Indices) -> Term:
    if is_of_truths(value):
        return _exclusive(*_truths(e, operation, indices))
    axis = pair_axis(operation)
    if axis is not None:
        other = lift(1) - indices[axis]
        return e.term(operation.operands[0], (*indices[:axis], other, *indices[axis + 1 :]))
    a, b = _integers(e, operation, indices)
    return _joined_bits(e, operation, value, a, b, keeps_both=False)


def pair_axis(operation: Operation) -> int | None:
    """Return the axis of two elements that `x ^ xor_sum(x, axis)` swaps, as a flip or a sort does.

    None for any other operation.
    """
    source, spread = operation.operands
    sizes = shape_of(source.type)
    chain = []
    made_by = spread.made_by
    for expected in ("tt.broadcast", "tt.expand_dims", "tt.reduce"):
        if made_by is None or made_by.name != expected:
            return None
        chain.append(made_by)
        made_by = made_by.operands[0].made_by
    _, expanded, summed = chain
    axis = summed.integer("axis")
    [block] = summed.regions[0]
    combined = block.end.operands[0].made_by
    is_pair = (
        summed.operands == [source] and expanded.integer("axis") == axis and sizes[axis] == _PAIR
    )
    is_xor = (
        len(block.operations) == _PAIR
        and combined is not None
        and combined.name == "arith.xori"
        and set(combined.operands) == set(block.arguments)
    )
    return axis if is_pair and is_xor else None


def _joined_bits(
    e: Evaluator, operation: Operation, value: Value, a: Polynomial, b: Polynomial, *,
    keeps_both: bool,
) -> Polynomial:  # fmt: skip
    made = _some_bits(e, value, operation, a, b)
    needs = e.unknowns.shown(at_least(a)), e.unknowns.shown(at_least(b))
    if needs[0] is None or needs[1] is None:
        return made
    [text] = made.names
    facts = [at_least(a + b, made), at_least(made)]
    if keeps_both:
        facts += [at_least(made, a), at_least(made, b)]
    half = 1 << (_bits(value) - 1)
    of_a, of_b = e.unknowns.range(a), e.unknowns.range(b)
    highest, under = max(of_a.high, of_b.high), of_a.high_under | of_b.high_under
    if highest < half:  # no bit is above the highest of both
        most: float = (1 << max(int(highest), 0).bit_length()) - 1
    else:  # it fits its type where both do, and so never shows that they do
        most = of_a.high + of_b.high
        facts.append(either(at_least(a, half), at_least(b, half), at_least(half - 1, made)))
    e.unknowns.known[text].range = Range(0, most, high_under=under)
    shown = [needs[0], needs[1]]
    for whole, low_bits in ((a, b), (b, a)):
        of_block = _in_block(e, made, whole, low_bits)
        if of_block is not None:
            facts += of_block[0]
            shown.append(of_block[1])
    e.unknowns.state(text, facts, shown)
    if not keeps_both:
        e.unknowns.exclusive[text] = a, b
    return made


def _in_block(
    e: Evaluator, made: Polynomial, whole: Polynomial, low_bits: Polynomial
) -> tuple[list[Formula], Need] | None:
    """Return that only the lowest bits of a number change, and what that needs."""
    most = e.unknowns.range(low_bits).high
    if not 1 <= most <= _MAX_OF_BLOCK or e.unknowns.range(whole).high <= most:
        return None
    block = 1 << int(most).bit_length()
    need = e.unknowns.shown(at_least(block - 1, low_bits))
    if need is None:
        return None
    first = whole - e.unknowns.remainder(whole, lift(block), floor=True)
    return [at_least(made, first), at_least(first + (block - 1), made)], need


def _some_bits(
    e: Evaluator, value: Value, operation: Operation, a: Polynomial, b: Polynomial
) -> Polynomial:
    made = e.unknown(value, f"the bits of {operation.name} at line {line_of(operation)}")
    assert isinstance(made, Polynomial)
    [text] = made.names
    e.unknowns.known[text].loops = e.unknowns.loops_of([a, b])
    return made


def _count_of(b: Polynomial, value: Value) -> int | None:
    """Return by how many bits to shift, where that is a number that the type allows."""
    count = b.constant
    return count if count is not None and 0 <= count < _bits(value) else None


def _shli(e: Evaluator, operation: Operation, value: Value, indices: Indices) -> Term:
    a, b = _integers(e, operation, indices)
    if b.constant is None or b.constant < 0:
        return _some_bits(e, value, operation, a, b)
    # `arith.shli %a, %c31 : i8` shifts by more bits than there are: only 0 fits then
    return e.check(operation, value, a * (1 << min(int(b.constant), _bits(value))))


def _shrsi(e: Evaluator, operation: Operation, value: Value, indices: Indices) -> Term:
    a, b = _integers(e, operation, indices)
    count = _count_of(b, value)
    if count is None:
        return _some_bits(e, value, operation, a, b)
    return e.unknowns.quotient(a, lift(1 << count), floor=True)


def _shrui(e: Evaluator, operation: Operation, value: Value, indices: Indices) -> Term:
    a, b = _integers(e, operation, indices)
    count = _count_of(b, value)
    if count is None:
        return _some_bits(e, value, operation, a, b)
    wide = _unsigned(e, a, _bits(value))
    return e.check(operation, value, e.unknowns.quotient(wide, lift(1 << count), floor=True))


def _cmpi(e: Evaluator, operation: Operation, value: Value, indices: Indices) -> Term:
    predicate = operation.integer("predicate")
    compared = operation.operands[0]
    first = e.term(compared, indices)
    if isinstance(first, SymbolicPointer):
        return e.unknown(value, "a comparison of pointers")
    if _is_truth(first):
        if predicate > 1:
            return e.unknown(value, "an order of truth values")
        differ = _exclusive(*_truths(e, operation, indices))
        return differ if predicate == 1 else opposite(differ)
    a, b = _integers(e, operation, indices)
    if predicate > _SIGNED:
        bits = _bits(compared)
        a, b = _unsigned(e, a, bits), _unsigned(e, b, bits)
        predicate -= 4
    return _COMPARE[predicate](a, b)


def _select(e: Evaluator, operation: Operation, value: Value, indices: Indices) -> Term:
    condition, first, second = operation.operands
    chosen = e.truth(condition, indices if shape_of(condition.type) else ())
    return e.either(chosen, e.term(first, indices), e.term(second, indices))


def _extsi(e: Evaluator, operation: Operation, _: Value, indices: Indices) -> Term:
    made = e.term(operation.operands[0], indices)
    if isinstance(made, AtLeastZero | Truth | Compound):
        return e.unknowns.either(made, lift(-1), lift(0))
    return made


def _extui(e: Evaluator, operation: Operation, _: Value, indices: Indices) -> Term:
    source = operation.operands[0]
    made = e.integer(source, indices)
    return made if is_of_truths(source) else _unsigned(e, made, _bits(source))


def _trunci(e: Evaluator, operation: Operation, value: Value, indices: Indices) -> Term:
    if is_of_truths(value):
        return e.unknown(value, f"the lowest bit at line {line_of(operation)}")
    return e.check(operation, value, e.integer(operation.operands[0], indices))


def _index_cast(e: Evaluator, operation: Operation, value: Value, indices: Indices) -> Term:
    if is_of_truths(operation.operands[0]):
        return e.unknown(value, f"a truth value as an index at line {line_of(operation)}")
    return e.check(operation, value, e.integer(operation.operands[0], indices))


def _absi(e: Evaluator, operation: Operation, value: Value, indices: Indices) -> Term:
    a = e.integer(operation.operands[0], indices)
    return e.unknowns.larger(a, e.check(operation, value, -a))


READERS: Mapping[str, Reader] = {
    "arith.addi": _addi,
    "arith.andi": _andi,
    "arith.cmpi": _cmpi,
    "arith.constant": _constant,
    "arith.divsi": _divsi,
    "arith.divui": _divui,
    "arith.extsi": _extsi,
    "arith.extui": _extui,
    "arith.floordivsi": _floordivsi,
    "arith.index_cast": _index_cast,
    "arith.maxsi": _maxsi,
    "arith.maxui": _unsigned_choice,
    "arith.minsi": _minsi,
    "arith.minui": _unsigned_choice,
    "arith.muli": _muli,
    "arith.ori": _ori,
    "arith.remsi": _remsi,
    "arith.remui": _remui,
    "arith.select": _select,
    "arith.shli": _shli,
    "arith.shrsi": _shrsi,
    "arith.shrui": _shrui,
    "arith.subi": _subi,
    "arith.trunci": _trunci,
    "arith.xori": _xori,
    "math.absi": _absi,
}
