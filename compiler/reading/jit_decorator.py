"""Recognises the jit decorators in syntax, such as `@triton.jit`, through aliases.

Imports nothing of Triton.
"""

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from compiler.languages import EXECUTED

MODULES = {name: module for language in EXECUTED for name, module in language.names.items()}
_LANGUAGES = {name: language.name for language in EXECUTED for name in language.decorators}
"""The language of each decorator."""
_USUAL = {language.name: language.names[language.name] for language in EXECUTED}


def module_of(node: ast.ImportFrom, alias: ast.alias) -> str | None:
    """Return the module of Triton's that an alias of an import from elsewhere means, if any."""
    if not node.level and (node.module or "").partition(".")[0] == "triton":
        return None
    return MODULES.get(alias.name)


@dataclass(frozen=True)
class JitDecorator:
    """A function's jit decorator: its place in the list, its keyword arguments, its language."""

    index: int
    keywords: dict[str, ast.expr]
    language: str


class Aliases:
    """The meaning of each name of a module, as far as its imports and `x = triton.jit` show."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self._names = dict(_USUAL)
        for node in module_level(tree.body):
            if isinstance(node, ast.Import):
                self._add_import(node)
            elif isinstance(node, ast.ImportFrom):
                self._add_import_from(node)
            elif isinstance(node, ast.Assign) and len(node.targets) == 1:
                self._add_assignment(node.targets[0], node.value)

    def _add_import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.asname:
                self._names[alias.asname] = alias.name
            else:
                root = alias.name.split(".")[0]
                self._names[root] = root

    def _add_import_from(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            module = module_of(node, alias)
            if module is not None:
                self._names[alias.asname or alias.name] = module
            elif node.module and not node.level:
                self._names[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def _add_assignment(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name) and self.is_jit(value):
            self._names[target.id] = self.dotted(value) or ""

    def dotted(self, node: ast.expr) -> str | None:
        """Return the full dotted name of `tl.constexpr` and the like, or `None`."""
        if isinstance(node, ast.Name):
            return self._names.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            owner = self.dotted(node.value)
            return f"{owner}.{node.attr}" if owner else None
        return None

    def is_jit(self, node: ast.expr) -> bool:
        """Return whether an expression names one of Triton's jit decorators."""
        return self.dotted(node) in _LANGUAGES

    def decorator_of(self, function: ast.stmt) -> JitDecorator | None:
        """Return the jit decorator of a function definition, or `None` if it has none."""
        if not isinstance(function, ast.FunctionDef):
            return None
        for index, decorator in enumerate(function.decorator_list):
            call = decorator if isinstance(decorator, ast.Call) else None
            name = call.func if call else decorator
            if call and _is_partial(self.dotted(name)) and call.args:
                name = call.args[0]
            language = _LANGUAGES.get(self.dotted(name) or "")
            if language is not None:
                keywords = {k.arg: k.value for k in call.keywords if k.arg} if call else {}
                return JitDecorator(index, keywords, language)
        return None

    def jitted_by_call(self, value: ast.expr | None) -> str | None:
        """Return `f` for the expression `triton.jit(f)`, else `None`."""
        if isinstance(value, ast.Call) and self.is_jit(value.func) and value.args:
            first = value.args[0]
            return first.id if isinstance(first, ast.Name) else None
        return None


def _is_partial(name: str | None) -> bool:
    return name in {"partial", "functools.partial"}


def module_level(body: Iterable[ast.stmt]) -> Iterable[ast.stmt]:
    """Walk the statements that run when the module does, into `if`, `try` and `with`."""
    for statement in body:
        yield statement
        for field in ("body", "orelse", "finalbody"):
            if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                yield from module_level(getattr(statement, field, []))
        for part in (*getattr(statement, "handlers", []), *getattr(statement, "cases", [])):
            yield from module_level(part.body)
