"""`tt.clampf`, for which Triton has two instructions of PTX, or one where the bounds are opposite.

They make the same of all numbers. Of a NaN the one instruction makes the limit, the two make the
lower bound.
"""

from compiler.ttir_to_numpy.ir import Operation, Value
from compiler.ttir_to_numpy.known_numbers import number_of, source_of
from compiler.ttir_to_numpy.numpy_expression import NumpyExpression
from compiler.ttir_to_numpy.scope import NameScope


def clamped(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return `tt.clampf` as `cuda:90` has it; `propagateNan` says whether a NaN stays."""
    is_nan_kept = bool(operation.integer("propagateNan"))
    _, least, most = operation.operands
    if _are_opposite(source_of(least), source_of(most)):
        return scope.call(operation, f"clamped_to({{0}}, {{2}}, {is_nan_kept})", typed=True)
    if is_nan_kept:
        return scope.call(operation, "minimum(maximum({0}, {1}), {2})")
    return scope.call(operation, "minnum(maxnum({0}, {1}), {2})")


def _are_opposite(least: Value, most: Value) -> bool:
    """Return whether the compiler knows `least` to be `-most`: numbers, or `-x` and `x`."""
    number, limit = number_of(least), number_of(most)
    if number is not None and limit is not None:
        return number == -limit
    made_by = least.made_by
    if made_by is None or made_by.name not in {"arith.negf", "arith.subf"}:
        return False
    *zero, negated = made_by.operands
    return source_of(negated) is most and all(number_of(one) == 0 for one in zero)
