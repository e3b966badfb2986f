"""Decides whether a source must also be executed whole, to check its slice.

Files of imports, definitions, plain assignments and launches do not: what is left out of these
cannot matter. Reads syntax only.
"""

import ast
import builtins

from compiler.slice.effects import Effects
from compiler.slice.kinds import Kind
from compiler.slice.outline import Outline, is_main_block
from compiler.slice.scopes import children

_PLAIN_BUILTINS = frozenset(
    {"int", "float", "str", "bool", "len", "tuple", "list", "dict", "set", "frozenset", "range",
     "min", "max", "abs", "round", "print", "repr", "object", "slice", "complex", "bytes"}
)  # fmt: skip
_PLAIN_MODULES = frozenset({"typing", "dataclasses", "collections", "functools", "logging", "enum"})
_PLAIN_OF_TRITON = frozenset(
    {"autotune", "heuristics", "Config", "jit", "language.constexpr", "cdiv", "next_power_of_2",
     "experimental.gluon.jit", "language.core.constexpr"}
)  # fmt: skip
_DECIDING = {"attribute", "item", "call", "load", "launch"}
_NOT_PLAIN = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, ast.Starred)


def is_wanted(outline: Outline, effects: Effects) -> bool:
    """Return whether the whole text can give another result than its slice.

    It cannot where every statement is plain, nor where it would certainly ask a module that is not
    here.
    """
    if _Plain(outline, effects).statements(outline):
        return False
    return not any(
        mention.sure and mention.how in _DECIDING and _is_foreign(mention.name, effects)
        for unit in outline.units
        for mention in unit.reading.now
    )


def _is_foreign(name: str, effects: Effects) -> bool:
    known = effects.imported.get(name)
    return known is not None and effects.is_foreign(known)


class _Plain:
    def __init__(self, outline: Outline, effects: Effects) -> None:
        self._effects = effects
        self._unread = {id(item.node) for unit in outline.units for item in unit.left_out}
        self._bound = set(dir(builtins)) | {"__name__", "__file__", "__doc__"}

    def statements(self, outline: Outline) -> bool:
        """Return whether all statements are plain, each reading only what those before it bound."""
        for unit in outline.units:
            if not all(self.statement(node) for node in unit.nodes):
                return False
            self._bound |= unit.binds
        return True

    def statement(self, node: ast.stmt) -> bool:
        """Return whether a statement only imports, defines, assigns plainly or launches."""
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.Pass)) or is_main_block(node):
            return True
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            parts = [*node.decorator_list, *node.args.defaults, *node.args.kw_defaults]
            read = (part for part in parts if part is not None and id(part) not in self._unread)
            return all(self._value(part) for part in read)
        if isinstance(node, ast.ClassDef):
            kept = (keyword.value for keyword in node.keywords)
            evaluated = [*node.decorator_list, *node.bases, *kept]
            plain = all(self._value(part) for part in evaluated)
            return plain and all(map(self.statement, node.body))
        if isinstance(node, ast.Assign):
            return all(map(_is_name, node.targets)) and self._value(node.value)
        if isinstance(node, ast.AnnAssign):
            return _is_name(node.target) and (node.value is None or self._value(node.value))
        return isinstance(node, ast.Expr) and self._value(node.value)

    def _value(self, node: ast.AST) -> bool:
        if isinstance(node, _NOT_PLAIN):
            return False
        if isinstance(node, ast.Call):
            index = [node.func.slice] if isinstance(node.func, ast.Subscript) else []
            parts: list[ast.AST] = [*index, *node.args, *node.keywords]
            return self._call(node.func) and all(map(self._value, parts))
        if isinstance(node, ast.Subscript) and not self._is_imported(node.value):
            return False
        if isinstance(node, ast.Lambda):
            return True
        if isinstance(node, ast.Name) and node.id not in self._bound:
            return False
        if isinstance(node, (ast.BinOp, ast.Compare)) and not self._is_safe(node):
            return False
        return all(self._value(child) for child in children(node))

    def _is_safe(self, node: ast.BinOp | ast.Compare) -> bool:
        """Return whether an operation is one of plain numbers that cannot fail."""
        if isinstance(node, ast.BinOp) and not isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
            return False
        operands = [node.left, *(node.comparators if isinstance(node, ast.Compare) else [])]
        operands += [node.right] if isinstance(node, ast.BinOp) else []
        return all(self._is_number(operand) for operand in operands)

    def _is_number(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return self._effects.kind(node.id) is Kind.IMMUTABLE
        if isinstance(node, ast.BinOp):
            return self._is_safe(node)
        return isinstance(node, ast.Constant) and isinstance(node.value, (int, float))

    def _call(self, function: ast.expr) -> bool:
        if isinstance(function, ast.Subscript):
            launched = function.value
            return isinstance(launched, ast.Name) and (
                self._effects.kind(launched.id) is Kind.KERNEL
            )
        if isinstance(function, ast.Name) and function.id in _PLAIN_BUILTINS:
            return not self._effects.binding(function.id)
        return self._is_plain_of_module(function)

    def _is_plain_of_module(self, function: ast.expr) -> bool:
        path: list[str] = []
        while isinstance(function, ast.Attribute):
            path.append(function.attr)
            function = function.value
        known = self._effects.imported.get(function.id) if isinstance(function, ast.Name) else None
        if known is None:
            return False
        dotted = ".".join([*known.path, *reversed(path)])
        if known.root == "triton":
            return dotted in _PLAIN_OF_TRITON
        return known.root in _PLAIN_MODULES or self._effects.is_foreign(known)

    def _is_imported(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self._effects.imported


def _is_name(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple):
        return False  # taking a value apart can fail, and uses up what can be used once
    return isinstance(node, ast.Name)
