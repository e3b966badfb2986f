"""Readers of the operations of Triton's own dialect: programs, shapes, pointers, loads.

An operation that has no reader gives an unknown value, named after it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from compiler.proof.integer_reductions import reduced
from compiler.proof.logic import TRUE, Truth, at_least, both, either, equal, opposite
from compiler.proof.polynomial import Polynomial, lift, name
from compiler.proof.proof_limits import Unsupported
from compiler.proof.ranges import Range
from compiler.proof.terms import (
    Indices,
    LoadedValue,
    Reader,
    Term,
    bits_of_element,
    is_of_truths,
    line_of,
)
from compiler.ttir_to_numpy.ir import Operation, Value
from compiler.ttir_to_numpy.mlir_types import element_of, pointee_of, shape_of

if TYPE_CHECKING:
    from compiler.proof.evaluator import Evaluator

_WIDTH = re.compile(r"[a-z]+(\d+)", re.ASCII)


def _program_id(e: Evaluator, operation: Operation, _: Value, __: Indices) -> Term:
    """Read `tt.get_program_id x : i32`."""
    return name("program#" + "xyz"[operation.integer("axis")])


def _num_programs(e: Evaluator, operation: Operation, _: Value, __: Indices) -> Term:
    """Read `tt.get_num_programs x : i32`."""
    return e.grid[operation.integer("axis")]


def _make_range(_: Evaluator, operation: Operation, __: Value, indices: Indices) -> Term:
    """Read `tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>`."""
    return indices[0] + operation.integer("start")


def _splat(e: Evaluator, operation: Operation, _: Value, __: Indices) -> Term:
    """Read `tt.splat %n : i32 -> tensor<64xi32>`."""
    return e.term(operation.operands[0])


def _unsplat(e: Evaluator, operation: Operation, _: Value, __: Indices) -> Term:
    """Read `tt.unsplat %t : tensor<1xi32>`."""
    shape = shape_of(operation.operands[0].type)
    return e.term(operation.operands[0], (lift(0),) * len(shape))


def _expand_dims(e: Evaluator, operation: Operation, _: Value, indices: Indices) -> Term:
    """Read `tt.expand_dims %i {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>`."""
    axis = operation.integer("axis")
    return e.term(operation.operands[0], indices[:axis] + indices[axis + 1 :])


def _broadcast(e: Evaluator, operation: Operation, _: Value, indices: Indices) -> Term:
    """Read `tt.broadcast %i : tensor<64x1xi32> -> tensor<64x128xi32>`."""
    shape = shape_of(operation.operands[0].type)
    at = (lift(0) if size == 1 else i for i, size in zip(indices, shape, strict=True))
    return e.term(operation.operands[0], tuple(at))


def _trans(e: Evaluator, operation: Operation, _: Value, indices: Indices) -> Term:
    """Read `tt.trans %i {order = array<i32: 1, 0>} : tensor<64x8xi32> -> tensor<8x64xi32>`."""
    order = operation.integers("order")
    at = [lift(0)] * len(order)
    for to, source in enumerate(order):
        at[source] = indices[to]
    return e.term(operation.operands[0], tuple(at))


def _reshape(e: Evaluator, operation: Operation, value: Value, indices: Indices) -> Term:
    """Read `tt.reshape %i : tensor<16x32xi32> -> tensor<512xi32>`."""
    if "allow_reorder" in operation.attributes:
        raise Unsupported("tt.reshape that may reorder elements", line_of(operation))
    flat = lift(0)
    for i, size in zip(indices, shape_of(value.type), strict=True):
        flat = flat * size + i
    at: list[Polynomial] = []
    for size in reversed(shape_of(operation.operands[0].type)):
        quotient = e.unknowns.quotient(flat, lift(size), floor=True)
        at.append(flat - size * quotient)
        flat = quotient
    return e.term(operation.operands[0], tuple(reversed(at)))


def _join(e: Evaluator, operation: Operation, _: Value, indices: Indices) -> Term:
    """Read `tt.join %a, %b : tensor<16xi32> -> tensor<16x2xi32>`."""
    first, second = (e.term(operand, indices[:-1]) for operand in operation.operands)
    return e.either(equal(indices[-1], 0), first, second)


def _split(e: Evaluator, operation: Operation, value: Value, indices: Indices) -> Term:
    """Read `%a, %b = tt.split %i : tensor<16x2xi32> -> tensor<16xi32>`."""
    which = operation.results.index(value)
    return e.term(operation.operands[0], (*indices, lift(which)))


def _addptr(e: Evaluator, operation: Operation, _: Value, indices: Indices) -> Term:
    """Read `tt.addptr %p, %i : tensor<64x!tt.ptr<f32>>, tensor<64xi32>`."""
    pointer, offset = operation.operands
    if is_of_truths(offset):  # true would be -1
        raise Unsupported("a truth value as an offset", line_of(operation))
    return e.pointer(pointer, indices).moved(e.integer(offset, indices))


def _load(e: Evaluator, operation: Operation, value: Value, indices: Indices) -> Term:
    """Return a value in the range that the contract gives, where the mask is true.

    `tt.load %p, %mask, %other : tensor<64x!tt.ptr<i32>>`
    """
    pointer = e.pointer(operation.operands[0], indices)
    line = line_of(operation)
    base = pointer.cases[0].base if len(pointer.cases) == 1 else None
    if not isinstance(base, str) or is_of_truths(value):
        return e.unknown(value, f"a value that is loaded at line {line}")
    made = e.unknown(value, f"the values of {base}, loaded at line {line}")
    assert isinstance(made, Polynomial)
    [text] = made.names
    known = e.unknowns.known[text]
    mask, other = masked_operands(operation)
    e.loaded[text] = LoadedValue(base, pointer.cases[0].offset, mask is not None)
    if base not in e.value_ranges:
        return made
    low, high = e.value_ranges[base]
    inside = both(at_least(made, low), at_least(high, made + 1))
    half = 1 << (bits_of_element(element_of(value.type)) - 1)
    of_low, of_last = e.unknowns.range(low), e.unknowns.range(high - 1)
    first, last = of_low.low, of_last.high
    is_unsigned = last >= half  # TTIR does not tell: the bits may be those of a larger number
    if is_unsigned:
        e.loaded[text] = replace(e.loaded[text], is_unsigned=True)
        larger = made + 2 * half
        inside = either(
            inside, both(at_least(-1, made), at_least(larger, low), at_least(high, larger + 1))
        )
    # a range may be empty, or beyond the type: then nothing is known where the load does not run
    top = half * (1 + is_unsigned) - 1
    held = at_least(high, low + 1), at_least(low, -half), at_least(top, low)
    if all(condition == TRUE or e.unknowns.is_within(condition) for condition in held):
        known.needs = tuple((condition, ()) for condition in held if condition != TRUE)
    else:
        runs = e.unknowns.where()
        if runs is None:
            return made
        known.guard = runs
    if mask is None:
        known.facts = [inside]
        if not is_unsigned and max(first, -half) <= last:
            known.range = Range(max(first, -half), last, of_low.low_under, of_last.high_under)
    else:
        live = e.truth(mask, indices)
        known.facts = [either(opposite(live), inside)]
        if other is not None:
            # the value fits its type, and so is the other one where that does, too
            masked = e.integer(other, indices)
            fits = both(at_least(masked, -half), at_least(half - 1, masked))
            known.facts.append(either(live, opposite(fits), equal(made, masked)))
    known.origin = None
    known.label = f"values {base}"
    return made


def _cat(e: Evaluator, operation: Operation, value: Value, indices: Indices) -> Term:
    """Return some element of one of both tensors: a compiler may put them in any order.

    `tt.cat %a, %b : tensor<16xi32> -> tensor<32xi32>`
    """
    origin = f"the order of tt.cat at line {line_of(operation)}"
    loops = e.loops_around(operation)
    [size] = shape_of(operation.operands[0].type)
    at = (name(e.unknowns.fresh("element", Range(0, size - 1), origin=origin, loops=loops)),)
    first, second = (e.term(operand, at) for operand in operation.operands)
    is_first = Truth(e.unknowns.fresh("truth", Range(0, 1), origin=origin, loops=loops), True)
    return e.either(is_first, first, second)


def _gather(e: Evaluator, operation: Operation, value: Value, indices: Indices) -> Term:
    """Return the element that an index names, where there is one.

    `tt.gather %s[%i] {axis = 0 : i32} : (tensor<16xi32>, tensor<8xi32>) -> tensor<8xi32>`
    """
    source, index = operation.operands
    axis = operation.integer("axis")
    size, at = shape_of(source.type)[axis], e.integer(index, indices)
    if e.unknowns.decides(at_least(at)) and e.unknowns.decides(at_least(size - 1, at)):
        return e.term(source, (*indices[:axis], at, *indices[axis + 1 :]))
    return e.unknown(value, f"what is gathered at line {line_of(operation)}")


def _histogram(e: Evaluator, operation: Operation, value: Value, _: Indices) -> Term:
    """Return a number of the elements that are counted.

    `tt.histogram %i : tensor<64xi32> -> tensor<16xi32>`
    """
    made = e.unknown(value, f"the counts of tt.histogram at line {line_of(operation)}")
    assert isinstance(made, Polynomial)
    [text] = made.names
    [size] = shape_of(operation.operands[0].type)
    known = e.unknowns.known[text]
    known.range = known.range.between(0, min(size, known.range.high))
    return made


def _bitcast(e: Evaluator, operation: Operation, value: Value, indices: Indices) -> Term:
    """Return the same pointer or integer, where the size of an element stays.

    `tt.bitcast %x : tensor<64xi32> -> tensor<64xi32>`
    """
    source = operation.operands[0]
    before, after = element_of(source.type), element_of(value.type)
    widths = {_octets(pointee_of(tensor.type) or "") for tensor in (source, value)}
    if len(widths) == 1 and 0 not in widths:
        return e.pointer(source, indices)
    if before == after and pointee_of(value.type) is None:
        return e.term(source, indices)
    return e.unknown(value, f"other bits of {before} at line {line_of(operation)}")


def _octets(element: str) -> int:
    """Return the bytes of an element in memory; 0 for a type that is not known."""
    match = _WIDTH.match(element)
    return 0 if match is None else -(-int(match[1]) // 8)


def masked_operands(operation: Operation) -> tuple[Value | None, Value | None]:
    """Return the mask of an access, and what a load gives where it is false."""
    operands = operation.operands
    if operation.name == "tt.load":
        sizes = operation.integers("operandSegmentSizes")
        has_mask = sizes[1] if sizes else len(operands) > 1
        has_other = sizes[2] if sizes else len(operands) > 2
        return operands[1] if has_mask else None, operands[2] if has_other else None
    if operation.name == "tt.atomic_load":
        return operands[1] if len(operands) > 1 else None, None
    if operation.name in ("tt.store", "tt.atomic_rmw", "tt.atomic_store"):
        return operands[2] if len(operands) > 2 else None, None
    return None, None


READERS: Mapping[str, Reader] = {
    "tt.addptr": _addptr,
    "tt.bitcast": _bitcast,
    "tt.broadcast": _broadcast,
    "tt.cat": _cat,
    "tt.expand_dims": _expand_dims,
    "tt.gather": _gather,
    "tt.get_num_programs": _num_programs,
    "tt.get_program_id": _program_id,
    "tt.histogram": _histogram,
    "tt.join": _join,
    "tt.load": _load,
    "tt.make_range": _make_range,
    "tt.reduce": reduced,
    "tt.reshape": _reshape,
    "tt.splat": _splat,
    "tt.split": _split,
    "tt.trans": _trans,
    "tt.unsplat": _unsplat,
}
