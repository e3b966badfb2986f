"""Finds the integers of a kernel that something reads as signed.

TTIR does not mark unsigned integers. A sum has the same bits either way, and only what uses it
tells: a signed comparison, an address, a cast that keeps the sign. An integer that nothing reads so
may be unsigned, and then it holds twice as much.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.proof.structure import Structure
from compiler.ttir_to_numpy.ir import Operation, Value, inside

_SAME_BITS = frozenset(
    {
        "arith.addi", "arith.andi", "arith.maxui", "arith.minui", "arith.muli", "arith.ori",
        "arith.select", "arith.shli", "arith.subi", "arith.trunci", "arith.xori",
        "tt.bitcast", "tt.broadcast", "tt.cat", "tt.expand_dims", "tt.gather", "tt.join", "tt.load",
        "tt.reduce", "tt.reduce.return", "tt.reshape", "tt.scan", "tt.scan.return", "tt.splat",
        "tt.split", "tt.trans", "tt.unsplat",
    }
)  # fmt: skip
"""Operations whose result has the same bits for signed and for unsigned operands, or one of both
operands: it is read as signed wherever the result is."""
_UNSIGNED = frozenset(
    {
        "arith.divui", "arith.extui", "arith.remui", "arith.shrui", "arith.uitofp", "tt.mulhiui",
    }
)  # fmt: skip
_NEITHER = frozenset(
    {
        "cf.br", "cf.cond_br", "scf.condition", "scf.if", "scf.while", "scf.yield", "tt.print",
        "tt.return",
    }
)  # fmt: skip
"""Operations that pass values on, or show them."""
_WRITES = ("tt.store", "tt.atomic")
_FIRST_SIGNED, _LAST_SIGNED = 2, 5
"""Predicates of arith.cmpi from "less" to "at least", as signed; those before are == and !=."""


def read_as_signed(structure: Structure) -> frozenset[Value]:
    """Return the values that are read as signed, or that make others which are."""
    signed: set[Value] = set()
    pending: list[Value] = []
    for operation in inside(structure.function):
        pending += _read_by(operation)
    while pending:
        value = pending.pop()
        if value not in signed:
            signed.add(value)
            pending += _sources(value, structure)
    return frozenset(signed)


def _read_by(operation: Operation) -> list[Value]:
    """Return the operands that an operation reads as signed."""
    name, operands = operation.name, operation.operands
    if name == "tt.gather":
        return operands[1:]  # where to gather
    if name in _SAME_BITS | _UNSIGNED | _NEITHER:
        return []
    if name == "arith.cmpi":
        is_signed = _FIRST_SIGNED <= operation.integer("predicate") <= _LAST_SIGNED
        return operands if is_signed else []
    if name == "scf.for":
        return operands[:3]
    if name.startswith(_WRITES):
        return operands[:1]
    return operands


def _sources(value: Value, structure: Structure) -> Iterator[Value]:
    """Yield the values whose bits a value has, or is made of alike for both signs."""
    operation = value.made_by
    if operation is None:
        yield from _passed_to(value, structure)
    elif operation.name in _SAME_BITS:
        yield from operation.operands
    elif operation.name in ("scf.for", "scf.if", "scf.while"):
        which = operation.results.index(value)
        if operation.name == "scf.for":
            yield operation.operands[3 + which]
        skipped = 1 if operation.name == "scf.while" else 0  # the condition
        regions = operation.regions[:1] if skipped else operation.regions
        for region in filter(None, regions):
            yield region[0].end.operands[skipped + which]


def _passed_to(argument: Value, structure: Structure) -> Iterator[Value]:
    owner = structure.owners.get(argument)
    if owner is None:
        return
    loop, number = owner.operation, owner.number
    match owner.kind:
        case "for" if number > 0:
            yield loop.operands[2 + number]
            yield loop.regions[0][0].end.operands[number - 1]
        case "while before":
            yield loop.operands[number]
            yield loop.regions[1][0].end.operands[number]
        case "while after":
            yield loop.regions[0][0].end.operands[1 + number]
        case "block":
            for edge in structure.edges.get(owner.label, ()):
                yield edge.arguments[number]
