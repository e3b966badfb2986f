"""Values known from the IR before anything runs: the number that all elements equal."""

from compiler.ttir_to_numpy import mlir_types
from compiler.ttir_to_numpy.ir import Operation, Value

_SAME = frozenset({"tt.splat", "tt.broadcast", "tt.expand_dims"})
"""`tt.broadcast %x : tensor<64x1xf32> -> tensor<64x128xf32>`"""
_BITCAST = "arith.bitcast"


def source_of(value: Value) -> Value:
    """Return the value whose elements `value` has in another shape."""
    while (made_by := value.made_by) is not None and _is_same(made_by):
        [value] = made_by.operands
    return value


def _is_same(operation: Operation) -> bool:
    if operation.name == _BITCAST:
        return operation.operands[0].type == operation.results[0].type
    return operation.name in _SAME


def number_of(value: Value) -> float | int | None:
    """Return the number that every element of `value` is known to be."""
    made_by = source_of(value).made_by
    if made_by is None or made_by.name != "arith.constant":
        return None
    text, is_one = mlir_types.constant_of(made_by)
    if not is_one or text in {"True", "False"} or ".view(" in text:
        return None
    number = text.rpartition("(")[2].rstrip(")").replace("np.", "")  # bf16 has its dtype around it
    element = mlir_types.element_of(made_by.results[0].type)
    return int(number) if element.startswith(("i", "index")) else float(number)
