"""Has a run form show the integers of a few operations when they were just computed."""

from collections.abc import Collection

from compiler.ttir_to_numpy.ir import IrBlock, Operation
from compiler.ttir_to_numpy.scope import NameScope


class Watching:
    """Writes `step(number, (result, operands...))` behind the `watched` operations, by number.

    For a loop that is `scf.for`, as each of its rounds begins: `step(number, (bounds and step))`.
    Operations of functions that are in `unfollowed` are not shown.
    """

    def __init__(self, watched: Collection[int], unfollowed: set[Operation]) -> None:
        self._watched, self._unfollowed = watched, unfollowed

    def follows(self, function: Operation) -> bool:
        """Return whether values of `function` are those of one program."""
        return function not in self._unfollowed

    def entered(self, scope: NameScope, block: IrBlock) -> None:
        """Show the bounds and the step of a loop."""
        holder = scope.analysis.holders.get(block)
        if holder is not None and holder.name == "scf.for" and holder.number in self._watched:
            self._show(scope, holder, [scope.typed(one).text for one in holder.operands[:3]])

    def made(self, scope: NameScope, operation: Operation) -> None:
        """Show what an operation made of its operands."""
        if operation.number not in self._watched or operation.regions:
            return
        values = [*operation.results, *operation.operands]
        if all(one in scope.expressions for one in values):
            self._show(scope, operation, [scope.typed(one).text for one in values])

    def _show(self, scope: NameScope, operation: Operation, texts: list[str]) -> None:
        scope.emit(f"step({operation.number}, ({', '.join(texts)},))", operation)
