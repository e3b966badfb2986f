"""Jit functions inside of classes and functions, which are no names of the module.

A function's exist only once it is called, and a class's only if the class can be made. The text of
one that uses nothing around it but imports is enough to compile it.
"""

import ast
import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compiler.reading.jit_decorator import Aliases, module_level
from compiler.reading.scopes import stored

_Owner = ast.FunctionDef | ast.ClassDef
_MAX_HELPERS = 16


@dataclass(frozen=True)
class NestedKernel:
    """A jit function, and the functions and classes around it, the outermost first.

    One of a class is named `Class.kernel` or `Class.Inner.kernel`, one of a function `kernel`.
    """

    name: str
    node: ast.FunctionDef
    owners: tuple[_Owner, ...]
    aliases: Aliases

    @property
    def where(self) -> str:
        """The definition around it, in words."""
        first = self.owners[0]
        return f"{'class' if isinstance(first, ast.ClassDef) else 'function'} {first.name}"

    def statements(self) -> list[ast.stmt] | None:
        """Return what defines it at the top level: imports, helpers, and the kernel itself.

        None if it uses a value of a function or class around it.
        """
        try:
            return [*_needed(self.node, self.owners, self.aliases, 0), _without_static(self.node)]
        except _ClosureFound:
            return None


def nested_kernels(tree: ast.Module, aliases: Aliases) -> list[NestedKernel]:
    """Return the jit functions that are not names of the module; methods are left out."""
    return list(_inside(tree.body, (), aliases))


def _inside(
    body: Sequence[ast.stmt], owners: tuple[_Owner, ...], aliases: Aliases
) -> Iterator[NestedKernel]:
    for node in module_level(body):
        if isinstance(node, ast.ClassDef):
            yield from _inside(node.body, (*owners, node), aliases)
        elif isinstance(node, ast.FunctionDef):
            if aliases.decorator_of(node) is None:
                yield from _inside(node.body, (*owners, node), aliases)
            elif owners and (not isinstance(owners[-1], ast.ClassDef) or is_static(node)):
                is_of_class = all(isinstance(owner, ast.ClassDef) for owner in owners)
                names = [owner.name for owner in owners] if is_of_class else []
                yield NestedKernel(".".join([*names, node.name]), node, owners, aliases)


def is_static(function: ast.FunctionDef) -> bool:
    """Return whether a jit function of a class takes no `self`: a class binds none to it."""
    is_marked = any(_is_staticmethod(node) for node in function.decorator_list)
    first = next(iter((*function.args.posonlyargs, *function.args.args)), None)
    return is_marked or first is None or first.arg != "self"


def _is_staticmethod(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Name) and decorator.id == "staticmethod"


def _without_static(function: ast.FunctionDef) -> ast.FunctionDef:
    """Return a function as it is defined outside of a class."""
    plain = copy.copy(function)
    plain.decorator_list = [n for n in function.decorator_list if not _is_staticmethod(n)]
    return plain


class _ClosureFound(Exception):
    """A kernel uses a value of a function or class around it."""


def _needed(
    function: ast.FunctionDef, owners: tuple[_Owner, ...], aliases: Aliases, depth: int
) -> Iterator[ast.stmt]:
    """Yield the imports and helpers around a jit function that it uses, each before its use."""
    if depth > _MAX_HELPERS:
        raise _ClosureFound
    around, within = _read_names(function)
    left = around | within
    for owner in reversed(owners):
        is_function = isinstance(owner, ast.FunctionDef)
        # functions in a class do not see the names of its body
        wanted = (left if is_function else around) & _bound_in(owner)
        for name in sorted(wanted):
            yield from _definition(name, owner, owners, aliases, depth)
        left -= wanted
        around -= wanted


def _definition(
    name: str, owner: _Owner, owners: tuple[_Owner, ...], aliases: Aliases, depth: int
) -> Iterator[ast.stmt]:
    """Yield the one statement of `owner` that binds a name, with those that it needs in turn."""
    simple = (node for node in module_level(owner.body) if not _is_block(node))
    binding = [node for node in simple if name in stored([node])]
    if name in _parameters(owner) or not binding:
        raise _ClosureFound
    last = binding[-1]
    if all(isinstance(node, ast.Import | ast.ImportFrom) for node in binding):
        yield last
    elif isinstance(last, ast.FunctionDef) and aliases.decorator_of(last) and len(binding) == 1:
        around = owners[: owners.index(owner) + 1]
        yield from _needed(last, around, aliases, depth + 1)
        yield _without_static(last)
    else:
        raise _ClosureFound


def _is_block(node: ast.stmt) -> bool:
    """Return whether a statement is an `if`, `try` or `with`, whose own parts are walked, too."""
    return isinstance(node, ast.If | ast.Try | ast.With)


def _read_names(function: ast.FunctionDef) -> tuple[set[str], set[str]]:
    """Return the names that defining a function reads, and those that its body does."""
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [extra for extra in (arguments.vararg, arguments.kwarg) if extra is not None]
    outside = [
        *function.decorator_list,
        *arguments.defaults,
        *(default for default in arguments.kw_defaults if default is not None),
        *(each.annotation for each in every if each.annotation is not None),
        *([function.returns] if function.returns is not None else []),
    ]
    own = {each.arg for each in every} | stored(function.body) | {function.name}
    return _names(outside) - {"staticmethod"}, _names(function.body) - own


def _names(nodes: Sequence[ast.AST]) -> set[str]:
    walked = (each for node in nodes for each in ast.walk(node))
    return {node.id for node in walked if isinstance(node, ast.Name)}


def _bound_in(owner: _Owner) -> set[str]:
    return stored(owner.body) | _parameters(owner)


def _parameters(owner: _Owner) -> set[str]:
    if isinstance(owner, ast.ClassDef):
        return set()
    return {node.arg for node in ast.walk(owner.args) if isinstance(node, ast.arg)}
