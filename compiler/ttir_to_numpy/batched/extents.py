"""Checks that each value of a run form has the extent that its text relies on.

NumPy broadcasts in silence, so a value that came out too narrow changes sums and counts without
an error. A run form that is checked asserts every extent right after the value was made.
"""

from compiler.ttir_to_numpy import mlir_types
from compiler.ttir_to_numpy.ir import IrBlock, Operation, Value
from compiler.ttir_to_numpy.refusal import Untranslatable
from compiler.ttir_to_numpy.scope import CONSTANTS, NameScope


class ExtentChecks:
    """Writes a check behind each value, but in functions that are in `unfollowed`.

    Those are called for single elements by reductions, scans and maps.
    """

    def __init__(self, unfollowed: set[Operation]) -> None:
        self._unfollowed = unfollowed

    def follows(self, function: Operation) -> bool:
        """Return whether values of `function` are tiles of programs."""
        return function not in self._unfollowed

    def entered(self, scope: NameScope, block: IrBlock) -> None:
        """Check the initial values of a loop's round."""
        holder = scope.analysis.holders.get(block)
        if holder is not None and holder.name in {"scf.for", "scf.while"}:
            for argument in block.arguments:
                _check(scope, holder, argument)

    def made(self, scope: NameScope, operation: Operation) -> None:
        """Check what an operation gave."""
        if operation.name not in CONSTANTS:
            for result in operation.results:
                _check(scope, operation, result)


def _check(scope: NameScope, operation: Operation, value: Value) -> None:
    known = scope.expressions.get(value)
    if known is None or known.is_bare or not _has_elements(value.type):
        return
    text = f"check_extent({known.text}, {known.shape!r}, {operation.name!r})"
    scope.emit(text, operation)


def _has_elements(type_: str) -> bool:
    if mlir_types.pointee_of(type_) is not None:
        return True
    try:
        mlir_types.dtype_of(mlir_types.element_of(type_))
    except Untranslatable:  # a descriptor, or a pointer to a block
        return False
    return True
