"""Operations that move elements: splat, broadcast, reshape, transpose, join, gather and more."""

from collections.abc import Callable, Mapping

from compiler.ttir_to_numpy import mlir_types
from compiler.ttir_to_numpy.ir import Operation
from compiler.ttir_to_numpy.scope import NameScope, NumpyExpression, results_of


def constant(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return `arith.constant`: one number stands for all elements."""
    text, is_one = mlir_types.constant_of(operation)
    shape = () if is_one else mlir_types.shape_of(operation.results[0].type)
    is_bare = is_one and not text.startswith(("ml_dtypes", "np.uint8"))
    return NumpyExpression(text, shape, is_bare=is_bare)


def same(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return the operand itself: NumPy broadcasts by itself."""
    return scope.value(operation.operands[0])


def unsplat(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return the only element."""
    return NumpyExpression(f"reshape({scope.exact(operation.operands[0])})[()]")


def poison(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return an undefined value: zero."""
    type_ = operation.results[0].type
    if mlir_types.pointee_of(type_) is not None:
        return NumpyExpression(
            f"Pointer(np.int64(0), {mlir_types.dtype_of(mlir_types.pointee_of(type_) or '')})"
        )
    if mlir_types.element_of(type_) in mlir_types.WEAK:
        return NumpyExpression("0", is_bare=True)
    return NumpyExpression(f"{mlir_types.dtype_of(type_)}(0)")


def make_range(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return `tl.arange`."""
    start, end = operation.integer("start"), operation.integer("end")
    ends = f"{end}" if start == 0 else f"{start}, {end}"
    return NumpyExpression(f"np.arange({ends}, dtype=np.int32)", (end - start,))


def expand_dims(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return the operand with one more axis."""
    [value] = operation.operands
    known = scope.value(value)
    shape = mlir_types.shape_of(value.type)
    if not known.shape:
        return known  # one number for all
    text = known.inner if known.shape == shape else scope.exact(value)
    axis = operation.integer("axis")
    index = [":"] * len(shape)
    index.insert(axis, "None")
    return NumpyExpression(f"{text}[{', '.join(index)}]", (*shape[:axis], 1, *shape[axis:]))


def reshape(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return the elements, in row-major order, in the shape of the result."""
    shape = mlir_types.shape_of(operation.results[0].type)
    sizes = "".join(f", {size}" for size in shape)
    return NumpyExpression(f"reshape({scope.exact(operation.operands[0])}{sizes})", shape)


def transpose(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return the operand with its axes in the order of `order`."""
    order = "".join(f", {axis}" for axis in operation.integers("order"))
    shape = mlir_types.shape_of(operation.results[0].type)
    return NumpyExpression(f"transpose({scope.exact(operation.operands[0])}{order})", shape)


def paired(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return `tt.join` or `tt.cat` of two tensors."""
    first, second = (scope.exact(operand) for operand in operation.operands)
    function = "join" if operation.name == "tt.join" else "concatenate"
    return NumpyExpression(
        f"{function}({first}, {second})", mlir_types.shape_of(operation.results[0].type)
    )


def split(scope: NameScope, operation: Operation) -> None:
    """Write `tt.split`: the two halves of the last axis."""
    text = scope.exact(operation.operands[0])
    scope.emit(f"{results_of(scope, operation)}{text}[..., 0], {text}[..., 1]", operation)


def gather(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return the elements that the second operand names along `axis`."""
    source, index = (scope.exact(operand) for operand in operation.operands)
    axis = operation.integer("axis")
    shape = mlir_types.shape_of(operation.results[0].type)
    return NumpyExpression(f"np.take_along_axis({source}, {index}, {axis})", shape)


def histogram(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return how often each number occurs."""
    texts = [scope.exact(operand) for operand in operation.operands]
    shape = mlir_types.shape_of(operation.results[0].type)
    return NumpyExpression(f"histogram({', '.join([texts[0], str(shape[0]), *texts[1:]])})", shape)


EXPRESSIONS: Mapping[str, Callable[[NameScope, Operation], NumpyExpression]] = {
    "arith.constant": constant,
    "tt.splat": same,
    "tt.broadcast": same,
    "tt.unsplat": unsplat,
    "ub.poison": poison,
    "tt.make_range": make_range,
    "tt.expand_dims": expand_dims,
    "tt.reshape": reshape,
    "tt.trans": transpose,
    "tt.join": paired,
    "tt.cat": paired,
    "tt.gather": gather,
    "tt.histogram": histogram,
}
"""Writers by the operation's name."""
STATEMENTS: Mapping[str, Callable[[NameScope, Operation], None]] = {"tt.split": split}
