"""Follows a loaded value to where it is reduced or stored.

What masked lanes hold may be anything, so no runs show that nothing depends on it: a comparison, or
a maximum, may hide each value that is tried. So a mask without `other` needs a kernel in which
masked lanes reach masked lanes alone, and one with `other` reductions that do not notice the value.
"""

from __future__ import annotations

from compiler.ttir_to_numpy.ir import Operation, Value
from compiler.ttir_to_numpy.mlir_types import constant_of, element_of, shape_of
from launch.recheck.access_slice import in_text_order

_REDUCED = frozenset({"tt.reduce", "tt.scan", "tt.dot"})
_REARRANGED = frozenset(
    {"arith.extsi", "arith.extui", "tt.broadcast", "tt.expand_dims", "tt.reshape", "tt.trans"}
)
"""Operations that give 0 wherever the operand is 0."""
_SMOOTH = frozenset(
    {
        "arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.negf", "arith.extf",
        "arith.truncf", "math.exp", "math.exp2", "math.log", "math.log2", "math.sqrt", "math.rsqrt",
        "math.sin", "math.cos", "math.erf", "math.fma", "math.absf", "tt.broadcast",
        "tt.expand_dims", "tt.fp_to_fp", "tt.precise_divf", "tt.precise_sqrt", "tt.reshape",
        "tt.splat", "tt.trans",
    }
)  # fmt: skip
"""Operations that give NaN wherever an operand is NaN."""


def is_only_reduced(value: Value, function: Operation, *, is_float: bool) -> bool:
    """Return whether NaN in `value` stays NaN on every way to a reduction or a store.

    Integers have no NaN, so they may only be stored.
    """
    reached = {value}
    for operation in in_text_order(function):
        uses = [operand for operand in operation.operands if operand in reached]
        if not uses:
            continue
        if operation.name in _REDUCED:
            if not is_float or (operation.name == "tt.reduce" and len(operation.operands) > 1):
                return False  # the index of a maximum may be that of a masked lane
            continue
        if operation.name == "tt.store":
            if operation.operands[1] not in uses or len(uses) > 1:
                return False
        elif operation.name in _SMOOTH:
            reached.update(operation.results)
        else:
            return False
    return True


Lane = tuple[object, ...]
_Place = tuple[Value, Lane]
"""A value, and for each of its axes the name of one; 0 for an axis of one element."""
_SINKS = {"tt.store": 2, "tt.load": 1, "tt.atomic_rmw": 2}
"""Masked accesses, with the number of the operand that is the mask."""
_BY_LANE = frozenset(
    {"tt.addptr", "tt.bitcast", "tt.clampf", "tt.fp_to_fp", "tt.precise_divf", "tt.precise_sqrt"}
)
"""Operations besides those of `arith` and `math` that compute each lane on its own."""
_MAX_DEPTH = 200


def is_used_under_its_mask(load: Operation, function: Operation) -> bool:
    """Return whether what a load has in masked lanes reaches nothing but lanes masked like it."""
    if len(load.operands) <= _SINKS["tt.load"]:
        return False
    lanes, reached, sinks = _Lanes(), {load.results[0]}, list[Operation]()
    for operation in in_text_order(function):
        if not any(operand in reached for operand in operation.operands):
            continue
        if operation.name in _SINKS:
            sinks.append(operation)
        elif operation.results and lanes.operands(operation, _axes(operation.results[0])):
            reached.update(operation.results)
        else:
            return False
    return all(lanes.is_masked_like(load, sink, reached) for sink in sinks)


def is_summed(value: Value, function: Operation) -> bool:
    """Return whether an integer reaches nothing but sums, as it is: none notices a 0."""
    reached = {value}
    for operation in in_text_order(function):
        uses = [operand for operand in operation.operands if operand in reached]
        if uses and operation.name in _REARRANGED:
            reached.update(operation.results)
        elif uses and not _is_sum(operation):
            return False
    return True


def _is_sum(operation: Operation) -> bool:
    body = [inner for region in operation.regions for block in region for inner in block.operations]
    names = [inner.name for inner in body]
    return operation.name == "tt.reduce" and names == ["arith.addi", "tt.reduce.return"]


def _axes(value: Value) -> Lane:
    return tuple(0 if size == 1 else axis for axis, size in enumerate(shape_of(value.type), 1))


class _Lanes:
    """Numbers the terms that lanes of values are computed from: equal terms have one number."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[object, ...], int] = {}
        self._known: dict[_Place, int] = {}

    def operands(self, operation: Operation, at: Lane) -> list[_Place] | None:
        """Return the lanes that a lane of the result is computed from; None if unknown."""
        name, operands = operation.name, operation.operands
        if len(operation.results) != 1 or operation.regions or not operands:
            return None
        if name == "tt.expand_dims":
            axis = operation.integer("axis")
            return [(operands[0], at[:axis] + at[axis + 1 :])]
        if name == "tt.broadcast":
            sizes = shape_of(operands[0].type)
            return [
                (operands[0], tuple(0 if n == 1 else a for n, a in zip(sizes, at, strict=True)))
            ]
        if name == "tt.trans":
            order = operation.integers("order")
            return [(operands[0], tuple(at[order.index(axis)] for axis in range(len(at))))]
        if name == "tt.splat" or name in _BY_LANE or name.startswith(("arith.", "math.")):
            return [(operand, at if shape_of(operand.type) else ()) for operand in operands]
        return None

    def is_masked_like(self, load: Operation, sink: Operation, reached: set[Value]) -> bool:
        """Return whether a lane of an access is masked wherever it uses a masked one of a load."""
        number = _SINKS[sink.name]
        if len(sink.operands) <= number or any(
            operand in reached for operand in sink.operands[number + 1 :]
        ):
            return False
        at = _axes(sink.operands[0])
        live = self._parts(sink.operands[number], at)
        pending = [(operand, at if shape_of(operand.type) else ()) for operand in sink.operands]
        seen = set[_Place]()
        while pending:
            value, lane = pending.pop()
            if value not in reached or (value, lane) in seen:
                continue
            seen.add((value, lane))
            if value is load.results[0]:
                if not self._parts(load.operands[1], lane) <= live:
                    return False
            elif value.made_by is not None:
                pending += self.operands(value.made_by, lane) or []
        return True

    def _parts(self, mask: Value, at: Lane) -> set[int]:
        """Return the terms that all hold where a lane of a mask does."""
        pending, parts, seen = [(mask, at)], set[int](), set[_Place]()
        while pending:
            place = pending.pop()
            if place in seen:
                continue
            seen.add(place)
            made_by = place[0].made_by
            is_passed = made_by is not None and made_by.name in _CONJUNCTIONS
            inner = self.operands(made_by, place[1]) if is_passed and made_by is not None else None
            if inner is None:
                parts.add(self._term(*place))
            else:
                pending += inner
        return parts

    def _term(self, value: Value, at: Lane, depth: int = 0) -> int:
        if (value, at) not in self._known:
            made_by = value.made_by
            key: tuple[object, ...] = (value, at)
            if made_by is not None and depth < _MAX_DEPTH:
                attributes = tuple(sorted(made_by.attributes.items()))
                inner = self.operands(made_by, at)
                if inner is not None and made_by.name in _MOVED:
                    self._known[value, at] = self._term(*inner[0], depth + 1)
                    return self._known[value, at]
                if inner is not None:
                    terms = tuple(self._term(*place, depth + 1) for place in inner)
                    key = (made_by.name, attributes, element_of(value.type), *terms)
                elif made_by.name == "tt.make_range":
                    key = ("range", attributes, at)
                elif made_by.name == "arith.constant":
                    key = _constant_key(made_by, value, at)
            self._known[value, at] = self._numbers.setdefault(key, len(self._numbers))
        return self._known[value, at]


_MOVED = frozenset({"tt.broadcast", "tt.expand_dims", "tt.splat", "tt.trans"})
_CONJUNCTIONS = _MOVED | {"arith.andi"}


def _constant_key(operation: Operation, value: Value, at: Lane) -> tuple[object, ...]:
    number, is_one = constant_of(operation)
    return ("constant", number, element_of(value.type)) if is_one else (value, at)
