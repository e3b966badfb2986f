"""The names that one top-level statement binds and mentions, from its syntax tree alone.

Scopes are Python's own: what a function, a lambda or a comprehension binds is not the module's.
Decides nothing; `effects` does.
"""

import ast
from collections.abc import Iterable
from typing import Any

from compiler.slice.scopes import (
    COMPREHENSIONS,
    FUNCTIONS,
    How,
    Mention,
    Reading,
    Scope,
    ScopeStack,
    arguments_of,
    children,
    declared,
    launched_name,
    parsed_annotation,
    root_of,
    stored,
    walrus,
)

_UNFOLLOWED = frozenset(
    {
        "__globals__", "__dict__", "__code__", "__closure__", "__builtins__", "__subclasses__",
        "__getattribute__", "__setattr__", "__delattr__", "__import__", "__loader__", "__spec__",
        "__defaults__", "__kwdefaults__", "__wrapped__", "f_globals", "f_locals", "f_back",
        "f_builtins", "gi_frame", "tb_frame", "cr_frame", "tb_next", "__traceback__", "__mro__",
        "__bases__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__weakref__",
    }
)  # fmt: skip
"""Attributes that lead to names by ways that no reading of the text can follow."""


def read(statement: ast.stmt, *, annotations: bool = True) -> Reading:
    """Return the names that a top-level statement binds and mentions.

    `annotations` tells that they are evaluated: no `from __future__ import annotations`.
    """
    reader = _Reader(evaluates_annotations=annotations)
    reader.visit(statement)
    return reader.reading


class _Reader:
    def __init__(self, *, evaluates_annotations: bool) -> None:
        self.reading = Reading()
        self._evaluates_annotations = evaluates_annotations
        self._scopes = ScopeStack()
        self._calls = 0
        """The number of function bodies around the node, which run later."""
        self._unsure = 0

    def visit(self, node: ast.AST) -> None:
        _VISITING.get(node.__class__, _Reader._below)(self, node)

    def _below(self, node: ast.AST) -> None:
        for child in children(node):
            self.visit(child)

    def _all(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    def _is_module(self, name: str) -> bool:
        """Return whether reading `name` here may find the module's."""
        of_module, of_class = self._scopes.reads_module(name)
        self.reading.uses_own |= of_class
        return of_module

    def _mention(self, name: str, how: How, path: tuple[str, ...] = ()) -> None:
        mention = Mention(name, how, path, sure=not self._unsure and not self._calls)
        (self.reading.later if self._calls else self.reading.now).append(mention)

    def _opaque(self, what: str) -> None:
        self._mention("", "opaque", (what,))

    def _bind(self, name: str) -> None:
        """Record a binding of the module: at the top level, or of a name declared global."""
        if self._scopes.binds_module(name):
            (self.reading.later_binds if self._calls else self.reading.binds).add(name)

    def _name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._bind(node.id)
        elif self._is_module(node.id):
            self._mention(node.id, "load")

    def _attribute(self, node: ast.Attribute) -> None:
        self._chain(node, "attribute" if isinstance(node.ctx, ast.Load) else "store")

    def _chain(self, node: ast.expr, how: How) -> None:
        """Note `a.b.c` as a use of `a`; what its root computes is visited."""
        path: list[str] = []
        while isinstance(node, ast.Attribute):
            if node.attr in _UNFOLLOWED:
                self._opaque(node.attr)
            path.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name):
            if self._is_module(node.id):
                self._mention(node.id, how, tuple(reversed(path)))
            return
        self.visit(node)
        root = root_of(node) if how == "store" else None
        if root is not None and self._is_module(root):
            self._mention(root, "store")

    def _subscript(self, node: ast.Subscript) -> None:
        self.visit(node.slice)
        if isinstance(node.ctx, ast.Load):
            self._chain(node.value, "item")
            return
        root = root_of(node)
        if root is None:
            self.visit(node.value)
        elif self._is_module(root):
            self._mention(root, "store")

    def _call(self, node: ast.Call) -> None:
        function = node.func
        launched = launched_name(function)
        if launched is not None and isinstance(function, ast.Subscript):
            self.visit(function.slice)
            self._chain(function.value, "launch")
            self._launch_arguments(node, launched)
            return
        if isinstance(function, ast.Name | ast.Attribute):
            self._chain(function, "call")
        else:
            self.visit(function)
        if isinstance(function, ast.Name) and function.id == "dir" and not node.args:
            self._opaque("dir()")
        self._all([*node.args, *node.keywords])

    def _launch_arguments(self, node: ast.Call, launched: str) -> None:
        for value in (*node.args, *(keyword.value for keyword in node.keywords)):
            if not isinstance(value, ast.Name):
                self.visit(value)
            elif self._is_module(value.id):
                self._mention(value.id, "argument", (launched,))

    def _augmented(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name) and self._is_module(node.target.id):
            self._mention(node.target.id, "load")
        self._all([node.target, node.value])

    def _named(self, node: ast.NamedExpr) -> None:
        with self._scopes.around_comprehensions():
            self._bind(node.target.id)
        self.visit(node.value)

    def _perhaps(self, node: ast.AST) -> None:
        """Visit what need not run whenever the statement does."""
        self._unsure += 1
        self._below(node)
        self._unsure -= 1

    def _lambda(self, node: ast.Lambda) -> None:
        self._defaults(node.args)
        own = {argument.arg for argument in arguments_of(node.args)} | walrus([node.body])
        self._unsure += 1
        self._inside(Scope(frozenset(own)), [node.body])
        self._unsure -= 1

    def _comprehension(self, node: Any) -> None:
        self.visit(node.generators[0].iter)
        results = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        own = {name for part in node.generators for name in stored([part.target])}
        parts = [part for gen in node.generators for part in (gen.iter, *gen.ifs, gen.target)]
        self._unsure += 1
        scope = Scope(frozenset(own), kind="comprehension")
        self._inside(scope, [*parts[1:], *results])
        self._unsure -= 1

    def _inside(self, scope: Scope, nodes: Iterable[ast.AST]) -> None:
        with self._scopes.inside(scope):
            self._all(nodes)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._bind(node.name)
        self._all(node.decorator_list)
        self._defaults(node.args)
        parameters = arguments_of(node.args)
        for annotation in (*(argument.annotation for argument in parameters), node.returns):
            self._annotation(annotation)
        own = {argument.arg for argument in parameters} | stored(node.body)
        own |= {item.name for item in getattr(node, "type_params", [])}
        module, outer = declared(node.body)
        self._calls += 1
        self._inside(Scope(frozenset(own - module - outer), frozenset(module)), node.body)
        self._calls -= 1

    def _class(self, node: ast.ClassDef) -> None:
        self._bind(node.name)
        self._all([*node.decorator_list, *node.bases, *node.keywords])
        module, outer = declared(node.body)
        own = stored(node.body) - module - outer
        self._inside(Scope(frozenset(own), frozenset(module), "class"), node.body)

    def _annotated(self, node: ast.AnnAssign) -> None:
        self._annotation(node.annotation)
        self._all([node.target, node.value] if node.value is not None else [])
        if node.value is None and not isinstance(node.target, ast.Name):
            self.visit(node.target)

    def _annotation(self, node: ast.expr | None) -> None:
        if node is None or not self._evaluates_annotations:
            return
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node = parsed_annotation(node.value)
        if node is not None:
            self.visit(node)

    def _defaults(self, arguments: ast.arguments) -> None:
        self._all([*arguments.defaults, *arguments.kw_defaults])

    @property
    def _import_how(self) -> How:
        return "local_import" if self._scopes else "import"

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._mention(alias.name.split(".")[0], self._import_how, (alias.name,))
            self._bind(alias.asname or alias.name.split(".")[0])

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = "." * node.level + (node.module or "")
        root = "." if node.level else module.split(".")[0]
        for alias in node.names:
            self._mention(root, self._import_how, (module, alias.name))
            if alias.name != "*":
                self._bind(alias.asname or alias.name)

    def _handler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self._bind(node.name)
        self._below(node)

    def _capture(self, node: Any) -> None:
        name = node.rest if isinstance(node, ast.MatchMapping) else node.name
        if name:
            self._bind(name)
        self._below(node)

    def _raise(self, node: ast.AST) -> None:
        self.reading.raises |= not self._calls
        self._below(node)

    def _type_alias(self, node: Any) -> None:
        self._bind(node.name.id)
        own = frozenset(item.name for item in node.type_params)
        self._calls += 1
        self._inside(Scope(own), [*node.type_params, node.value])
        self._calls -= 1


_VISITING: dict[type[ast.AST], Any] = {
    ast.Name: _Reader._name,
    ast.Attribute: _Reader._attribute,
    ast.Subscript: _Reader._subscript,
    ast.Call: _Reader._call,
    ast.AugAssign: _Reader._augmented,
    ast.AnnAssign: _Reader._annotated,
    ast.NamedExpr: _Reader._named,
    ast.Lambda: _Reader._lambda,
    ast.ClassDef: _Reader._class,
    ast.Import: _Reader._import,
    ast.ImportFrom: _Reader._import_from,
    ast.ExceptHandler: _Reader._handler,
    ast.Raise: _Reader._raise,
    ast.Assert: _Reader._raise,
    **dict.fromkeys(FUNCTIONS, _Reader._function),
    **dict.fromkeys(COMPREHENSIONS, _Reader._comprehension),
    **dict.fromkeys((ast.MatchAs, ast.MatchStar, ast.MatchMapping), _Reader._capture),
    **dict.fromkeys(
        (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.With, ast.AsyncWith, ast.Match,
         ast.IfExp, ast.BoolOp),
        _Reader._perhaps,
    ),
}  # fmt: skip
_LATER = {"TryStar": _Reader._perhaps, "TypeAlias": _Reader._type_alias}  # of 3.11 and 3.12
_VISITING |= {getattr(ast, name): how for name, how in _LATER.items() if hasattr(ast, name)}


def mentioned(statement: ast.stmt) -> frozenset[str]:
    """Return the module-level names read by running `statement`, or by calling its result."""
    found = read(statement)
    return frozenset(mention.name for mention in (*found.now, *found.later))
