"""A heuristic of `@triton.heuristics` as a plain expression over the arguments of a launch.

Only its text is read: `lambda args: args["N"] % args["BLOCK"] == 0` is `N % BLOCK == 0`. What it
takes from its module is put in as the number that it is, and what is more than arithmetic,
comparison and choice is refused with the reason. It is evaluated elsewhere, where no user code is.
"""

import ast
import builtins
import linecache
import types
from collections.abc import Iterator
from typing import Any

import triton
import triton.language as tl

from compiler.diagnostic import KERNEL_FOLDER, USER_FILE

MAX_CHARS = 1000
MAX_TERMS = 200
_MAX_SHOWN = 60
_MAX_BITS = 64
_OPERATORS = (
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift,
    ast.BitAnd, ast.BitOr, ast.BitXor, ast.UAdd, ast.USub, ast.Not, ast.And, ast.Or, ast.Eq,
    ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Is, ast.IsNot, ast.In, ast.NotIn,
)  # fmt: skip
_NOTHING = object()
_BUILTINS = ("min", "max", "abs", "bool", "int")


class NotPlain(Exception):
    """The heuristic is not a plain expression; the message explains why."""


def place_of(function: Any) -> tuple[str, int]:
    """Return the user's file and the line that a function begins on; 0 if it is not the user's."""
    code = getattr(function, "__code__", None)
    if code is None or not code.co_filename.startswith(KERNEL_FOLDER):
        return USER_FILE, 0
    return code.co_filename.removeprefix(KERNEL_FOLDER), code.co_firstlineno


def plain_expression(function: Any) -> str:
    """Return the expression that `function` returns, arguments under their bare names.

    Raises NotPlain.
    """
    if type(function) is not types.FunctionType or not place_of(function)[1]:
        kind = type(function).__name__
        raise NotPlain(f"it is a {kind} whose text is not in the source, not a lambda in it")
    parameter, body = _text_of(function)
    terms = sum(1 for _ in ast.walk(body))
    if terms > MAX_TERMS:
        raise NotPlain(f"it has {terms} terms and operators, more than {MAX_TERMS}")
    rewritten = _Rewriting(parameter, function).visit(body)
    text = ast.unparse(ast.fix_missing_locations(rewritten))
    if len(text) > MAX_CHARS:
        raise NotPlain(f"it has {len(text)} characters, more than {MAX_CHARS}")
    return text


def _text_of(function: types.FunctionType) -> tuple[str, ast.expr]:
    """Return the name of the one parameter, and the expression that is returned."""
    nodes = list(_nodes_of(function))
    if len({ast.dump(node) for node in nodes}) != 1:
        raise NotPlain("several functions share its line; put it on a separate line")
    node = nodes[0]
    named = [*node.args.posonlyargs, *node.args.args]
    if len(named) != 1 or node.args.defaults or node.args.kwonlyargs or node.args.vararg:
        raise NotPlain("its only parameter must be the mapping of arguments")
    if isinstance(node, ast.Lambda):
        return named[0].arg, node.body
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    if len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value is not None:
        return named[0].arg, body[0].value
    raise NotPlain(f"the function {node.name} does more than return an expression")


def _nodes_of(function: types.FunctionType) -> Iterator[ast.Lambda | ast.FunctionDef]:
    """Yield the parts of the function's file at its line, by code if there are several."""
    code = function.__code__
    tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    nodes = [
        node
        for node in ast.walk(tree)
        if isinstance(node, (ast.Lambda, ast.FunctionDef)) and node.lineno == code.co_firstlineno
    ]
    for node in nodes:
        if isinstance(node, ast.FunctionDef) and (
            node.name != function.__name__ or node.decorator_list
        ):
            continue
        if len(nodes) == 1 or _is_made_of(code, node):
            yield node


def _is_made_of(code: types.CodeType, node: ast.Lambda | ast.FunctionDef) -> bool:
    if isinstance(node, ast.FunctionDef):
        return True
    program = compile(ast.Expression(node), code.co_filename, "eval")
    [made] = [item for item in program.co_consts if isinstance(item, types.CodeType)]
    return (made.co_code, made.co_consts, made.co_names) == (
        code.co_code,
        code.co_consts,
        code.co_names,
    )


class _Rewriting(ast.NodeTransformer):
    """Replaces names by arguments and constants."""

    def __init__(self, parameter: str, function: types.FunctionType) -> None:
        self._parameter = parameter
        outside = {**vars(builtins), **function.__globals__}
        self._known = {**outside, **_closure(function)}

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Refuse every node type without a method here."""
        text = ast.unparse(node)[:_MAX_SHOWN]
        raise NotPlain(f"`{text}` is more than arithmetic, comparisons and choices over arguments")

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return _constant(node.value, node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if (
            isinstance(node.value, ast.Name)
            and node.value.id == self._parameter
            and isinstance(node.slice, ast.Constant)
            and isinstance(node.slice.value, str)
            and node.slice.value.isidentifier()
        ):
            return ast.Name(node.slice.value, ast.Load())
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._value_of(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return self._value_of(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if node.keywords:
            return self.generic_visit(node)
        called = ast.Name(self._function(node), ast.Load())
        return ast.Call(called, [self.visit(item) for item in node.args], [])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self._check(node.op, node)
        return ast.UnaryOp(node.op, self.visit(node.operand))

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self._check(node.op, node)
        return ast.BinOp(self.visit(node.left), node.op, self.visit(node.right))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        return ast.BoolOp(node.op, [self.visit(item) for item in node.values])

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        for operator in node.ops:
            self._check(operator, node)
        compared = [self.visit(item) for item in node.comparators]
        return ast.Compare(self.visit(node.left), node.ops, compared)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        return ast.IfExp(self.visit(node.test), self.visit(node.body), self.visit(node.orelse))

    def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
        return ast.Tuple([self.visit(item) for item in node.elts], ast.Load())

    def visit_List(self, node: ast.List) -> ast.AST:
        return ast.Tuple([self.visit(item) for item in node.elts], ast.Load())

    def _check(self, operator: ast.AST, node: ast.AST) -> None:
        if not isinstance(operator, _OPERATORS):
            self.generic_visit(node)

    def _function(self, node: ast.Call) -> str:
        called = self._resolved(node.func)
        for name in ("cdiv", "next_power_of_2"):
            if any(called is vars(module).get(name) for module in (triton, tl)):
                return name
        for name in _BUILTINS:
            if called is getattr(builtins, name):
                return name
        text = ast.unparse(node.func)[:_MAX_SHOWN]
        raise NotPlain(
            f"it calls `{text}`: only triton.cdiv, triton.next_power_of_2 and "
            f"{', '.join(_BUILTINS)} are plain"
        )

    def _value_of(self, node: ast.Name | ast.Attribute) -> ast.AST:
        value = self._resolved(node)
        if value is _NOTHING:
            text = ast.unparse(node)[:_MAX_SHOWN]
            raise NotPlain(f"`{text}` is neither an argument nor a constant of the module")
        return _constant(value.value if isinstance(value, tl.constexpr) else value, node)

    def _resolved(self, node: ast.expr) -> Any:
        """Return the value of a name, or of a module's name; _NOTHING if unknown."""
        match node:
            case ast.Name(id=name) if name in self._known:
                return self._known[name]
            case ast.Attribute(value=owner, attr=name):
                module = self._resolved(owner)
                if type(module) is types.ModuleType and name in vars(module):
                    return vars(module)[name]
        return _NOTHING


def _constant(value: Any, node: ast.expr) -> ast.AST:
    if type(value) is int and value.bit_length() > _MAX_BITS:
        raise NotPlain(f"a number of {value.bit_length()} bits")
    if value is None or type(value) in (bool, int, float, str):
        return ast.Constant(value)
    text = ast.unparse(node)[:_MAX_SHOWN]
    raise NotPlain(f"`{text}` is a {type(value).__name__}, neither a number nor a string")


def _closure(function: types.FunctionType) -> dict[str, Any]:
    names = function.__code__.co_freevars
    cells = function.__closure__ or ()
    return {
        name: cell.cell_contents
        for name, cell in zip(names, cells, strict=True)
        if _is_filled(cell)
    }


def _is_filled(cell: types.CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:  # Python's sign that the variable has no value yet
        return False
    return True
