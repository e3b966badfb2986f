"""Rewrites a kernel so that its integers of 8, 16 and 32 bits have 64 and do not wrap.

Run beside the kernel as it is, it shows which accesses use an integer that wrapped. What treats an
integer as unsigned gets it in its own width; every operation that this module does not know
computes in its own types, between a truncation and an extension.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from compiler.ttir_to_numpy.ir import IrBlock, Operation, Value
from compiler.ttir_to_numpy.mlir_types import element_of

NARROW = {"i8": 8, "i16": 16, "i32": 32}
_LAST = re.compile(r"i(?:8|16|32)(>?)$", re.ASCII)
_EXACT = frozenset(
    {
        "arith.addi", "arith.andi", "arith.ceildivsi", "arith.cmpi", "arith.constant",
        "arith.divsi", "arith.extsi", "arith.floordivsi", "arith.index_cast", "arith.maxsi",
        "arith.minsi", "arith.muli", "arith.ori", "arith.remsi", "arith.select", "arith.shli",
        "arith.shrsi", "arith.subi", "arith.xori", "math.absi",
        "cf.br", "cf.cond_br", "scf.condition", "scf.for", "scf.if", "scf.while", "scf.yield",
        "tt.addptr", "tt.broadcast", "tt.cat", "tt.expand_dims", "tt.join", "tt.load",
        "tt.make_tensor_descriptor", "tt.reshape", "tt.return", "tt.splat", "tt.split", "tt.store",
        "tt.trans", "tt.unsplat",
    }
)  # fmt: skip
"""Operations that mean the same in 64 bits."""
_UNSIGNED = frozenset(
    {
        "arith.ceildivui", "arith.divui", "arith.extui", "arith.index_castui", "arith.maxui",
        "arith.minui", "arith.remui", "arith.shrui",
    }
)  # fmt: skip
_WHOLE = frozenset({"tt.map_elementwise", "tt.reduce", "tt.scan"})
"""Operations whose regions are functions, which keep their types."""
_FIRST_UNSIGNED = 6
"""The first predicate of arith.cmpi that compares as unsigned."""
_SAME = "arith.index_cast"
"""The operation whose text is a conversion to the result's type, here to 64 bits."""


def with_exact_integers(function: Operation) -> None:
    """Rewrite a kernel's function in place."""
    rewriting = _Rewriting()
    for region in function.regions:
        for block in region:
            rewriting.rewrite(block)


@dataclass
class _Rewriting:
    """The rewriting of one function, which remembers the types that were widened."""

    own: dict[Value, str] = field(default_factory=dict)

    def rewrite(self, block: IrBlock) -> None:
        """Rewrite the operations of a block, and those inside of them."""
        self._widen(block.arguments)
        made: list[Operation] = []
        for operation in block.operations:
            before, after = self._around(operation)
            made += [*before, operation, *after]
            if operation.name not in _WHOLE:
                for region in operation.regions:
                    for inner in region:
                        self.rewrite(inner)
        block.operations = made

    def _widen(self, values: list[Value]) -> None:
        for value in values:
            if element_of(value.type) in NARROW:
                self.own[value] = value.type
                value.type = _LAST.sub(r"i64\1", value.type)

    def _around(self, operation: Operation) -> tuple[list[Operation], list[Operation]]:
        """Rewrite an operation; return what comes before and after it."""
        name = operation.name
        if name == "arith.trunci" and element_of(operation.results[0].type) != "i1":
            operation.name = _SAME
        elif name in _UNSIGNED or (
            name == "arith.cmpi" and operation.integer("predicate") >= _FIRST_UNSIGNED
        ):
            before = self._unsigned_operands(operation)
            if name in ("arith.extui", "arith.index_castui") and before:
                operation.name = _SAME
            self._widen(operation.results)
            return before, []
        elif name not in _EXACT or _is_left(operation):
            return self._in_own_types(operation)
        self._widen(operation.results)
        return [], []

    def _unsigned_operands(self, operation: Operation) -> list[Operation]:
        """Have the operands hold the bits of their own width; return what masks them."""
        before: list[Operation] = []
        for number, operand in enumerate(operation.operands):
            width = NARROW.get(element_of(self.own.get(operand, "")))
            if width is None:
                continue
            mask = Operation("arith.constant", [])
            mask.attributes["value"] = f"dense<{(1 << width) - 1}> : {operand.type}"
            mask.results = [Value("", operand.type, mask)]
            masked = Operation("arith.andi", [operand, mask.results[0]])
            masked.results = [Value("", operand.type, masked)]
            before += [mask, masked]
            operation.operands[number] = masked.results[0]
        return before

    def _in_own_types(self, operation: Operation) -> tuple[list[Operation], list[Operation]]:
        """Have an operation take and give integers of the types that it is written for."""
        before, after = list[Operation](), list[Operation]()
        for number, operand in enumerate(operation.operands):
            if operand in self.own:
                cut = Operation("arith.trunci", [operand])
                cut.results = [Value("", self.own[operand], cut)]
                before.append(cut)
                operation.operands[number] = cut.results[0]
        for number, result in enumerate(operation.results):
            if element_of(result.type) in NARROW:
                inner = Value("", result.type, operation)
                operation.results[number] = inner
                wide = Operation("arith.extsi", [inner], results=[result])
                result.made_by = wide
                self._widen([result])
                after.append(wide)
        return before, after


def _is_left(operation: Operation) -> bool:
    """Return whether an operation of those that are exact keeps its types nevertheless."""
    if operation.name == "arith.shli":  # a shift by any number may be inexact
        made_by = operation.operands[1].made_by
        return made_by is None or made_by.name != "arith.constant"
    return '"0x' in operation.attributes.get("value", "")
