"""Rewrites a kernel so that its integers of 8, 16 and 32 bits have 64 and do not wrap.

Run next to the unchanged kernel, it shows which accesses use an integer that wrapped. What treats
an integer as unsigned takes a negative one as that of its width; every operation that this module
does not know computes in its own types, between a truncation and an extension.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from compiler.ttir_to_numpy.ir import IrBlock, Operation, Value
from compiler.ttir_to_numpy.mlir_types import element_of

NARROW = {"i8": 8, "i16": 16, "i32": 32}
_NOT_NEGATIVE = re.compile(r"(?:dense<)?\d+>? : ", re.ASCII)
_LAST = re.compile(r"i(?:8|16|32)(>?)$", re.ASCII)
_EXACT = frozenset(
    {
        "arith.addi", "arith.andi", "arith.ceildivsi", "arith.cmpi", "arith.constant",
        "arith.divsi", "arith.extsi", "arith.floordivsi", "arith.index_cast", "arith.maxsi",
        "arith.minsi", "arith.muli", "arith.ori", "arith.remsi", "arith.select", "arith.shli",
        "arith.shrsi", "arith.subi", "arith.xori", "math.absi",
        "cf.br", "cf.cond_br", "scf.condition", "scf.for", "scf.if", "scf.while", "scf.yield",
        "tt.addptr", "tt.broadcast", "tt.cat", "tt.descriptor_gather", "tt.descriptor_load",
        "tt.descriptor_reduce", "tt.descriptor_scatter", "tt.descriptor_store", "tt.expand_dims",
        "tt.gather", "tt.join", "tt.load",
        "tt.make_tensor_descriptor", "tt.reduce.return", "tt.reshape", "tt.return", "tt.splat",
        "tt.split", "tt.store", "tt.trans", "tt.unsplat",
    }
)  # fmt: skip
"""Operations that mean the same in 64 bits."""
_COMBINING = frozenset(
    {"arith.andi", "arith.maxsi", "arith.minsi", "arith.ori", "arith.xori", "tt.reduce.return"}
)
_SIGNED = {
    "arith.ceildivui": "arith.ceildivsi", "arith.divui": "arith.divsi",
    "arith.extui": "arith.index_cast", "arith.index_castui": "arith.index_cast",
    "arith.remui": "arith.remsi", "arith.shrui": "arith.shrsi",
}  # fmt: skip
"""Operations on unsigned integers by name; the same on integers of 64 bits from 0 on."""
_CHOICES = {"arith.minui": True, "arith.maxui": False}
"""Operations that return one of their operands, as it is; True for the smaller one."""
WHOLE = frozenset({"tt.map_elementwise", "tt.reduce", "tt.scan"})
"""Operations whose regions are functions, which keep their types."""
_NATURAL = frozenset({"tt.get_num_programs", "tt.get_program_id", "tt.make_range"})
_LESS, _AT_MOST, _FIRST_UNSIGNED = 2, 3, 6
"""Predicates of arith.cmpi; from the last one on, it compares as unsigned."""
_BY_SIGN = 4
"""Between a predicate of unsigned integers and the same one of signed ones."""
_SAME = "arith.index_cast"
"""The operation whose text is a conversion to the result's type, here to 64 bits."""


def with_exact_integers(function: Operation) -> Mapping[Value, str]:
    """Rewrite a kernel's function in place; return the types that its values had."""
    rewriting = _Rewriting()
    for region in function.regions:
        for block in region:
            rewriting.rewrite(block)
    return rewriting.own


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
            if operation.name not in WHOLE or _is_exact_reduction(operation):
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
        elif self._is_unsigned(operation):
            return self._on_signed(operation), []
        elif not (name in _EXACT or _is_exact_reduction(operation)) or _is_left(operation):
            return self._in_own_types(operation)
        self._widen(operation.results)
        return [], []

    def _is_unsigned(self, operation: Operation) -> bool:
        """Return whether an operation treats integers that were widened as unsigned."""
        name = operation.name
        is_compared = name == "arith.cmpi" and operation.integer("predicate") >= _FIRST_UNSIGNED
        return (name in _SIGNED or name in _CHOICES or is_compared) and (
            operation.operands[0] in self.own
        )

    def _on_signed(self, operation: Operation) -> list[Operation]:
        """Have an operation on unsigned integers take those of 64 bits; return what comes before.

        A negative one is 2^32 more, which changes no bit. One that is larger than its type stays as
        it is: every proof about it presupposes that it fits.
        """
        name = operation.name
        before = list[Operation]()
        unsigned = [self._unsigned(operand, before) for operand in operation.operands]
        if name in _CHOICES:
            is_less = made_of("arith.cmpi", unsigned, truth_like(unsigned[0].type))
            is_less.attributes["predicate"] = f"{_AT_MOST} : i64"
            before.append(is_less)
            chosen = operation.operands if _CHOICES[name] else operation.operands[::-1]
            operation.name, operation.operands = "arith.select", [is_less.results[0], *chosen]
        elif name == "arith.cmpi":
            operation.attributes["predicate"] = f"{operation.integer('predicate') - _BY_SIGN} : i64"
            operation.operands = unsigned
        else:
            operation.name, operation.operands = _SIGNED[name], unsigned
        self._widen(operation.results)
        return before

    def _unsigned(self, value: Value, before: list[Operation]) -> Value:
        """Return an operand as an unsigned integer; what makes it goes to `before`."""
        if _is_natural(value):
            return value
        own = self.own[value]
        zero, full = (constant(n, value.type) for n in (0, 1 << NARROW[element_of(own)]))
        is_less = made_of("arith.cmpi", [value, zero.results[0]], truth_like(value.type))
        is_less.attributes["predicate"] = f"{_LESS} : i64"
        more = made_of("arith.addi", [value, full.results[0]], value.type)
        chosen = made_of("arith.select", [is_less.results[0], more.results[0], value], value.type)
        before += [zero, full, is_less, more, chosen]
        return chosen.results[0]

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


def made_of(name: str, operands: Sequence[Value], type_: str) -> Operation:
    """Return an operation with one result."""
    operation = Operation(name, list(operands))
    operation.results = [Value("", type_, operation)]
    return operation


def constant(number: int, type_: str) -> Operation:
    """Return a constant of one integer."""
    constant = made_of("arith.constant", [], type_)
    constant.attributes["value"] = f"dense<{number}> : {type_}"
    return constant


def truth_like(type_: str) -> str:
    """Return the type of truth values with the shape of a type of 64 bits."""
    return type_[: -len("i64")] + "i1" if type_ == "i64" else type_[: -len("i64>")] + "i1>"


def _is_natural(value: Value) -> bool:
    """Return whether a value is at least 0, by the operation that makes it."""
    made_by = value.made_by
    if made_by is not None and made_by.name == "arith.extsi":
        made_by = made_by.operands[0].made_by
    if made_by is None:
        return False
    if made_by.name == "arith.constant":
        return _NOT_NEGATIVE.match(made_by.attributes["value"]) is not None
    return made_by.name in _NATURAL


def _is_exact_reduction(operation: Operation) -> bool:
    """Return whether a reduction means the same in 64 bits; `tl.flip` is made of such ones."""
    body = (inner for region in operation.regions for block in region for inner in block.operations)
    return operation.name == "tt.reduce" and {inner.name for inner in body} <= _COMBINING


def _is_left(operation: Operation) -> bool:
    """Return whether an operation of those that are exact keeps its types nevertheless."""
    if operation.name == "arith.shli":  # a shift by any number may be inexact
        made_by = operation.operands[1].made_by
        return made_by is None or made_by.name != "arith.constant"
    return '"0x' in operation.attributes.get("value", "")
