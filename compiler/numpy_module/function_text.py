"""Writes one function: its operations in order, its blocks as conditions and early returns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from compiler.numpy_module import accesses, arithmetic, control_flow, mlir_types, reductions, shapes
from compiler.numpy_module.analysis import ENDS, analysis_of
from compiler.numpy_module.expression import Expression
from compiler.numpy_module.functions import Functions
from compiler.numpy_module.ir import IrBlock, Operation
from compiler.numpy_module.refusal import Untranslatable
from compiler.numpy_module.scope import CONSTANTS, Line, NameScope

_EXPRESSIONS: Mapping[str, Callable[[NameScope, Operation], Expression]] = {
    **arithmetic.EXPRESSIONS,
    **shapes.EXPRESSIONS,
    **accesses.EXPRESSIONS,
}
_STATEMENTS: Mapping[str, Callable[[NameScope, Operation], None]] = {
    **accesses.STATEMENTS,
    **shapes.STATEMENTS,
    **reductions.STATEMENTS,
}
_NAMED = {"tt.elementwise_inline_asm": "inline assembly", "tt.dot_scaled": "tl.dot_scaled"}
DEEPEST = 80
"""Levels of indentation; Python's parser ends at 100."""


def function_text(
    operation: Operation,
    functions: Functions,
    is_kernel: bool,
    place_of: Callable[[Operation], str],
) -> list[Line]:
    """Return the lines of a `tt.func`. Raises `Untranslatable`, with the place of the operation."""
    analysis = analysis_of(operation, CONSTANTS)
    scope = NameScope(analysis, functions, set(functions.reserved) | functions.names)
    writer = _Writer(scope, place_of)
    blocks = operation.regions[0] if operation.regions else []
    if not blocks or not blocks[0].operations:
        message = "a function without a body"
        raise Untranslatable(message, place_of(operation))
    for index, argument in enumerate(blocks[0].arguments):
        argument.name = argument.name or f"arg{index}"
    names = [scope.name_for(argument) for argument in blocks[0].arguments]
    if is_kernel:
        kinds = [kind_of(argument.type) for argument in blocks[0].arguments]
        names = [f'{name}: "{kind}"' for name, kind in zip(names, kinds, strict=True)]
    name = functions.name_of(f"@{operation.text('sym_name')}")
    scope.lines.append(Line(0, f"def {name}({', '.join(names)}):", operation))
    writer.blocks(blocks)
    return scope.lines


def kind_of(type_: str) -> str:
    """Return Triton's name of a parameter's type, which `launch` reads."""
    if (pointee := mlir_types.pointee_of(type_)) is not None:
        return f"*{kind_of(pointee)}"
    if (descriptor := mlir_types.descriptor_of(type_)) is not None:
        block, element = descriptor
        return f"tensordesc<{kind_of(element)}[{','.join(map(str, block))}]>"
    if type_ not in mlir_types.TRITON_NAMES:
        message = f"a parameter of type {type_[:80]}"
        raise Untranslatable(message)
    return mlir_types.TRITON_NAMES[type_]


class _Writer:
    def __init__(self, scope: NameScope, place_of: Callable[[Operation], str]) -> None:
        self._scope = scope
        self._place_of = place_of

    def operations(self, scope: NameScope, block: IrBlock) -> Operation:
        """Write the operations of a block; return its last one, which is not written."""
        if scope.depth > DEEPEST:
            message = f"statements are nested more than {DEEPEST} deep"
            raise Untranslatable(message)
        for operation in block.operations:
            if operation not in scope.analysis.live or operation.name in ENDS:
                continue
            try:
                self._operation(scope, operation)
            except Untranslatable as refusal:
                raise refusal.at(self._place_of(operation)) from None
        return block.end

    def _operation(self, scope: NameScope, operation: Operation) -> None:
        name = operation.name
        if name in _EXPRESSIONS:
            scope.define(operation, _EXPRESSIONS[name](scope, operation))
        elif name in _STATEMENTS:
            _STATEMENTS[name](scope, operation)
        elif name in control_flow.STATEMENTS:
            control_flow.STATEMENTS[name](scope, operation, self.operations)
        elif name in reductions.WITH_REGIONS:
            reductions.WITH_REGIONS[name](scope, operation, self._combination)
        else:
            raise Untranslatable(_NAMED.get(name, f"the operation {name[:80]}"))

    def _combination(self, scope: NameScope, operation: Operation) -> None:
        end = self.operations(scope, operation.regions[0][0])
        texts = ", ".join(scope.typed(operand).text for operand in end.operands)
        scope.emit(f"return {texts}", end)

    def blocks(self, blocks: list[IrBlock]) -> None:
        """Write blocks: a tree of them as conditions that return, others as numbered steps."""
        by_label = {block.label: block for block in blocks}
        reached = _reached(blocks[0], by_label)
        edges = Counter(label for block in reached for label, _ in block.end.successors)
        if all(count == 1 for count in edges.values()) and blocks[0].label not in edges:
            self._tree(blocks[0], by_label)
        else:
            self._steps(reached)

    def _tree(self, block: IrBlock, by_label: Mapping[str, IrBlock]) -> None:
        scope = self._scope
        while True:
            end = self.operations(scope, block)
            if end.name == "tt.return":
                self._return(end)
                return
            if len(end.successors) == 2:
                condition = scope.value(end.operands[0])
                ends = [by_label[label].end.name == "tt.return" for label, _ in end.successors]
                inner = 1 if ends == [False, True] else 0
                text = f"not {condition.inner}" if inner else condition.text
                scope.emit(f"if {text}:", end)
                scope.depth += 1
                self._tree(self._enter(end, inner, by_label), by_label)
                scope.depth -= 1
                block = self._enter(end, 1 - inner, by_label)
            else:
                block = self._enter(end, 0, by_label)

    def _enter(self, end: Operation, which: int, by_label: Mapping[str, IrBlock]) -> IrBlock:
        """Give a block's arguments what the branch passes, and return the block."""
        label, _ = end.successors[which]
        values = end.operands
        if len(end.successors) == 2:
            _, first, _ = end.integers("operandSegmentSizes")
            values = values[1 : 1 + first] if which == 0 else values[1 + first :]
        texts = [self._scope.exact(value) for value in values]
        self._scope.assign(by_label[label].arguments, texts, end)
        return by_label[label]

    def _steps(self, blocks: list[IrBlock]) -> None:
        """Write blocks that meet again: one step after the other, each says which comes next."""
        scope = self._scope
        numbers = {block.label: number for number, block in enumerate(blocks)}
        by_label = {block.label: block for block in blocks}
        at = scope.fresh("step")
        scope.emit(f"{at} = 0")
        scope.emit("while True:")
        scope.depth += 1
        for block in blocks:
            scope.emit(f"{'el' if numbers[block.label] else ''}if {at} == {numbers[block.label]}:")
            scope.depth += 1
            end = self.operations(scope, block)
            if end.name == "tt.return":
                self._return(end)
            elif len(end.successors) == 1:
                self._go(end, 0, at, numbers, by_label)
            else:
                scope.emit(f"if {scope.value(end.operands[0]).text}:", end)
                for which in (0, 1):
                    scope.depth += 1
                    self._go(end, which, at, numbers, by_label)
                    scope.depth -= 1
                    if which == 0:
                        scope.emit("else:")
            scope.depth -= 1
        scope.depth -= 1

    def _go(
        self,
        end: Operation,
        which: int,
        at: str,
        numbers: Mapping[str, int],
        by_label: Mapping[str, IrBlock],
    ) -> None:
        block = self._enter(end, which, by_label)
        self._scope.emit(f"{at} = {numbers[block.label]}", end)

    def _return(self, end: Operation) -> None:
        scope = self._scope
        texts = ", ".join(scope.exact(operand) for operand in end.operands)
        if texts or scope.depth > 1:
            scope.emit(f"return {texts}".rstrip(), end)
        elif len(scope.lines) == 1:
            scope.emit("pass", end)


def _reached(first: IrBlock, by_label: Mapping[str, IrBlock]) -> list[IrBlock]:
    """Return the blocks that can be reached, each after one that leads to it."""
    found: dict[str, IrBlock] = {}
    pending = [first.label]
    while pending:
        label = pending.pop()
        if label not in found:
            found[label] = by_label[label]
            pending += [label for label, _ in reversed(by_label[label].end.successors)]
    return list(found.values())
