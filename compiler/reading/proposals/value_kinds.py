"""Finds what an expression of a kernel computes: integers, floats or booleans."""

import ast
from collections.abc import Callable, Iterable, Mapping

from compiler.reading.proposals.clues import FLOATS, INTEGERS
from compiler.reading.proposals.parsed_function import MAX_DEPTH, ParsedFunction, argument

_INT = frozenset(
    {"program_id", "num_programs", "arange", "cdiv", "range", "static_range", "argmax", "argmin",
     "next_power_of_2", "randint", "len", "int", "umulhi", "popc", "clz", "ffs"}
)  # fmt: skip
FLOAT_FUNCTIONS = frozenset(
    {"exp", "exp2", "log", "log2", "sqrt", "sqrt_rn", "rsqrt", "sin", "cos", "tanh", "sigmoid",
     "softmax", "erf", "fma", "rand", "randn", "dot", "dot_scaled", "div_rn", "fdiv", "pow", "tan",
     "log1p", "expm1", "exp10", "ceil", "floor", "float"}
)  # fmt: skip
_OF_FIRST = frozenset(
    {"sum", "max", "min", "cumsum", "cumprod", "abs", "sort", "flip", "broadcast_to", "reshape",
     "view", "trans", "expand_dims", "multiple_of", "max_contiguous", "reduce", "associative_scan",
     "ravel", "permute", "split", "join", "cat", "interleave", "gather", "clamp", "advance",
     "xor_sum", "to_tensor"}
)  # fmt: skip
_OF_ALL = frozenset({"minimum", "maximum", "min", "max"})
_OF_CONSTANTS = {bool: "bool", int: "int", float: "float"}
_INT_OPERATORS = (ast.FloorDiv, ast.LShift, ast.RShift)


class ValueKinds:
    """The kinds of one function's expressions.

    `known` are the kinds of its parameters, `elements` those that its pointers point to, and
    `roots` returns the pointers that an address starts from.
    """

    def __init__(
        self,
        function: ParsedFunction,
        known: Mapping[str, str],
        elements: Mapping[str, str],
        roots: Callable[[ast.expr], Iterable[str]],
    ) -> None:
        self._function = function
        self._known = known
        self._elements = elements
        self._roots = roots
        self._names: dict[str, str | None] = {}
        self._nodes: dict[int, str | None] = {}

    def of(self, node: ast.expr | None, depth: int = 0) -> str | None:
        """Return `int`, `float`, `bool`, or None where the text does not show it."""
        if node is None or depth > MAX_DEPTH:
            return None
        if id(node) not in self._nodes:
            self._nodes[id(node)] = None  # a cycle ends here
            self._nodes[id(node)] = self._of(node, depth + 1)
        return self._nodes[id(node)]

    def _of(self, node: ast.expr, depth: int) -> str | None:
        match node:
            case ast.Constant(value=value):
                return _OF_CONSTANTS.get(type(value))
            case ast.Name(id=name):
                return self._name(name, depth)
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                return "bool"
            case ast.BinOp():
                return self._operation(node, depth)
            case ast.IfExp(body=body, orelse=other):
                return joined([self.of(body, depth), self.of(other, depth)])
            case (
                ast.UnaryOp(operand=part)
                | ast.Subscript(value=part)
                | ast.Attribute(value=part, attr="T")
            ):
                return self.of(part, depth)
            case ast.Call():
                return self._call(node, depth)
        return None

    def _name(self, name: str, depth: int) -> str | None:
        if name in self._names:
            return self._names[name]
        self._names[name] = None
        if name in self._function.counters:
            kind: str | None = "int"
        elif values := self._function.values.get(name):
            kind = joined(self.of(value, depth) for value in values)
        else:
            kind = self._known.get(name)
        self._names[name] = kind
        return kind

    def _operation(self, node: ast.BinOp, depth: int) -> str | None:
        if isinstance(node.op, ast.Div):
            return "float"
        if isinstance(node.op, _INT_OPERATORS):
            return "int"
        return joined([self.of(node.left, depth), self.of(node.right, depth)])

    def _call(self, node: ast.Call, depth: int) -> str | None:
        name = self._function.callee(node)
        first = node.args[0] if node.args else None
        if name in {".to", "cast", "full", "zeros"}:
            index = {".to": 0, "cast": 1, "full": 2, "zeros": 1}[name]
            return kind_of_dtype(self._function.dtype(argument(node, index, "dtype")))
        if name in {"load", ".load"}:
            return self._loaded(node)
        if name in _INT:
            return "int"
        if name in FLOAT_FUNCTIONS:
            return "float"
        if name == "where":
            return joined(self.of(part, depth) for part in node.args[1:])
        if name in _OF_ALL and len(node.args) > 1:
            return joined(self.of(part, depth) for part in node.args[:2])
        if name in _OF_FIRST:
            return self.of(first, depth)
        if name.startswith(".") and isinstance(node.func, ast.Attribute):
            return self.of(node.func.value, depth)
        return None

    def _loaded(self, node: ast.Call) -> str | None:
        base: ast.expr | None = argument(node, 0, "pointer")
        if isinstance(node.func, ast.Attribute) and self._function.callee(node) == ".load":
            base = node.func.value
        roots = self._roots(base) if base is not None else ()
        return joined([self._elements.get(root, "float") for root in roots] or ["float"])


def joined(kinds: Iterable[str | None]) -> str | None:
    """Return the kind of an operation on both: floats win, and an unknown one hides integers."""
    known = set(kinds)
    if "float" in known:
        return "float"
    if None in known or not known:
        return None
    return "int" if "int" in known else "bool"


def kind_of_dtype(dtype: str | None) -> str | None:
    """Return the kind of a Triton type."""
    if dtype in FLOATS:
        return "float"
    return ("bool" if dtype == "int1" else "int") if dtype in INTEGERS else None


def kind_of_type(dtype: str) -> str:
    """Return the kind of a type in the form of signatures, such as `i32`."""
    if dtype == "i1":
        return "bool"
    return "int" if dtype in INTEGERS.values() else "float"
