"""`tt.clampf`, for which Triton has two instructions of PTX, or one where the bounds are opposite.

They make the same of all numbers. Of a NaN the one instruction makes the limit, the two make the
lower bound.
"""

from __future__ import annotations

from compiler.numpy_module import mlir_types
from compiler.numpy_module.expression import Expression
from compiler.numpy_module.ir import Operation, Value
from compiler.numpy_module.scope import NameScope

_SPREADING = frozenset({"tt.splat", "tt.broadcast"})


def clamped(scope: NameScope, operation: Operation) -> Expression:
    """Return `tt.clampf` as `cuda:90` has it; `propagateNan` says whether a NaN stays."""
    is_nan_kept = bool(operation.integer("propagateNan"))
    _, least, most = operation.operands
    if _are_opposite(_source_of(least), _source_of(most)):
        return scope.call(operation, f"clamped_to({{0}}, {{2}}, {is_nan_kept})", typed=True)
    if is_nan_kept:
        return scope.call(operation, "minimum(maximum({0}, {1}), {2})")
    return scope.call(operation, "minnum(maxnum({0}, {1}), {2})")


def _source_of(value: Value) -> Value:
    """Return the scalar that all elements of `value` are, if they are spread from one."""
    while value.made_by is not None and value.made_by.name in _SPREADING:
        [value] = value.made_by.operands
    return value


def _are_opposite(least: Value, most: Value) -> bool:
    """Tell whether the compiler knows `least` to be `-most`: numbers, or `-x` and `x`."""
    number, limit = _number_of(least), _number_of(most)
    if number is not None and limit is not None:
        return number == -limit
    made_by = least.made_by
    if made_by is None or made_by.name not in {"arith.negf", "arith.subf"}:
        return False
    *zero, negated = made_by.operands
    return _source_of(negated) is most and all(_number_of(_source_of(one)) == 0 for one in zero)


def _number_of(value: Value) -> float | None:
    """Return the number that `value` is known to be in every element."""
    made_by = value.made_by
    if made_by is None or made_by.name != "arith.constant":
        return None
    text, is_one = mlir_types.constant_of(made_by)
    number = text.rpartition("(")[2].rstrip(")")  # bf16 has its dtype around it
    return float(number.replace("np.", "")) if is_one else None
