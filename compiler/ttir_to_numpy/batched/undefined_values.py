"""Finds the operations whose results may have lanes without a defined value.

Such are loads that have a mask and no `other`, gathers and histograms. A load whose lanes only
reach accesses and selections under the same mask needs no second run.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from compiler.lines.source_location import SourceLocation
from compiler.ttir_to_numpy import mlir_types
from compiler.ttir_to_numpy.batched.reachable import Reachable
from compiler.ttir_to_numpy.ir import Operation, UserLocations, Value

_SEGMENTS = "operandSegmentSizes"
_LANE_LOCAL = ("arith.", "math.", "tt.fp_to_fp", "tt.clampf", "tt.precise_", "tt.mulhiui")
_POINTERS = frozenset({"tt.addptr", "tt.bitcast", "tt.int_to_ptr", "tt.ptr_to_int"})
_SPREADING = frozenset({"tt.splat", "tt.broadcast"})
_MOVING = frozenset({"tt.expand_dims", "tt.trans", "tt.reshape"})
_REPEATED = _SPREADING | _MOVING | {"tt.make_range", "tt.get_program_id", "tt.get_num_programs"}
_STORES = {"tt.store": 2, "tt.atomic_rmw": 2, "tt.atomic_store": 2, "tt.load": 1}
"""Accesses with a mask, by the number of operands before it."""
_SYMBOL = re.compile(r"(?:[\w.]+\.)?(_*[A-Za-z]\w*?)__")
_LIBRARY = "triton.language"
_MAX_FOLLOWED = 500
Kind = Literal["load", "gather", "histogram"]
Part = tuple[tuple[str, ...], int]
"""A condition: how its lanes were moved, and the number of its value."""


@dataclass(frozen=True, slots=True)
class UndefinedSource:
    """One operation: what it is, where, and the names of its result and of its mask, or "".

    `mixed_by` is the first operation that mixes its lanes: `tl.sum`, and its line.
    """

    kind: Kind
    location: SourceLocation | None
    name: str = ""
    mask: str = ""
    mixed_by: str = ""
    mixed_at: int | None = None


@dataclass(frozen=True)
class UndefinedSources:
    """The `sources` of a kernel, and the number of each operation that is one."""

    sources: tuple[UndefinedSource, ...]
    numbers: Mapping[Operation, int]

    def text_of(self, operation: Operation) -> str | None:
        """Return the text for an operation's lanes that have no value; None if all have one."""
        number = self.numbers.get(operation)
        return None if number is None else f"undefined({number})"


def undefined_sources(reachable: Reachable, locations: UserLocations) -> UndefinedSources:
    """Return the operations whose undefined lanes may reach something.

    Functions that regions of reductions and scans call have no separate lanes.
    """
    sources: list[UndefinedSource] = []
    numbers: dict[Operation, int] = {}
    unfollowed, lanes = reachable.inside_regions(), _Lanes(reachable)
    for function, operations in reachable.operations.items():
        if function in unfollowed:
            continue
        uses = _uses(operations)
        for operation in operations:
            source = _source_of(operation, uses, lanes, locations)
            if source is not None:
                numbers[operation] = len(sources)
                sources.append(source)
    return UndefinedSources(tuple(sources), numbers)


def _source_of(
    operation: Operation,
    uses: Mapping[Value, list[Operation]],
    lanes: "_Lanes",
    locations: UserLocations,
) -> UndefinedSource | None:
    where = locations.location_of(operation)
    if operation.name in {"tt.gather", "tt.histogram"}:
        kind: Kind = "gather" if operation.name == "tt.gather" else "histogram"
        return UndefinedSource(kind, where, operation.results[0].name)
    mask = _mask_of_load(operation)
    if mask is None:
        return None
    mixing = lanes.mixing(operation.results[0], lanes.parts(mask), uses)
    if mixing is None:
        return None
    at = locations.location_of(mixing)
    name = operation.results[0].name
    line = None if at is None else at.line
    mask_name = mask.name if mask.name != name else ""  # else MLIR named it by the whole statement
    return UndefinedSource("load", where, name, mask_name, _words_of(mixing), line)


def _mask_of_load(operation: Operation) -> Value | None:
    """Return the mask of a load without `other`, None for other operations."""
    if operation.name != "tt.load":
        return None
    sizes = operation.integers(_SEGMENTS) or [1] * len(operation.operands)
    return operation.operands[1] if (*sizes, 0, 0)[1:3] == (1, 0) else None


def _uses(operations: list[Operation]) -> dict[Value, list[Operation]]:
    uses: dict[Value, list[Operation]] = {}
    for operation in operations:
        passed = (value for _, values in operation.successors for value in values)
        for value in dict.fromkeys([*operation.operands, *passed]):
            uses.setdefault(value, []).append(operation)
    return uses


def _words_of(operation: Operation) -> str:
    """Return the name of an operation that mixes lanes: `tl.sum`, `tl.dot`, "" for control flow."""
    if operation.name == "tt.call":
        symbol = operation.attributes.get("callee", "").strip('@"')
        match = _SYMBOL.match(symbol)
        name = match[1] if match else symbol
        return f"tl.{name}" if symbol.startswith(_LIBRARY) else name
    known = {"tt.reduce": "a reduction", "tt.scan": "a scan", "tt.dot": "tl.dot"}
    if operation.name in known:
        return known[operation.name]
    is_plain = operation.name.startswith("tt.") and operation.name != "tt.return"
    return f"tl.{operation.name.removeprefix('tt.')}" if is_plain else ""


class _Lanes:
    """Follows lanes that are undefined where a mask is false."""

    def __init__(self, reachable: Reachable) -> None:
        self._reachable = reachable
        self._local: dict[Operation, bool] = {}
        self._numbers: dict[Value, int] = {}
        computed: dict[tuple[object, ...], int] = {}
        for operations in reachable.operations.values():
            for operation in operations:
                if operation.name.startswith(_LANE_LOCAL) or operation.name in _REPEATED:
                    self._add(operation, computed)

    def parts(self, mask: Value) -> frozenset[Part]:
        """Return the conditions that must all hold where `mask` does."""
        parts: set[Part] = set()
        pending: list[tuple[Value, tuple[str, ...]]] = [(mask, ())]
        seen = set(pending)
        for value, moves in pending:
            made = value.made_by
            name = "" if made is None else made.name
            if made is None or (name != "arith.andi" and name not in _SPREADING | _MOVING):
                parts.add((moves, self._number(value)))
                continue
            moves = (_moving(made), *moves) if name in _MOVING else moves
            further = [
                (operand, moves) for operand in made.operands if (operand, moves) not in seen
            ]
            seen.update(further)
            pending += further
        return frozenset(parts)

    def _number(self, value: Value) -> int:
        return self._numbers.setdefault(value, -len(self._numbers) - 1)

    def _add(self, operation: Operation, computed: dict[tuple[object, ...], int]) -> None:
        """Give the results of an operation numbers: equal ones to equal computations."""
        attributes = tuple(sorted(operation.attributes.items()))
        operands = tuple(self._number(operand) for operand in operation.operands)
        for place, result in enumerate(operation.results):
            key = (operation.name, attributes, result.type, place, operands)
            self._numbers[result] = computed.setdefault(key, len(computed))

    def mixing(
        self, value: Value, parts: frozenset[Part], uses: Mapping[Value, list[Operation]]
    ) -> Operation | None:
        """Return the first operation that uses such lanes where the mask does not hold."""
        pending, seen = [(value, parts)], {value}
        for current, own in pending:
            if len(seen) > _MAX_FOLLOWED:
                return uses[current][0]
            for use in uses.get(current, []):
                if self._is_guarded(use, current, own):
                    continue
                moved = self._moved(use, own)
                if moved is None:
                    return use
                for result in use.results:
                    if result not in seen:
                        seen.add(result)
                        pending.append((result, moved))
        return None

    def _is_guarded(self, use: Operation, value: Value, parts: frozenset[Part]) -> bool:
        """Return whether `use` ignores the lanes of `value` that are undefined."""
        operands = use.operands
        if use.name in _STORES:
            sizes = use.integers(_SEGMENTS)
            place = _STORES[use.name]
            has_mask = sizes[1] == 1 if use.name == "tt.load" and sizes else len(operands) > place
            if not has_mask or value in operands[place:]:
                return False
            return parts <= self.parts(operands[place])
        if use.name == "arith.select":
            is_kept = value is operands[1] and value not in (operands[0], operands[2])
            return is_kept and parts <= self.parts(operands[0])
        if use.name == "arith.andi" and mlir_types.element_of(value.type) == "i1":
            return any(parts <= self.parts(operand) for operand in operands if operand is not value)
        return False

    def _moved(self, use: Operation, parts: frozenset[Part]) -> frozenset[Part] | None:
        """Return the conditions of the lanes that `use` computes, None if it mixes lanes."""
        if use.name.startswith(_LANE_LOCAL) or use.name in _POINTERS | _SPREADING:
            return parts
        if use.name in _MOVING:
            return frozenset(((*moves, _moving(use)), number) for moves, number in parts)
        if use.name == "tt.call":
            called = self._reachable.called(use)
            if called is not None and self._is_local(called):
                return parts
        return None

    def _is_local(self, function: Operation) -> bool:
        """Return whether a function computes each lane by itself."""
        if function not in self._local:
            self._local[function] = False  # until it is known
            self._local[function] = all(
                operation.name.startswith((*_LANE_LOCAL, "tt.return", "ub.poison"))
                or operation.name in _SPREADING
                or (
                    operation.name == "tt.call"
                    and (called := self._reachable.called(operation)) is not None
                    and self._is_local(called)
                )
                for operation in self._reachable.operations[function]
            )
        return self._local[function]


def _moving(operation: Operation) -> str:
    """Return the text of how an operation moves lanes."""
    shape = mlir_types.shape_of(operation.results[0].type)
    axes = operation.attributes.get("axis", operation.attributes.get("order", ""))
    return f"{operation.name} {shape if operation.name == 'tt.reshape' else axes}"
