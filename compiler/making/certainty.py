"""Which names of a source surely stand for what its text says: bound once, where all can see it.

Triton decides from the objects that a parameter's annotation and default are. The text tells them
only where nothing else can have been put in their place; of all else this says nothing.
"""

from __future__ import annotations

import ast
from collections import Counter
from functools import lru_cache

from compiler.making.jit import Aliases

_REACHES_ANY_NAME = frozenset(
    {"globals", "locals", "vars", "exec", "eval", "setattr", "delattr", "__dict__", "modules",
     "__builtins__", "builtins", "__annotations__", "__defaults__", "__kwdefaults__"}
)  # fmt: skip
_BUILTINS = frozenset({"int", "float", "bool"})
_MOST_STEPS = 8


def meant(node: ast.expr, aliases: Aliases) -> str | None:
    """Return what `node` surely is: `triton.language.int32`, `int`, ...; None where code decides.

    Follows imports and `C = tl.constexpr`.
    """
    return _meant(node, aliases, 0)


def is_certain(name: str, aliases: Aliases) -> bool:
    """Return whether `name` is bound by one statement at the top level of the source."""
    known = _bindings(aliases.tree)
    return known is not None and known.count[name] == 1


def _meant(node: ast.expr, aliases: Aliases, steps: int) -> str | None:
    if isinstance(node, ast.Attribute):
        owner = _meant(node.value, aliases, steps)
        return f"{owner}.{node.attr}" if owner and owner not in _BUILTINS else None
    if not isinstance(node, ast.Name) or steps == _MOST_STEPS:
        return None
    known = _bindings(aliases.tree)
    if known is None or known.count[node.id] > 1:
        return None
    if node.id in known.imported:
        return aliases.dotted(node)
    if node.id in known.assigned:
        return _meant(known.assigned[node.id], aliases, steps + 1)
    return node.id if node.id in _BUILTINS and not known.count[node.id] else None


class _Bindings:
    """How often each name is bound anywhere, and how at the top level."""

    def __init__(self, tree: ast.Module) -> None:
        self.count = Counter(name for node in ast.walk(tree) for name in _bound(node))
        self.imported = {
            name
            for node in tree.body
            if isinstance(node, ast.Import)
            or (
                isinstance(node, ast.ImportFrom)
                and not node.level
                and (node.module or "").partition(".")[0] == "triton"
            )
            for name in _bound(node)
        }
        self.assigned = {
            node.targets[0].id: node.value
            for node in tree.body
            if isinstance(node, ast.Assign)
            and len(node.targets) == 1
            and isinstance(node.targets[0], ast.Name)
        }


@lru_cache(maxsize=1)
def _bindings(tree: ast.Module) -> _Bindings | None:
    """Return how names are bound, None where any name may be bound by what cannot be read."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            hidden = node.id in _REACHES_ANY_NAME
        elif isinstance(node, ast.Attribute):
            hidden = node.attr in _REACHES_ANY_NAME or not isinstance(node.ctx, ast.Load)
        elif isinstance(node, ast.alias):
            hidden = node.name == "*" or node.name.rpartition(".")[2] in _REACHES_ANY_NAME
        else:
            continue
        if hidden:
            return None
    return _Bindings(tree)


def _bound(node: ast.AST) -> list[str]:
    match node:
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return [alias.asname or alias.name.partition(".")[0] for alias in names]
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return [name]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.arg(arg=name) | ast.MatchStar(name=str(name)) | ast.MatchAs(name=str(name)):
            return [name]
        case ast.ExceptHandler(name=str(name)) | ast.MatchMapping(rest=str(name)):
            return [name]
    return []
