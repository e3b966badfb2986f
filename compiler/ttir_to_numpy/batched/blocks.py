"""Blocks of a function that programs reach differently: each runs once, for those that get there.

Their order is one in which each comes after all that lead to it. Where a branch goes back, there
is no such order: then programs run one by one, and blocks are steps as in the other form.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from compiler.ttir_to_numpy.analysis import RETURNS
from compiler.ttir_to_numpy.blocks import passed, reached_from, write_return, write_steps
from compiler.ttir_to_numpy.control_flow import inside
from compiler.ttir_to_numpy.ir import IrBlock, Operation
from compiler.ttir_to_numpy.scope import Body, NameScope


def write_blocks(scope: NameScope, blocks: Sequence[IrBlock], body: Body) -> None:
    """Write the blocks that the first one leads to, each as `body` writes it."""
    ordered = in_order(blocks)
    if ordered is None:
        by_label = {block.label: block for block in blocks}
        write_steps(scope, reached_from(blocks[0], by_label), body)
    elif len(ordered) == 1:
        write_return(scope, body(scope, ordered[0]))
    else:
        _Paths(scope, ordered, body).write()


def in_order(blocks: Sequence[IrBlock]) -> list[IrBlock] | None:
    """Return the blocks that can be reached, each after all before it; None where there are loops.

    Linear, and without recursion.
    """
    by_label = {block.label: block for block in blocks}
    done: dict[str, bool] = {}
    ordered: list[IrBlock] = []
    pending = [(blocks[0].label, False)]
    while pending:
        label, is_left = pending.pop()
        if is_left:
            done[label] = True
            ordered.append(by_label[label])
        elif label not in done:
            done[label] = False
            pending.append((label, True))
            targets = [target for target, _ in by_label[label].end.successors]
            if any(done.get(target) is False for target in targets):
                return None
            pending += [(target, False) for target in targets]
    return ordered[::-1]


class _Paths:
    def __init__(self, scope: NameScope, blocks: Sequence[IrBlock], body: Body) -> None:
        self._scope, self._blocks, self._body = scope, blocks, body
        self._name = scope.fresh("paths")
        self._numbers: Mapping[str, int] = {b.label: n for n, b in enumerate(blocks)}

    def write(self) -> None:
        """Write each block after a check for active programs."""
        scope, name = self._scope, self._name
        scope.emit(f"{name} = begin_paths()")
        first, *rest = self._blocks
        self._leave(self._body(scope, first))
        for block in rest:
            scope.emit(f"if {name}.enters({self._numbers[block.label]}):")
            inside(scope, partial(self._block, block))
        scope.emit(f"return {name}.end()")

    def _block(self, block: IrBlock) -> None:
        if block.arguments:
            names = ", ".join(self._scope.name_for(argument) for argument in block.arguments)
            text = f"{names}, = {self._name}.brought({self._numbers[block.label]})"
            self._scope.emit(text)
        self._leave(self._body(self._scope, block))

    def _leave(self, end: Operation) -> None:
        """Write where those go that are in a block."""
        scope, name = self._scope, self._name
        if end.name in RETURNS:
            texts = ", ".join(scope.exact(operand) for operand in end.operands)
            scope.emit(f"{name}.leave({texts})", end)
            return
        places = [self._numbers[label] for label, _ in end.successors]
        passed_texts = [
            "".join(f", {scope.exact(v)}" for v in passed(end, w)) for w in range(len(places))
        ]
        if len(places) == 1:
            scope.emit(f"{name}.go({places[0]}{passed_texts[0]})", end)
            return
        scope.emit(f"{name}.part({scope.typed(end.operands[0]).text})", end)
        scope.emit(f"{name}.those_go({places[0]}{passed_texts[0]})", end)
        scope.emit(f"{name}.others_go({places[1]}{passed_texts[1]})", end)
