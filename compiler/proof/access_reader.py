"""The accesses of a kernel, each with its address, its mask, and the checks that both rely on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.proof.evaluator import Evaluator
from compiler.proof.logic import TRUE, Formula, at_least, both, either, equal
from compiler.proof.polynomial import Polynomial, lift, name
from compiler.proof.proof_limits import MAX_ACCESSES, ProofLimitReached, Unsupported
from compiler.proof.ranges import Range
from compiler.proof.structure import Structure
from compiler.proof.terms import (
    AccessKind,
    Indices,
    SymbolicAccess,
    SymbolicPointer,
    UnreadAccess,
    line_of,
)
from compiler.proof.triton_operations import masked_operands
from compiler.proof.unknowns import INFINITY, Unknowns
from compiler.ttir_to_numpy.ir import Operation, Value
from compiler.ttir_to_numpy.mlir_types import element_of, shape_of

KINDS: dict[str, AccessKind] = {
    "tt.load": "load",
    "tt.store": "store",
    "tt.atomic_rmw": "atomic",
    "tt.atomic_cas": "atomic",
    "tt.atomic_load": "atomic",
    "tt.atomic_poll": "atomic",
    "tt.atomic_store": "atomic",
    "tt.descriptor_load": "load",
    "tt.descriptor_gather": "load",
    "tt.descriptor_store": "store",
    "tt.descriptor_scatter": "store",
    "tt.descriptor_reduce": "atomic",
}


def accesses_of(evaluator: Evaluator) -> list[SymbolicAccess | UnreadAccess]:
    """Return every access, in the order of the text. Raises ProofLimitReached."""
    operations = [operation for operation in evaluator.structure.paths if operation.name in KINDS]
    if len(operations) > MAX_ACCESSES:
        raise ProofLimitReached(f"the kernel has more than {MAX_ACCESSES} accesses")
    return [_read(evaluator, operation) for operation in operations]


def written_buffers(structure: Structure, evaluator: Evaluator) -> frozenset[str] | None:
    """Return the buffers that a store may reach; None where that may be any.

    Addresses may depend on ranges of values; buffers do not.
    """
    bases: set[str] = set()
    for operation in structure.paths:
        if KINDS.get(operation.name, "load") == "load":
            continue
        access = _read(evaluator, operation)
        if isinstance(access, UnreadAccess):
            return None
        for case in access.pointer.cases:
            if not isinstance(case.base, str):
                return None
            bases.add(case.base)
    return frozenset(bases)


def lanes(unknowns: Unknowns, shape: tuple[int, ...]) -> Indices:
    """Return indices of any element of a shape."""
    made = []
    for axis, size in enumerate(shape):
        if size == 1:
            made.append(lift(0))
            continue
        text = f"lane{axis}#{size}"
        if text not in unknowns.known:
            unknowns.define(text, Range(0, size - 1))
        made.append(name(text))
    return tuple(made)


def _read(evaluator: Evaluator, operation: Operation) -> SymbolicAccess | UnreadAccess:
    kind = KINDS[operation.name]
    try:
        if operation.name.startswith("tt.descriptor"):
            return _access_by_descriptor(evaluator, operation, kind)
        return _access_by_pointer(evaluator, operation, kind)
    except Unsupported as refused:
        return UnreadAccess(operation, kind, str(refused))


def _access_by_pointer(
    evaluator: Evaluator, operation: Operation, kind: AccessKind
) -> SymbolicAccess:
    address = operation.operands[0]
    at = lanes(evaluator.unknowns, shape_of(address.type))
    mask, _ = masked_operands(operation)
    live: Formula = TRUE
    with evaluator.collecting() as mask_checks:
        path = evaluator.path(evaluator.structure.paths[operation])
        if mask is not None:
            live = evaluator.truth(mask, at if shape_of(mask.type) else ())
    with evaluator.collecting() as address_checks:
        pointer = evaluator.pointer(address, at)
    return SymbolicAccess(
        operation, kind, pointer, path, live,
        frozenset(address_checks - mask_checks), frozenset(mask_checks),
    )  # fmt: skip


def _access_by_descriptor(
    evaluator: Evaluator, operation: Operation, kind: AccessKind
) -> SymbolicAccess:
    """Read an access by descriptor. A device keeps coordinates inside of its shape.

    A coordinate has a name, which is an element's of the block only in the condition of the
    address: that an element is inside of the shape does not show that the block's begin fits.
    """
    made_by = operation.operands[0].made_by
    if made_by is None or made_by.name != "tt.make_tensor_descriptor":
        what = "a tensor descriptor that the host made, or that a loop changes"
        raise Unsupported(what, line_of(operation))
    base, *rest = made_by.operands
    sizes, strides = rest[: len(rest) // 2], rest[len(rest) // 2 :]
    inside: list[Formula] = []
    offset, coordinates = lift(0), []
    with evaluator.collecting() as checks:
        path = evaluator.path(evaluator.structure.paths[operation])
        for size, stride in zip(sizes, strides, strict=True):
            coordinate = name(evaluator.unknowns.fresh("coordinate", Range(0, INFINITY)))
            inside += [at_least(coordinate), _within(evaluator, size, coordinate)]
            coordinates.append(coordinate)
            offset = offset + coordinate * evaluator.integer(stride)
        pointer: SymbolicPointer = evaluator.pointer(base).moved(offset)
    with evaluator.collecting() as coordinate_checks:
        _read_coordinates(evaluator, operation)
        element = _element_of_block(evaluator, operation, coordinates)
    cases = tuple(replace(case, condition=both(case.condition, element)) for case in pointer.cases)
    return SymbolicAccess(
        operation, kind, SymbolicPointer(cases), path, both(*inside),
        frozenset(coordinate_checks - checks), frozenset(checks),
    )  # fmt: skip


def _within(evaluator: Evaluator, size: Value, coordinate: Polynomial) -> Formula:
    """Return that a device finds a coordinate below a size.

    It reads the size as unsigned, so a negative one bounds nothing; it does not allow 0.
    """
    extent = evaluator.integer(size)
    is_below = at_least(extent, coordinate + 1)
    if evaluator.unknowns.decides(at_least(extent, 1)):
        return is_below
    return either(is_below, at_least(0, extent))


def _element_of_block(
    evaluator: Evaluator, operation: Operation, coordinates: Sequence[Polynomial]
) -> Formula:
    """Return that coordinates are those of an element of the block."""
    if _has_rows(operation):
        rows, column = operation.operands[1:3]
        block = operation.results[0] if operation.results else operation.operands[-1]
        at = lanes(evaluator.unknowns, shape_of(block.type))
        begins = [evaluator.integer(rows, at[:1]), evaluator.integer(column) + at[1]]
        return both(*map(equal, coordinates, begins))
    is_load = operation.name == "tt.descriptor_load"
    starts = operation.operands[1 if is_load else 2 :]
    shape = shape_of((operation.results[0] if is_load else operation.operands[1]).type)
    if not len(starts) == len(shape) == len(coordinates):
        return TRUE
    begins = [evaluator.integer(start) for start in starts]
    at = lanes(evaluator.unknowns, shape)
    return both(*(equal(c, begin + i) for c, begin, i in zip(coordinates, begins, at, strict=True)))


def _has_rows(operation: Operation) -> bool:
    """Return whether an access names the rows of its block one by one."""
    return operation.name in ("tt.descriptor_gather", "tt.descriptor_scatter")


def _read_coordinates(evaluator: Evaluator, operation: Operation) -> None:
    """Read where a block begins, for the checks that its coordinates do not wrap."""
    has_rows = _has_rows(operation)
    for number, coordinate in enumerate(operation.operands):
        shape = shape_of(coordinate.type)
        if element_of(coordinate.type) == "i32" and (not shape or (has_rows and number == 1)):
            evaluator.integer(coordinate, lanes(evaluator.unknowns, shape))
