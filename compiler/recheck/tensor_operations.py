"""The operations of Triton's dialect: programs, shapes, pointers, loads, reductions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import z3

from compiler.recheck.elements import (
    TRUE,
    BitTensor,
    BlockDescriptor,
    Element,
    Index,
    Path,
    PointedBuffer,
    Value,
    any_of,
    both,
    chosen,
    lane,
    opposite,
    widened,
)
from compiler.recheck.not_modelled import NotModelled
from compiler.recheck.reader import ReadOperation, Type
from compiler.recheck.widths import POINTER_BITS, bits_of

if TYPE_CHECKING:
    from compiler.recheck.machine import BitMachine

MAX_REDUCED = 16
"""Elements of a reduction that is computed; of a longer one, the result may be any."""
_WIDTH = re.compile(r"[a-z]+(\d+)", re.ASCII)


class Approximate(Exception):
    """The results of an operation are not computed: they may be any."""


def parameter(name: str) -> Element:
    """Return the pointer that a kernel is passed for a buffer."""
    return Element(None, (PointedBuffer(TRUE, name, z3.BitVecVal(0, POINTER_BITS)),))


def masked_operands(
    operation: ReadOperation, operands: Sequence[Value]
) -> tuple[Value | None, Value | None]:
    """Return the mask of an access, and what a load returns where it is false."""
    if operation.name == "tt.load":
        _, has_mask, has_other = operation.integers("operandSegmentSizes") or (
            1, len(operands) > 1, len(operands) > 2,
        )  # fmt: skip
        return operands[1] if has_mask else None, operands[2] if has_other else None
    place = {"tt.store": 2, "tt.atomic_rmw": 2, "tt.atomic_store": 2, "tt.atomic_load": 1}
    at = place.get(operation.name, len(operands))
    return operands[at] if at < len(operands) else None, None


def element_at(value: Value, index: Index) -> Element:
    """Return the element of a tensor, or a scalar."""
    if isinstance(value, BitTensor):
        return value.at(index)
    if isinstance(value, Element):
        return value
    raise NotModelled("a descriptor in place of a number")


def moved(pointer: Element, offset: Element) -> Element:
    """Return a pointer that many elements further."""
    if offset.bits is None or offset.bits.size() == 1:
        raise NotModelled("an offset that is not an integer")
    by = widened(offset.bits)
    return Element(
        None,
        tuple(
            PointedBuffer(case.condition, case.buffer, case.offset + by) for case in pointer.cases
        ),
        pointer.wraps | offset.wraps,
        pointer.is_exact and offset.is_exact,
    )


Operands = Sequence[Value]


def _program_id(
    machine: BitMachine, operation: ReadOperation, _: Operands, __: Path
) -> list[Value]:
    return [Element(machine.program[operation.integer("axis")])]


def _num_programs(
    machine: BitMachine, operation: ReadOperation, _: Operands, __: Path
) -> list[Value]:
    size = machine.contract.grid[operation.integer("axis")].term
    return [Element(z3.simplify(widened(size, bits_of("i32"))))]


def _make_range(_: BitMachine, operation: ReadOperation, __: Operands, ___: Path) -> list[Value]:
    start = operation.integer("start")
    width = bits_of("i32")

    def at(index: Index) -> Element:
        made = z3.Extract(width - 1, 0, index[0]) + start
        return Element(z3.simplify(made))

    return [BitTensor(operation.result_types[0].shape, at)]


def _reshaped(
    operation: ReadOperation, operands: Operands, source: Callable[[Index], Index]
) -> list[Value]:
    """Return a tensor whose element at an index is that of the operand at `source(index)`."""
    operand = operands[0]
    return [
        BitTensor(operation.result_types[0].shape, lambda index: element_at(operand, source(index)))
    ]


def _splat(_: BitMachine, operation: ReadOperation, operands: Operands, __: Path) -> list[Value]:
    return _reshaped(operation, operands, lambda _: ())


def _unsplat(_: BitMachine, operation: ReadOperation, operands: Operands, __: Path) -> list[Value]:
    shape = operation.operand_types[0].shape
    return [element_at(operands[0], (lane(0),) * len(shape))]


def _expand_dims(
    _: BitMachine, operation: ReadOperation, operands: Operands, __: Path
) -> list[Value]:
    axis = operation.integer("axis")
    return _reshaped(operation, operands, lambda index: index[:axis] + index[axis + 1 :])


def _broadcast(
    _: BitMachine, operation: ReadOperation, operands: Operands, __: Path
) -> list[Value]:
    shape = operation.operand_types[0].shape

    def source(index: Index) -> Index:
        return tuple(lane(0) if size == 1 else i for i, size in zip(index, shape, strict=True))

    return _reshaped(operation, operands, source)


def _trans(_: BitMachine, operation: ReadOperation, operands: Operands, __: Path) -> list[Value]:
    order = operation.integers("order") or []

    def source(index: Index) -> Index:
        return tuple(index[order.index(axis)] for axis in range(len(order)))

    return _reshaped(operation, operands, source)


def _reshape(_: BitMachine, operation: ReadOperation, operands: Operands, __: Path) -> list[Value]:
    if "allow_reorder" in operation.attributes:
        raise Approximate
    before, after = operation.operand_types[0].shape, operation.result_types[0].shape

    def source(index: Index) -> Index:
        flat = lane(0)
        for i, size in zip(index, after, strict=True):
            flat = flat * size + i
        places: list[z3.BitVecRef] = []
        for size in reversed(before):
            places.append(z3.simplify(z3.URem(flat, lane(size))))
            flat = z3.UDiv(flat, lane(size))
        return tuple(reversed(places))

    return _reshaped(operation, operands, source)


def _join(_: BitMachine, operation: ReadOperation, operands: Operands, __: Path) -> list[Value]:
    first, second = operands

    def at(index: Index) -> Element:
        is_first = z3.simplify(z3.If(index[-1] == 0, z3.BitVecVal(1, 1), z3.BitVecVal(0, 1)))
        a, b = element_at(first, index[:-1]), element_at(second, index[:-1])
        return chosen(Element(is_first), a, b)

    return [BitTensor(operation.result_types[0].shape, at)]


def _cat(machine: BitMachine, operation: ReadOperation, operands: Operands, _: Path) -> list[Value]:
    """Return a tensor of the elements of both, which a compiler may put in any order."""
    [size] = operation.operand_types[0].shape

    def at(_: Index) -> Element:
        place = (_any_lane(machine, size),)
        is_first = Element(machine.fresh(1), is_exact=False)
        return chosen(is_first, *(element_at(operand, place) for operand in operands))

    return [BitTensor(operation.result_types[0].shape, at)]


def _any_lane(machine: BitMachine, size: int) -> z3.BitVecRef:
    """Return any index along an axis, whose size is a power of two."""
    length = (size - 1).bit_length()
    return z3.ZeroExt(32 - length, machine.fresh(length)) if length else lane(0)


def _gather(
    machine: BitMachine, operation: ReadOperation, operands: Operands, _: Path
) -> list[Value]:
    """Return the elements that indices name; where there is none, it may be any."""
    source, places = operands
    axis, type_ = operation.integer("axis"), operation.result_types[0]
    size = operation.operand_types[0].shape[axis]
    garbage = machine.free(type_, is_exact=False)

    def at(index: Index) -> Element:
        place = element_at(places, index)
        if place.bits is None:
            raise NotModelled("an index that is not an integer")
        wide = widened(place.bits)
        is_inside = z3.If(z3.ULT(wide, size), z3.BitVecVal(1, 1), z3.BitVecVal(0, 1))
        named = (*index[:axis], widened(wide, 32), *index[axis + 1 :])
        inside = Element(is_inside, (), place.wraps, place.is_exact)
        return chosen(inside, element_at(source, named), element_at(garbage, index))

    return [BitTensor(type_.shape, at)]


def _histogram(machine: BitMachine, operation: ReadOperation, _: Operands, __: Path) -> list[Value]:
    """Return counts, of which only the largest possible one is known."""
    [size] = operation.operand_types[0].shape
    type_ = operation.result_types[0]

    def at(_: Index) -> Element:
        count = machine.fresh(bits_of(type_.element))
        machine.facts.append(z3.ULE(count, size))
        return Element(count, is_exact=False)

    return [BitTensor(type_.shape, at)]


def _split(_: BitMachine, operation: ReadOperation, operands: Operands, __: Path) -> list[Value]:
    def half(number: int) -> Value:
        return _reshaped(operation, operands, lambda index: (*index, lane(number)))[0]

    return [half(0), half(1)]


def _addptr(_: BitMachine, operation: ReadOperation, operands: Operands, __: Path) -> list[Value]:
    pointer, offset = operands
    shape = operation.result_types[0].shape
    if not shape:
        return [moved(element_at(pointer, ()), element_at(offset, ()))]
    return [BitTensor(shape, lambda i: moved(element_at(pointer, i), element_at(offset, i)))]


def _bitcast(_: BitMachine, operation: ReadOperation, operands: Operands, __: Path) -> list[Value]:
    before, after = operation.operand_types[0], operation.result_types[0]
    octets = {_octets(type_.pointee) for type_ in (before, after)}
    is_same_pointer = (
        before.is_pointer and after.is_pointer and len(octets) == 1 and 0 not in octets
    )
    if is_same_pointer or before.text == after.text:
        return [operands[0]]
    raise Approximate


def _octets(element: str) -> int:
    """Return the bytes of an element in memory; 0 for a type that is not known."""
    match = _WIDTH.match(element)
    return 0 if match is None else -(-int(match[1]) // 8)


def _load(
    machine: BitMachine, operation: ReadOperation, operands: Operands, path: Path
) -> list[Value]:
    type_ = operation.result_types[0]
    mask, other = masked_operands(operation, operands)
    if not type_.is_integer:
        return [machine.free(type_, is_exact=False)]
    garbage = machine.free(type_, is_exact=True)
    either = machine.free(replace(type_, element="i1"), is_exact=True)

    def at(index: Index) -> Element:
        live = Element(z3.BitVecVal(1, 1)) if mask is None else element_at(mask, index)
        pointer = element_at(operands[0], index)
        masked = element_at(garbage if other is None else other, index)
        # without a range of values, a proof holds for any value, whatever the mask is
        if not any(case.buffer in machine.contract.values for case in pointer.cases):
            made = chosen(live, _held(machine, pointer, live, type_, path), masked)
            return replace(made, wraps=pointer.wraps)
        # and with one, a proof may hold for active and masked lanes alike where a mask wraps
        wraps = live.wraps - pointer.wraps - masked.wraps
        wrapped = any_of([wrap.condition for wrap in wraps])
        if live.bits is not None and not z3.is_false(wrapped):
            bits = z3.If(wrapped, element_at(either, index).bits, live.bits)
            live = replace(live, bits=bits, wraps=live.wraps - wraps)
        return chosen(live, _held(machine, pointer, live, type_, path), masked)

    return [BitTensor(type_.shape, at) if type_.shape else at(())]


def _held(machine: BitMachine, pointer: Element, live: Element, type_: Type, path: Path) -> Element:
    """Return what a buffer holds: the same for the same element, unless something writes it."""
    width = bits_of(type_.element)
    if len(pointer.cases) != 1 or width == 1 or pointer.cases[0].buffer in machine.written:
        return Element(machine.fresh(width), (), pointer.wraps, is_exact=False)
    [case] = pointer.cases
    contract = machine.contract
    sorts = z3.BitVecSort(POINTER_BITS), z3.BitVecSort(width)
    held = z3.Function(f"{case.buffer}.{width}", *sorts)(case.offset)
    if case.buffer in contract.values:
        low, high = contract.values[case.buffer]
        # TTIR does not mark unsigned integers, so these bits may be of a larger number
        unsigned = z3.ZeroExt(POINTER_BITS - width, held) if width < POINTER_BITS else held
        ranges = [z3.And(number >= low, number < high) for number in (widened(held), unsigned)]
        runs = both(path.condition, live.is_true)
        machine.facts.append(any_of([opposite(runs), *ranges]))
    return Element(held, (), pointer.wraps, pointer.is_exact)


def _make_descriptor(
    _: BitMachine, __: ReadOperation, operands: Operands, ___: Path
) -> list[Value]:
    pointer, *rest = (element_at(operand, ()) for operand in operands)
    half = len(rest) // 2
    return [BlockDescriptor(pointer, tuple(rest[:half]), tuple(rest[half:]))]


def _reduce(
    machine: BitMachine, operation: ReadOperation, operands: Operands, _: Path
) -> list[Value]:
    axis, [block] = operation.integer("axis"), operation.regions[0]
    size = operation.operand_types[0].shape[axis]
    if size > MAX_REDUCED or not all(
        operand_type.is_integer for operand_type in operation.operand_types
    ):
        raise Approximate
    names = [name for name, _ in block.arguments]
    around = machine.snapshot()
    known: dict[tuple[int, ...], tuple[Index, list[Element]]] = {}

    def reduced(index: Index) -> list[Element]:
        key = tuple(term.get_id() for term in index)
        if key not in known:
            elements = [
                [
                    element_at(operand, (*index[:axis], lane(at), *index[axis:]))
                    for operand in operands
                ]
                for at in range(size)
            ]
            made = [replace(element, wraps=frozenset()) for element in elements[0]]
            for following in elements[1:]:
                pairs = zip(names, [*made, *following], strict=True)
                made = machine.reduced(block, {**around, **dict(pairs)})
            known[key] = index, [replace(element, wraps=frozenset()) for element in made]
        return known[key][1]

    def result(number: int) -> Value:
        return BitTensor(shape, lambda index: reduced(index)[number])

    shape = operation.result_types[0].shape
    return [result(number) for number in range(len(operands))] if shape else list(reduced(()))


Reader = Callable[["BitMachine", ReadOperation, Operands, Path], Sequence[Value]]
BY_NAME: Mapping[str, Reader] = {
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
    "tt.make_tensor_descriptor": _make_descriptor,
    "tt.reduce": _reduce,
    "tt.reshape": _reshape,
    "tt.splat": _splat,
    "tt.split": _split,
    "tt.trans": _trans,
    "tt.unsplat": _unsplat,
}
