"""Operations that move elements, below a leading axis: scalars get their axes when they are spread.

A value may be 1 long along any axis where all of its elements are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from compiler.ttir_to_numpy import mlir_types, shapes
from compiler.ttir_to_numpy.batched.constant_list import Constants
from compiler.ttir_to_numpy.batched.undefined_values import UndefinedSources
from compiler.ttir_to_numpy.ir import Operation
from compiler.ttir_to_numpy.scope import NameScope, NumpyExpression, broadcast

Writer = Callable[[NameScope, Operation], NumpyExpression]


def splat(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return a scalar as a tensor of equal elements."""
    known = scope.value(operation.operands[0])
    if known.is_bare:
        return known
    rank = len(mlir_types.shape_of(operation.results[0].type))
    return spread(known, rank)


def spread(scalar: NumpyExpression, rank: int) -> NumpyExpression:
    """Return a scalar with `rank` axes of 1 behind the leading one."""
    index = ", ".join([":", *["None"] * rank])
    return NumpyExpression(f"{scalar.inner}[{index}]", (1,) * rank)


def unsplat(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return the only element of a tensor."""
    [value] = operation.operands
    known = scope.value(value)
    if known.is_bare:
        return known
    return NumpyExpression(f"{known.inner}[:{', 0' * len(mlir_types.shape_of(value.type))}]")


def expand_dims(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return the operand with one more axis."""
    known = scope.value(operation.operands[0])
    if known.is_bare:
        return known
    axis = operation.integer("axis")
    index = [":"] * len(known.shape)
    index.insert(axis, "None")
    shape = (*known.shape[:axis], 1, *known.shape[axis:])
    return NumpyExpression(f"{known.inner}[{', '.join([':', *index])}]", shape)


def reshape(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return the elements, in row-major order, in the shape of the result."""
    [value] = operation.operands
    known, shape = scope.value(value), mlir_types.shape_of(operation.results[0].type)
    if known.is_bare:
        return known
    is_one = all(size == 1 for size in known.shape)
    shape = (1,) * len(shape) if is_one else shape
    text = known.text if is_one else scope.exact(value)
    return NumpyExpression(f"reshape({text}{''.join(f', {size}' for size in shape)})", shape)


def transpose(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return the operand with its axes in the order of `order`."""
    known = scope.value(operation.operands[0])
    if known.is_bare:
        return known
    order = operation.integers("order")
    shape = tuple(known.shape[axis] for axis in order)
    return NumpyExpression(
        f"transpose({known.text}{''.join(f', {axis}' for axis in order)})", shape
    )


def select(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return `arith.select`; its condition may be a scalar where the others are tensors."""
    condition, first, _ = operation.operands
    rank = len(mlir_types.shape_of(first.type))
    parts = [scope.value(operand) for operand in operation.operands]
    if parts[1].is_bare and parts[2].is_bare:
        parts[1] = scope.typed(first)
    if rank and not mlir_types.is_tensor(condition.type) and not parts[0].is_bare:
        parts[0] = spread(parts[0], rank)
    shape = broadcast([part.shape for part in parts])
    return NumpyExpression(f"select({', '.join(part.text for part in parts)})", shape)


def picking_with(undefined: UndefinedSources) -> Mapping[str, Writer]:
    """Return the writers of operations that take indices, which may be out of range."""

    def gather(scope: NameScope, operation: Operation) -> NumpyExpression:
        source, index = (scope.exact(operand) for operand in operation.operands)
        shape = mlir_types.shape_of(operation.results[0].type)
        parts = [source, index, str(operation.integer("axis"))]
        return NumpyExpression(_with_undefined("gather", parts, operation), shape)

    def histogram(scope: NameScope, operation: Operation) -> NumpyExpression:
        value, *mask = (scope.exact(operand) for operand in operation.operands)
        shape = mlir_types.shape_of(operation.results[0].type)
        parts = [value, str(shape[0]), *(mask or ["True"])]
        return NumpyExpression(_with_undefined("histogram", parts, operation), shape)

    def _with_undefined(function: str, parts: list[str], operation: Operation) -> str:
        text = undefined.text_of(operation)
        return f"{function}({', '.join([*parts, *([text] if text else [])])})"

    return {"tt.gather": gather, "tt.histogram": histogram}


def constants_with(constants: Constants) -> Mapping[str, Writer]:
    """Return the writers of values that no program changes, which `constants` keeps."""

    def constant(scope: NameScope, operation: Operation) -> NumpyExpression:
        text, is_one = mlir_types.constant_of(operation)
        type_ = operation.results[0].type
        shape = mlir_types.shape_of(type_)
        if not is_one:
            return NumpyExpression(constants.of(f"{text}[None]"), shape)
        known = shapes.constant(scope, operation)
        return known if known.is_bare else constants.typed(text, type_)

    def poison(scope: NameScope, operation: Operation) -> NumpyExpression:
        type_ = operation.results[0].type
        pointee = mlir_types.pointee_of(type_)
        ones = (1,) * len(mlir_types.shape_of(type_))
        if pointee is not None:
            return NumpyExpression(f"Pointer(0, {mlir_types.dtype_of(pointee)})", ones)
        known = shapes.poison(scope, operation)
        return known if known.is_bare else constants.typed(known.text, type_)

    def make_range(_: NameScope, operation: Operation) -> NumpyExpression:
        start, end = operation.integer("start"), operation.integer("end")
        text = f"np.arange({start}, {end}, dtype=np.int32)[None]"
        return NumpyExpression(constants.of(text), (end - start,))

    return {"arith.constant": constant, "ub.poison": poison, "tt.make_range": make_range}


EXPRESSIONS: Mapping[str, Writer] = {
    "tt.splat": splat,
    "tt.broadcast": shapes.same,
    "tt.unsplat": unsplat,
    "tt.expand_dims": expand_dims,
    "tt.reshape": reshape,
    "tt.trans": transpose,
    "arith.select": select,
}
"""Writers by the operation's name."""
