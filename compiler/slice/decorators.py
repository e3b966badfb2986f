"""Decorators above `@triton.jit`: which may be left out, since the kernel under them is the same.

Autotuning and heuristics act when a kernel is launched. What a module that is not here does to a
kernel cannot be known: it is left out too, and a warning names it.
"""

import ast
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from compiler.slice.jit_decorator import Aliases
from compiler.slice.posted_files import has_module, is_passed_on_from_elsewhere
from compiler.slice.scopes import Imported, imports, stored

_AT_LAUNCH = frozenset(
    {
        "triton.autotune",
        "triton.heuristics",
        "triton.runtime.autotune",
        "triton.runtime.heuristics",
        "triton.runtime.autotuner.autotune",
        "triton.runtime.autotuner.heuristics",
    }
)


@dataclass(frozen=True)
class RemovedDecorator:
    """A decorator that is left out, the lines it stands on, and whether it is another package's."""

    node: ast.expr
    first_line: int
    last_line: int
    foreign: bool


def left_out(
    function: ast.stmt,
    lines: Sequence[str],
    aliases: Aliases,
    is_foreign: Callable[[ast.expr], bool],
    *,
    tuned: bool = False,
) -> list[RemovedDecorator]:
    """Return the decorators above the jit decorator of `function` that may be left out.

    With `tuned`, not those that act at launch.
    """
    jit = aliases.decorator_of(function)
    if jit is None or not isinstance(function, ast.FunctionDef) or not jit.index:
        return []
    starts = [_at(lines, node.lineno) for node in function.decorator_list]
    found = []
    for index, node in enumerate(function.decorator_list[: jit.index]):
        name = aliases.dotted(node.func if isinstance(node, ast.Call) else node)
        foreign = is_foreign(node)
        if foreign or (name in _AT_LAUNCH and not tuned):
            found.append(RemovedDecorator(node, starts[index], starts[index + 1] - 1, foreign))
    return found


def is_foreign_decorator(tree: ast.Module, files: Mapping[str, str]) -> Callable[[ast.expr], bool]:
    """Return a function that tells whether a decorator comes from a missing module."""
    known = dict(imports(tree.body))
    here = stored(tree.body, imports=False)

    def is_foreign(node: ast.expr) -> bool:
        while isinstance(node, (ast.Call, ast.Attribute)):
            node = node.func if isinstance(node, ast.Call) else node.value
        name = node.id if isinstance(node, ast.Name) else ""
        meant = known.get(name)
        return meant is not None and name not in here and not _is_here(meant, files)

    return is_foreign


def _is_here(meant: Imported, files: Mapping[str, str]) -> bool:
    ours = meant.root == "triton" or meant.root in sys.stdlib_module_names
    name = meant.path[-1] if meant.path else ""
    if ours or not has_module(files, meant.module, name):
        return ours
    return not is_passed_on_from_elsewhere(meant.module, name, files)


def _at(lines: Sequence[str], line: int) -> int:
    """Return the line of the `@` of a decorator whose expression begins on `line`."""
    while line > 1 and not lines[line - 1].lstrip().startswith("@"):
        line -= 1
    return line
