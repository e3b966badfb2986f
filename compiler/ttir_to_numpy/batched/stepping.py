"""Has a run form show values when they were just made: of the user's own lines, or chosen ones."""

from collections.abc import Callable, Collection

from compiler.lines.source_location import SourceLocation
from compiler.lines.step import Step
from compiler.ttir_to_numpy import mlir_types
from compiler.ttir_to_numpy.ir import IrBlock, Operation, Value
from compiler.ttir_to_numpy.refusal import Untranslatable
from compiler.ttir_to_numpy.scope import CONSTANTS, NameScope

_STORES = frozenset({"tt.store", "tt.descriptor_store", "tt.experimental_descriptor_store"})
_FOLLOWED = frozenset({"scf.for", "scf.while"})
"""Shown as their rounds begin."""


class Stepping:
    """Writes the steps of functions that are not in `unfollowed`.

    `location_of` gives the user's own place of an operation, `None` for one of Triton's library.
    """

    def __init__(
        self, location_of: Callable[[Operation], SourceLocation | None], unfollowed: set[Operation]
    ) -> None:
        self._location_of, self._unfollowed = location_of, unfollowed
        self.steps: list[Step] = []

    def follows(self, function: Operation) -> bool:
        """Return whether values of `function` are those of one program."""
        return function not in self._unfollowed

    def entered(self, scope: NameScope, block: IrBlock) -> None:
        """Show the initial values of a loop's round."""
        holder = scope.analysis.holders.get(block)
        if holder is None or holder.name not in _FOLLOWED or holder.regions[-1][0] is not block:
            return
        for argument in block.arguments:
            self._show(scope, holder, argument)

    def made(self, scope: NameScope, operation: Operation) -> None:
        """Show what an operation gave, or stored."""
        if operation.name in _STORES:
            self._show(scope, operation, operation.operands[1])
        if operation.name in _FOLLOWED or operation.name in CONSTANTS:
            return
        for result in operation.results:
            if result in scope.expressions:
                self._show(scope, operation, result)

    def _show(self, scope: NameScope, operation: Operation, value: Value) -> None:
        location = self._location_of(operation)
        dtype = _dtype_of(value.type)
        if location is None or dtype is None:
            return
        shape = mlir_types.shape_of(value.type)
        is_whole = operation.name not in _STORES and not _is_part(scope, operation, value)
        number = len(self.steps)
        self.steps.append(
            Step(location, operation.name, value.name if is_whole else "", dtype, shape)
        )
        scope.emit(f"step({number}, {scope.typed(value).text})", operation)


def _is_part(scope: NameScope, operation: Operation, value: Value) -> bool:
    """Return whether `value` is only used by the value with its name: IR names parts the same."""
    location = operation.chain[:1]
    return any(
        use.chain[:1] == location and any(result.name == value.name for result in use.results)
        for use in scope.analysis.uses.get(value, [])
    )


def _dtype_of(type_: str) -> str | None:
    """Return Triton's name of the elements; None for what has no elements to show."""
    if (pointee := mlir_types.pointee_of(type_)) is not None:
        inner = _dtype_of(pointee)
        return None if inner is None else f"*{inner}"
    element = mlir_types.element_of(type_)
    if element == "index":
        return "i64"
    try:
        mlir_types.dtype_of(element)
    except Untranslatable:
        return None
    return mlir_types.TRITON_NAMES.get(element)


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
            self._show(
                scope, holder, [scope.typed(operand).text for operand in holder.operands[:3]]
            )

    def made(self, scope: NameScope, operation: Operation) -> None:
        """Show what an operation made of its operands."""
        if operation.number not in self._watched or operation.regions:
            return
        values = [*operation.results, *operation.operands]
        if all(value in scope.expressions for value in values):
            self._show(scope, operation, [scope.typed(value).text for value in values])

    def _show(self, scope: NameScope, operation: Operation, texts: list[str]) -> None:
        scope.emit(f"step({operation.number}, ({', '.join(texts)},))", operation)
