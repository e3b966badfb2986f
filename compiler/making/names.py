"""Which module-level names a statement binds and which it looks up, from its syntax tree alone."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_FUNCTIONS, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_CLOSED = (*_SCOPES, ast.ClassDef)
_LEAVES = (ast.Name, ast.Constant, ast.alias)
_CHANGING_CALLS = frozenset(
    {"append", "extend", "update", "setdefault", "insert", "add", "remove", "pop", "clear", "sort"}
)


def bound(statement: ast.stmt) -> frozenset[str]:
    """Return the module-level names that `statement` defines, assigns or changes in place."""
    found: set[str] = set()
    for node in _same_scope(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            found.add(node.id)
        elif isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            found.add(node.name)
            found |= _declared_global(node)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
            found |= _base(node)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
    return frozenset(found | _changed(statement))


def looked_up(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Return the names that running `nodes`, or calling their functions, looks up in the module."""
    reader = _Reader()
    for node in nodes:
        reader.visit(node)
    return frozenset(reader.found)


def _children(node: ast.AST) -> list[ast.AST]:
    """Return the nodes below `node`; as `ast.iter_child_nodes`, which takes five times as long."""
    found: list[ast.AST] = []
    if node.__class__ in _LEAVES:
        return found
    for name in node._fields:
        value = getattr(node, name, None)
        if value.__class__ is list:
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST) and name != "ctx":
            found.append(value)
    return found


def _same_scope(node: ast.AST) -> list[ast.AST]:
    """Return `node` and what is below it outside of functions, classes and comprehensions."""
    found, left = [], [node]
    while left:
        inner = left.pop()
        found.append(inner)
        if not isinstance(inner, _CLOSED):
            left.extend(_children(inner))
    return found


def _declared_global(node: ast.AST) -> set[str]:
    names: set[str] = set()
    left = [node]
    while left:
        inner = left.pop()
        if isinstance(inner, ast.Global):
            names.update(inner.names)
        elif not isinstance(inner, ast.expr):  # no expression holds a statement
            left.extend(_children(inner))
    return names


def _base(node: ast.AST) -> set[str]:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def _changed(statement: ast.stmt) -> set[str]:
    """Return what a bare call changes: `names.append(x)`, `setattr(module, ...)` and their like."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return set()
    call = statement.value
    if isinstance(call.func, ast.Name) and call.func.id in {"setattr", "delattr"} and call.args:
        return _base(call.args[0])
    if isinstance(call.func, ast.Attribute) and call.func.attr == "exec_module" and call.args:
        return _base(call.args[0])
    if isinstance(call.func, ast.Attribute) and call.func.attr in _CHANGING_CALLS:
        return _base(call.func.value)
    return set()


class _Reader:
    """Collects looked-up names; a name that an enclosing function binds is that function's own."""

    def __init__(self) -> None:
        self.found: set[str] = set()
        self._scopes: list[set[str]] = []

    def visit(self, node: ast.AST) -> None:
        """Collect from `node` and all below it."""
        reading = _READING.get(node.__class__)
        if reading is not None:
            reading(self, node)
        else:
            for child in _children(node):
                self.visit(child)

    def _name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load) and not any(node.id in scope for scope in self._scopes):
            self.found.add(node.id)

    def _augmented(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name) and not self._scopes:
            self.found.add(node.target.id)
        for child in _children(node):
            self.visit(child)

    def _lambda(self, node: ast.Lambda) -> None:
        self._defaults(node.args)
        self._inside(_parameters(node.args), [node.body])

    def _annotated(self, node: ast.AnnAssign) -> None:
        self._annotation(node.annotation)
        for part in (node.target, node.value):
            if part is not None:
                self.visit(part)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for decorator in node.decorator_list:
            self.visit(decorator)
        self._defaults(node.args)
        for annotation in (
            *(argument.annotation for argument in _arguments(node.args)),
            node.returns,
        ):
            self._annotation(annotation)
        own = {name for inner in node.body for name in _assigned(inner)}
        declared = {name for inner in node.body for name in _declared_global(inner)}
        self._inside((_parameters(node.args) | own) - declared, node.body)

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
    ) -> None:
        results = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        targets = {name for generator in node.generators for name in _assigned(generator.target)}
        parts = [part for generator in node.generators for part in (generator.iter, *generator.ifs)]
        self.visit(node.generators[0].iter)
        self._inside(targets, [*parts, *results])

    def _defaults(self, arguments: ast.arguments) -> None:
        for default in (*arguments.defaults, *arguments.kw_defaults):
            if default is not None:
                self.visit(default)

    def _annotation(self, node: ast.expr | None) -> None:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node = _parsed(node.value)
        if node is not None:
            self.visit(node)

    def _inside(self, own: set[str], nodes: Iterable[ast.AST]) -> None:
        self._scopes.append(own)
        for node in nodes:
            self.visit(node)
        self._scopes.pop()


_READING: dict[type[ast.AST], Callable[[_Reader, Any], None]] = {
    ast.Name: _Reader._name,
    ast.AugAssign: _Reader._augmented,
    ast.AnnAssign: _Reader._annotated,
    ast.Lambda: _Reader._lambda,
    **dict.fromkeys(_FUNCTIONS, _Reader._function),
    **dict.fromkeys(
        (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp), _Reader._comprehension
    ),
}


def _parsed(annotation: str) -> ast.expr | None:
    try:
        return ast.parse(annotation, mode="eval").body
    except SyntaxError:
        return None  # a string that is no expression looks nothing up


def _assigned(node: ast.AST) -> set[str]:
    found = set()
    for inner in _same_scope(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            found.add(inner.id)
        elif isinstance(inner, (*_FUNCTIONS, ast.ClassDef)):
            found.add(inner.name)
        elif isinstance(inner, (ast.Import, ast.ImportFrom)):
            found |= {(alias.asname or alias.name).split(".")[0] for alias in inner.names}
        elif isinstance(inner, ast.ExceptHandler) and inner.name:
            found.add(inner.name)
    return found


def _arguments(arguments: ast.arguments) -> list[ast.arg]:
    extra = [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *extra]


def _parameters(arguments: ast.arguments) -> set[str]:
    return {argument.arg for argument in _arguments(arguments)}
