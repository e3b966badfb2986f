"""Accesses that a proof covers: what they use depends on no integer that the proof excludes.

Bounds and races are about exact integers. A run in 64 bits has none where a number needs more bits
than that, or where it divides by 0, and a proof presupposes that no access uses such a number. So
what seems to contradict a proof runs up to four times more, with other values in the place of such
numbers: what all runs access alike does not depend on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from compiler.ttir_to_numpy.ir import IrBlock, Operation, Value
from compiler.ttir_to_numpy.mlir_types import bits_of, constant_of, element_of
from launch.recheck.access_memory import Event, ReachedElements
from launch.recheck.exact_integers import WHOLE, constant, made_of, truth_like

STAND_INS = (
    (3, 1),
    (1_000_004, 1_000),
    ((1 << 61) + 9, (1 << 35) + 7),
    (-(1 << 61) - 22, -(1 << 37) - 11),
)
"""The value of the first stand-in of each run, and what each further one adds to it.

They are small and large, of both signs, and differ from each other, in another way in each run: a
quotient, a bound, a remainder or a difference of them does not come out alike in all runs.
"""
_EQUAL, _DIFFERENT, _AT_LEAST = 0, 1, 5
_DIVISIONS = frozenset(
    {
        "arith.ceildivsi", "arith.ceildivui", "arith.divsi", "arith.divui", "arith.floordivsi",
        "arith.remsi", "arith.remui",
    }
)  # fmt: skip


def with_stand_ins(function: Operation, own: Mapping[Value, str]) -> list[Operation]:
    """Have operations in 64 bits give a stand-in where they are not exact.

    `function` has exact integers; `own` are the types that its values had. Returns the constants
    that are the stand-ins.
    """
    rewriting = _Rewriting(own)
    for region in function.regions:
        for block in region:
            rewriting.rewrite(block)
    return rewriting.stand_ins


def set_stand_ins(stand_ins: Sequence[Operation], first: int, step: int) -> None:
    """Give each stand-in its value."""
    for number, stand_in in enumerate(stand_ins):
        made = constant(first + number * step, stand_in.results[0].type)
        stand_in.attributes["value"] = made.attributes["value"]


class _Rewriting:
    def __init__(self, own: Mapping[Value, str]) -> None:
        self._own = own
        self.stand_ins: list[Operation] = []
        self._made: list[Operation] = []

    def rewrite(self, block: IrBlock) -> None:
        """Rewrite the operations of a block, and those inside of them."""
        outer, self._made = self._made, []
        for operation in block.operations:
            if operation.name not in WHOLE:
                for region in operation.regions:
                    for inner in region:
                        self.rewrite(inner)
            self._rewrite(operation)
        block.operations, self._made = self._made, outer

    def _rewrite(self, operation: Operation) -> None:
        name, results = operation.name, operation.results
        is_wide = len(results) == 1 and element_of(results[0].type) == "i64"
        if is_wide and name == "arith.muli":
            self._product(operation)
        elif is_wide and name in ("arith.addi", "arith.subi"):
            self._sum(operation)
        elif is_wide and name == "arith.shli":
            self._shifted(operation)
        elif is_wide and name in _DIVISIONS:
            result = self._inner(operation)
            self._made.append(operation)
            zero = self._constant(0, operation.operands[1].type)
            self._choose(result, operation, self._compared(_DIFFERENT, operation.operands[1], zero))
        else:
            self._made.append(operation)

    def _product(self, operation: Operation) -> None:
        """Compare the upper half of a product with the sign of the lower one."""
        type_ = operation.results[0].type
        result = self._inner(operation)
        operation.name = "arith.mulsi_extended"
        upper = Value("", type_, operation)
        operation.results.append(upper)
        self._made.append(operation)
        sign = self._add("arith.shrsi", operation.results[0], self._constant(63, type_))
        self._choose(result, operation, self._compared(_EQUAL, upper, sign))

    def _sum(self, operation: Operation) -> None:
        """Compare the sign of a sum, or of a difference, with those of its operands."""
        a, b = operation.operands
        result = self._inner(operation)
        self._made.append(operation)
        inner = operation.results[0]
        sign = self._add("arith.xori", a, inner)
        other = self._add("arith.xori", *((b, inner) if operation.name == "arith.addi" else (a, b)))
        both = self._add("arith.andi", sign, other)
        self._choose(
            result, operation, self._compared(_AT_LEAST, both, self._constant(0, both.type))
        )

    def _shifted(self, operation: Operation) -> None:
        """Shift a number back; only 0 is exact where it loses all of its bits."""
        a, count = operation.operands
        made_by = count.made_by
        result = self._inner(operation)
        self._made.append(operation)
        bits = bits_of(element_of(self._own.get(result, result.type)))
        text, is_one = ("", False) if made_by is None else _number_of(made_by)
        if is_one and 0 <= int(text) < bits:
            back = self._add("arith.shrsi", operation.results[0], count)
            exact = self._compared(_EQUAL, back, a)
        else:
            exact = self._compared(_EQUAL, a, self._constant(0, a.type))
        self._choose(result, operation, exact)

    def _inner(self, operation: Operation) -> Value:
        """Have an operation give another value than its result, which is returned."""
        [result] = operation.results
        operation.results = [Value("", result.type, operation)]
        return result

    def _choose(self, result: Value, operation: Operation, is_exact: Value) -> None:
        stand_in = constant(0, result.type)
        self.stand_ins.append(stand_in)
        operands = [is_exact, operation.results[0], stand_in.results[0]]
        chosen = Operation("arith.select", operands, [result])
        result.made_by = chosen
        self._made += [stand_in, chosen]

    def _compared(self, predicate: int, a: Value, b: Value) -> Value:
        made = self._add("arith.cmpi", a, b, truth_like(a.type))
        assert made.made_by is not None
        made.made_by.attributes["predicate"] = f"{predicate} : i64"
        return made

    def _add(self, name: str, a: Value, b: Value, type_: str | None = None) -> Value:
        made = made_of(name, [a, b], type_ or a.type)
        self._made.append(made)
        return made.results[0]

    def _constant(self, number: int, type_: str) -> Value:
        made = constant(number, type_)
        self._made.append(made)
        return made.results[0]


def _number_of(operation: Operation) -> tuple[str, bool]:
    return constant_of(operation) if operation.name == "arith.constant" else ("", False)


def alike(traces: Sequence[Sequence[Event]]) -> list[ReachedElements]:
    """Return what all runs access alike, until they no longer do the same operations."""
    shared = list[ReachedElements]()
    for events in zip(*traces, strict=False):
        accesses = [event for event in events if isinstance(event, ReachedElements)]
        if not accesses:
            continue
        first = accesses[0]
        if len(accesses) < len(events) or any(access.access != first.access for access in accesses):
            break
        live = np.asarray(True)
        for access in accesses:
            live = live & (access.elements == first.elements)
            live = live & (np.asarray(access.buffer) == first.buffer)
            live = live if access.live is None else live & access.live
        shared.append(replace(first, live=None if live.all() else live))
    return shared
