"""Operations with a region of their own, below a leading axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from compiler.numpy_module import reductions
from compiler.numpy_module.form import Combination
from compiler.numpy_module.ir import Operation
from compiler.numpy_module.refusal import Untranslatable
from compiler.numpy_module.scope import NameScope, results_of


def map_elementwise(scope: NameScope, operation: Operation, body: Combination) -> None:
    """Write `tl.map_elementwise`: a function of scalars, for every element of every program."""
    if operation.integer("pack", 1) != 1:
        message = "map_elementwise of several elements at once"
        raise Untranslatable(message)
    name = reductions.region_function(scope, operation, body)
    texts = ", ".join(scope.exact(operand) for operand in operation.operands)
    scope.emit(f"{results_of(scope, operation)}map_elementwise({name}, {texts})", operation)


WITH_REGIONS: Mapping[str, Callable[[NameScope, Operation, Combination], None]] = {
    "tt.map_elementwise": map_elementwise
}
"""By the operation's name."""
