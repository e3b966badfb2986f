"""The blocks of a function: a tree of them as conditions that return, others as numbered steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from compiler.ttir_to_numpy.analysis import RETURNS
from compiler.ttir_to_numpy.ir import IrBlock, Operation, Value
from compiler.ttir_to_numpy.scope import Body, NameScope


def write_blocks(scope: NameScope, blocks: Sequence[IrBlock], body: Body) -> None:
    """Write the blocks that the first one leads to, each as `body` writes it."""
    by_label = {block.label: block for block in blocks}
    reached = reached_from(blocks[0], by_label)
    edges = Counter(label for block in reached for label, _ in block.end.successors)
    if all(count == 1 for count in edges.values()) and blocks[0].label not in edges:
        _tree(scope, blocks[0], by_label, body)
    else:
        write_steps(scope, reached, body)


def _tree(scope: NameScope, block: IrBlock, by_label: Mapping[str, IrBlock], body: Body) -> None:
    while True:
        end = body(scope, block)
        if end.name in RETURNS:
            write_return(scope, end)
            return
        if len(end.successors) == 2:
            condition = scope.value(end.operands[0])
            ends = [by_label[label].end.name in RETURNS for label, _ in end.successors]
            inner = 1 if ends == [False, True] else 0
            text = f"not {condition.inner}" if inner else condition.text
            scope.emit(f"if {text}:", end)
            scope.depth += 1
            _tree(scope, _enter(scope, end, inner, by_label), by_label, body)
            scope.depth -= 1
            block = _enter(scope, end, 1 - inner, by_label)
        else:
            block = _enter(scope, end, 0, by_label)


def passed(end: Operation, which: int) -> list[Value]:
    """Return the values that a branch passes to its successor number `which`.

    `cf.cond_br %condition, ^bb1(%a : i32), ^bb2(%b : i32)` has its operands in this order.
    """
    values = end.operands
    if len(end.successors) == 2:
        _, first, _ = end.integers("operandSegmentSizes")
        values = values[1 : 1 + first] if which == 0 else values[1 + first :]
    return values


def _enter(
    scope: NameScope, end: Operation, which: int, by_label: Mapping[str, IrBlock]
) -> IrBlock:
    """Assign a branch's values to a block's arguments, and return the block."""
    block = by_label[end.successors[which][0]]
    scope.assign(block.arguments, [scope.exact(value) for value in passed(end, which)], end)
    return block


def write_steps(scope: NameScope, blocks: Sequence[IrBlock], body: Body) -> None:
    """Write blocks that meet again: one step after the other, each decides which comes next."""
    numbers = {block.label: number for number, block in enumerate(blocks)}
    by_label = {block.label: block for block in blocks}
    at = scope.fresh("step")

    def go(end: Operation, which: int) -> None:
        block = _enter(scope, end, which, by_label)
        scope.emit(f"{at} = {numbers[block.label]}", end)

    scope.emit(f"{at} = 0")
    scope.emit("while True:")
    with scope.loop():
        _write_each(scope, blocks, body, at, go)


def _write_each(
    scope: NameScope,
    blocks: Sequence[IrBlock],
    body: Body,
    at: str,
    go: Callable[[Operation, int], None],
) -> None:
    """Write the statements of each step, and with `go` the next step.

    Each asks for itself whether it is next: Python nests what `elif` continues.
    """
    scope.depth += 1
    for number, block in enumerate(blocks):
        scope.emit(f"if {at} == {number}:")
        scope.depth += 1
        end = body(scope, block)
        if end.name in RETURNS:
            write_return(scope, end)
        elif len(end.successors) == 1:
            go(end, 0)
        else:
            scope.emit(f"if {scope.value(end.operands[0]).text}:", end)
            for which in (0, 1):
                scope.depth += 1
                go(end, which)
                scope.depth -= 1
                if which == 0:
                    scope.emit("else:")
        scope.depth -= 1
    scope.depth -= 1


def write_return(scope: NameScope, end: Operation) -> None:
    """Write a return; the last one of a function without results needs no line."""
    texts = ", ".join(scope.exact(operand) for operand in end.operands)
    if texts or scope.depth > 1:
        scope.emit(f"return {texts}".rstrip(), end)
    elif len(scope.lines) == 1:
        scope.emit("pass", end)


def reached_from(first: IrBlock, by_label: Mapping[str, IrBlock]) -> list[IrBlock]:
    """Return the blocks that can be reached, each after one that leads to it."""
    reached: dict[str, IrBlock] = {}
    pending = [first.label]
    while pending:
        label = pending.pop()
        if label not in reached:
            reached[label] = by_label[label]
            pending += [label for label, _ in reversed(by_label[label].end.successors)]
    return list(reached.values())
