"""Defaults of a kernel's constexprs that need modules which were not posted.

The kernel is compiled as long as it reads none of them: each refuses whatever asks for its value.
"""

import ast
import copy
import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from compiler.front.environment import StandInUsed


class UnknownDefault:
    """A default that needs modules which were not posted."""

    def __init__(self, modules: Iterable[str]) -> None:
        self.modules = list(modules)
        self.was_read = False

    def _refuse(self, *_: object) -> Any:
        self.was_read = True
        raise StandInUsed(f"a default that needs {' or '.join(self.modules)} is not known")

    def __eq__(self, other: object) -> bool:
        # Triton asks whether there is a default, and whether a branch changed the parameter
        if other is self or other is inspect.Parameter.empty:
            return other is self
        return bool(self._refuse())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._refuse()

    __hash__ = object.__hash__
    __repr__ = __str__ = __bool__ = __index__ = __int__ = __float__ = __iter__ = _refuse


def constexpr_defaults(function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names of a kernel's constexprs, each with the expression of its default."""
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args]
    first = len(named) - len(arguments.defaults)
    pairs: list[tuple[ast.arg, ast.expr | None]] = []
    pairs += zip(named[first:], arguments.defaults, strict=True)
    pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    for parameter, default in pairs:
        kind = ast.unparse(parameter.annotation) if parameter.annotation is not None else ""
        if default is not None and "constexpr" in kind:
            yield parameter.arg, default


def with_defaults(function: ast.FunctionDef, replaced: Mapping[str, ast.expr]) -> ast.FunctionDef:
    """Return a kernel with other expressions for the defaults of some constexprs."""
    others = {node: replaced[n] for n, node in constexpr_defaults(function) if n in replaced}

    def default(node: Any) -> Any:
        return ast.copy_location(others[node], node) if node in others else node

    changed = copy.copy(function)
    changed.args = copy.copy(function.args)
    changed.args.defaults = [default(node) for node in function.args.defaults]
    changed.args.kw_defaults = [default(node) for node in function.args.kw_defaults]
    return changed


def hide_defaults(kernel: Any) -> None:
    """Keep Triton, which evaluates all defaults again, from the expressions that cannot run."""
    held = {each.name: each.default for each in kernel.params if each.has_default}
    unknown = {name: value for name, value in held.items() if isinstance(value, UnknownDefault)}
    parse = kernel.parse

    def parsed() -> ast.Module:
        constant: Any = ast.Constant  # Triton takes any value of one
        constants = {name: constant(value) for name, value in unknown.items()}
        tree: ast.Module = parse()
        tree.body = [with_defaults(tree.body[0], constants)]  # type: ignore[arg-type]
        return tree

    if unknown:
        kernel.parse = parsed
