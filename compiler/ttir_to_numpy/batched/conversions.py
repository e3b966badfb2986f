"""Conversions that NumPy is slow at, where their results are the same."""

from collections.abc import Callable, Mapping

from compiler.ttir_to_numpy import arithmetic, mlir_types
from compiler.ttir_to_numpy.ir import Operation
from compiler.ttir_to_numpy.numpy_expression import NumpyExpression
from compiler.ttir_to_numpy.scope import NameScope


def to_float(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return floats as floats of another type; from fp32 to fp16 without flags for each element."""
    types = (operation.operands[0].type, operation.results[0].type)
    is_nearest = operation.attributes.get("rounding") is None or operation.integer("rounding")
    if tuple(map(mlir_types.element_of, types)) == ("f32", "f16") and is_nearest:
        return scope.call(operation, "to_half({})", typed=True)
    return arithmetic.to_float(scope, operation)


EXPRESSIONS: Mapping[str, Callable[[NameScope, Operation], NumpyExpression]] = dict.fromkeys(
    ("arith.truncf", "tt.fp_to_fp"), to_float
)
"""Writers by the operation's name."""
