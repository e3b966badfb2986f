"""Cuts a kernel down to what its accesses depend on: addresses, masks, and the control flow.

A re-check runs a kernel at a hundred sizes, and nothing that it computes with floats decides
where it reads and writes. What is stored becomes 0, so the rest has no use and goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from compiler.ttir_to_numpy.blocks import passed
from compiler.ttir_to_numpy.ir import IrBlock, Operation, Value
from compiler.ttir_to_numpy.mlir_types import pointee_of

KINDS = {
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
"""The operations that access memory; a re-check answers for each, in the order of the text."""
_STORED = {
    "tt.store": (1,),
    "tt.atomic_rmw": (1,),
    "tt.atomic_store": (1,),
    "tt.descriptor_store": (1,),
    "tt.descriptor_reduce": (1,),
}
"""The operands of an access that are values to store, by their numbers."""
_STAYING = frozenset({"tt.assert", "cf.assert", "llvm.intr.assume"})
_TELLING = frozenset({"tt.print"})
_WHOLE = frozenset({"tt.reduce", "tt.scan", "tt.map_elementwise"})
"""Operations whose regions are functions of their operands."""


def in_text_order(operation: Operation) -> Iterator[Operation]:
    """Yield the operations of all regions in the order of the text."""
    for region in operation.regions:
        for block in region:
            for inner in block.operations:
                yield inner
                yield from in_text_order(inner)


def accesses_of(function: Operation) -> list[Operation]:
    """Return the operations of a kernel that access memory, in the order of the text."""
    return [operation for operation in in_text_order(function) if operation.name in KINDS]


@dataclass
class _Needed:
    """The values that a function's accesses depend on."""

    function: Operation
    values: set[Value] = field(default_factory=set)
    operations: set[Operation] = field(default_factory=set)
    _around: dict[Operation, Operation] = field(default_factory=dict)
    _carried: dict[Value, list[Value]] = field(default_factory=dict)
    """The values that a block's argument, or a result of a region, takes its own from."""
    _blocks: dict[Operation, IrBlock] = field(default_factory=dict)
    """The blocks of the function's operations that are in no other operation."""
    _branches: dict[str, list[Operation]] = field(default_factory=dict)
    """The branches to each block of the function, by its label."""
    _pending: list[Value] = field(default_factory=list)

    def find(self, root: Operation | None = None) -> None:
        """Find everything that the accesses depend on; only `root`, where there is one."""
        self._note_branches()
        for operation in in_text_order(self.function):
            blocks = [block for region in operation.regions for block in region]
            inner = [operation for block in blocks for operation in block.operations]
            self._around.update(dict.fromkeys(inner, operation))
            self._note_carried(operation)
        for operation in in_text_order(self.function):
            if _is_root(operation) if root is None else operation is root:
                self._keep(operation)
        while self._pending:
            value = self._pending.pop()
            if value.made_by is not None:
                self._keep(value.made_by)
            for source in self._carried.get(value, ()):
                self.need(source)

    def need(self, value: Value) -> None:
        """Note that something depends on a value."""
        if value not in self.values:
            self.values.add(value)
            self._pending.append(value)

    def _note_carried(self, operation: Operation) -> None:
        if operation.name == "scf.for":
            [block] = operation.regions[0]
            number, *arguments = block.arguments
            self._carried[number] = operation.operands[:3]
            carried = zip(
                arguments,
                operation.results,
                operation.operands[3:],
                block.end.operands,
                strict=True,
            )
            for argument, result, first, next_ in carried:
                self._carried[argument] = self._carried[result] = [first, next_, argument]
        elif operation.name == "scf.if":
            for region in operation.regions:
                for result, yielded in zip(
                    operation.results, region[0].end.operands if region else (), strict=False
                ):
                    self._carried.setdefault(result, []).append(yielded)

    def _note_branches(self) -> None:
        by_label = {block.label: block for block in self.function.regions[0]}
        for block in by_label.values():
            self._blocks.update(dict.fromkeys(block.operations, block))
            for which, (label, _) in enumerate(block.end.successors):
                self._branches.setdefault(label, []).append(block.end)
                values = passed(block.end, which)
                for argument, value in zip(by_label[label].arguments, values, strict=True):
                    self._carried.setdefault(argument, []).append(value)

    def _reach(self, block: IrBlock) -> None:
        """Note the conditions of all branches on the ways to a block, as if each could miss it."""
        pending = [block]
        while pending:
            for branch in self._branches.pop(pending.pop().label, ()):
                if len(branch.successors) > 1:
                    self.need(branch.operands[0])
                pending.append(self._blocks[branch])

    def _keep(self, operation: Operation) -> None:
        if operation in self.operations:
            return
        self.operations.add(operation)
        if operation in self._blocks:
            self._reach(self._blocks[operation])
        for operand in self._operands(operation):
            self.need(operand)
        if operation.name == "scf.while":
            for inner in in_text_order(operation):
                if inner.name in ("scf.yield", "scf.condition") and (
                    self._around[inner] is operation
                ):
                    self._keep(inner)
        if operation.name in _WHOLE:
            for inner in in_text_order(operation):
                self._keep(inner)
        around = self._around.get(operation)
        if around is not None and around is not self.function:
            self._keep(around)

    def _operands(self, operation: Operation) -> list[Value]:
        """Return the operands that matter as soon as an operation runs."""
        name, operands = operation.name, operation.operands
        if name == "scf.for":
            return operands[:3]
        if name == "scf.if":
            return operands[:1]
        if name in _STORED:
            return [
                operand
                for number, operand in enumerate(operands)
                if number not in _STORED[name] or pointee_of(operand.type) is not None
            ]
        if name == "tt.descriptor_scatter":
            return operands[:-1]
        branches = [value for _, values in operation.successors for value in values]
        return [*operands, *branches]


def _is_root(operation: Operation) -> bool:
    """Return whether an operation runs for what it does, not for what it gives."""
    if operation.name == "scf.while":
        return any(inner.name in KINDS for inner in in_text_order(operation))
    return operation.name in KINDS or operation.name in _STAYING or bool(operation.successors)


def cut_down(function: Operation) -> frozenset[int]:
    """Cut a kernel's function down to what its accesses depend on.

    Returns the accesses, by their place in `accesses_of`, whose results something depends on.
    """
    needed = _Needed(function)
    needed.find()
    _cut(function, needed)
    accesses = enumerate(accesses_of(function))
    return frozenset(
        number for number, access in accesses if any(x in needed.values for x in access.results)
    )


def depends_on(function: Operation, access: Operation, other: Operation) -> bool:
    """Return whether the address, the mask or the control flow of an access depends on another."""
    needed = _Needed(function)
    needed.find(access)
    return other in needed.operations


def _cut(operation: Operation, needed: _Needed) -> None:
    for region in operation.regions:
        for block in region:
            _cut_block(operation, block, needed)
    if operation.name == "scf.for":
        _cut_carried(operation, needed)
    elif operation.name == "scf.if":
        kept = [result in needed.values for result in operation.results]
        operation.results = _where(operation.results, kept)
        for region in operation.regions:
            if region:
                region[0].end.operands = _where(region[0].end.operands, kept)


def _cut_block(holder: Operation, block: IrBlock, needed: _Needed) -> None:
    left = list[Operation]()
    for operation in block.operations:
        is_end = operation is block.end
        if not is_end and operation not in needed.operations:
            continue
        if operation.name in _TELLING:
            continue
        if holder.name not in _WHOLE:
            _cut(operation, needed)
            left += _without_values(operation)
        left.append(operation)
    block.operations = left


def _cut_carried(operation: Operation, needed: _Needed) -> None:
    [block] = operation.regions[0]
    number, *arguments = block.arguments
    kept = [argument in needed.values for argument in arguments]
    block.arguments = [number, *_where(arguments, kept)]
    block.end.operands = _where(block.end.operands, kept)
    operation.operands = [*operation.operands[:3], *_where(operation.operands[3:], kept)]
    operation.results = _where(operation.results, kept)


def _where(values: list[Value], kept: list[bool]) -> list[Value]:
    return [value for value, is_kept in zip(values, kept, strict=True) if is_kept]


def _without_values(access: Operation) -> list[Operation]:
    """Have an access store 0; return the operations that make it."""
    numbers = list(_STORED.get(access.name, ()))
    if access.name == "tt.descriptor_scatter":
        numbers = [len(access.operands) - 1]
    made = []
    for number in numbers:
        value = access.operands[number]
        if pointee_of(value.type) is None:
            zero = Operation("arith.constant", [], attributes={"value": f"dense<0> : {value.type}"})
            zero.results = [Value("", value.type, zero)]
            made.append(zero)
            access.operands[number] = zero.results[0]
    return made
