"""Loads, stores and atomics of a run form: each is told the shape of one program's tile."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from compiler.numpy_module import accesses, mlir_types
from compiler.numpy_module.ir import Operation, Value
from compiler.numpy_module.scope import NameScope, results_of

_SEMANTICS = {1: "RELAXED", 2: "ACQUIRE", 3: "RELEASE", 4: "ACQUIRE_RELEASE"}
"""Triton's names of an atomic operation's order, by its numbers."""


def load(scope: NameScope, operation: Operation) -> None:
    """Write `tt.load`: pointer, mask and other, of which the last two may be missing."""
    sizes = operation.integers("operandSegmentSizes") or [1] * len(operation.operands)
    operands = iter(operation.operands)
    parts = [_stored(scope, next(operands)) if size else "None" for size in [*sizes, 0, 0][:3]]
    parts[0] = accesses.pointer_text(scope, operation.operands[0], operation)
    shape = mlir_types.shape_of(operation.operands[0].type)
    text = f"load({', '.join(parts)}, {shape})"
    pointee = mlir_types.pointee_of(operation.results[0].type)
    if pointee is not None:
        text = f"Pointer({text}, {mlir_types.dtype_of(pointee)})"
    scope.emit(f"{results_of(scope, operation)}{text}", operation)


def _stored(scope: NameScope, value: Value) -> str:
    """Return what is in memory of a value: of a pointer its address."""
    if mlir_types.pointee_of(value.type) is not None:
        return f"{scope.value(value).inner}.address"
    return scope.value(value).text


def store(scope: NameScope, operation: Operation) -> None:
    """Write `tt.store`: pointer, value, and perhaps a mask."""
    first, value, *mask = operation.operands
    lanes = scope.value(mask[0]).text if mask else "None"
    parts = [accesses.pointer_text(scope, first, operation), _stored(scope, value), lanes]
    scope.emit(f"store({', '.join(parts)}, {mlir_types.shape_of(first.type)})", operation)


def atomic(scope: NameScope, operation: Operation) -> None:
    """Write `tt.atomic_rmw`."""
    place, value, *mask = operation.operands
    lanes = scope.value(mask[0]).text if mask else "None"
    is_used = any(result in scope.analysis.uses for result in operation.results)
    parts = [
        repr(accesses.ATOMICS[operation.integer("atomic_rmw_op")]), scope.value(place).text,
        scope.typed(value).text, lanes, str(mlir_types.shape_of(place.type)), str(is_used),
        f"semantics={_SEMANTICS.get(operation.integer('sem'), 'RELAXED')!r}",
    ]  # fmt: skip
    results = results_of(scope, operation) if is_used else ""
    scope.emit(f"{results}atomic({', '.join(parts)})", operation)


def compare_and_swap(scope: NameScope, operation: Operation) -> None:
    """Write `tt.atomic_cas`."""
    parts = [scope.typed(operand).text for operand in operation.operands]
    parts.append(str(mlir_types.shape_of(operation.operands[0].type)))
    parts.append(f"semantics={_SEMANTICS.get(operation.integer('sem'), 'RELAXED')!r}")
    is_used = any(result in scope.analysis.uses for result in operation.results)
    results = results_of(scope, operation) if is_used else ""
    scope.emit(f"{results}compare_and_swap({', '.join(parts)})", operation)


STATEMENTS: Mapping[str, Callable[[NameScope, Operation], None]] = {
    "tt.load": load,
    "tt.store": store,
    "tt.atomic_rmw": atomic,
    "tt.atomic_cas": compare_and_swap,
}
"""By the operation's name."""
